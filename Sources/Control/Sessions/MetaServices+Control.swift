import Grammar
import HistoryTree
import LLVSCore
import TreeNames

extension MetaServices {
  /// Creates the services from a command service.
  package init(_ service: ControlService) {
    self.init(
      status: { () throws(FSError) in
        Array((try asking { () throws(ControlError) in try service.status().text } + "\n").utf8)
      },
      statusJSON: { () throws(FSError) in
        Array((try asking { () throws(ControlError) in try service.status().json } + "\n").utf8)
      },
      log: service.log,
      ignore: { () throws(FSError) in
        try asking { () throws(ControlError) in try service.ignoreText() }
      },
      setIgnore: { (text) throws(FSError) in
        try asking { () throws(ControlError) in try service.setIgnoreText(text) }
      },
      peers: { () throws(FSError) in
        try asking { () throws(ControlError) in try service.allPeers() }
          .map { Peer(name: $0.name, address: $0.address) }
      },
      setPeer: { (peer) throws(FSError) in
        try asking { () throws(ControlError) in
          try service.setPeer(peer.name, address: peer.address)
        }
      },
      removePeer: { (name) throws(FSError) in
        try asking { () throws(ControlError) in try service.removePeer(name) }
      },
      settle: { (path) throws(FSError) in
        _ = try asking { () throws(ControlError) in
          try service.holds.wait(for: nil) { false }
          return try service.settle(path, .asIs)
        }
      },
      settleWith: { (path, bytes, seen) throws(FSError) in
        _ = try asking { () throws(ControlError) in
          try service.holds.wait(for: nil) { false }
          return try service.settle(path, with: bytes, seen: seen)
        }
      },
      displaced: { (head) throws(FSError) in
        try asking { () throws(ControlError) in
          try translating { () throws(StoreError) in
            try service.displacedValues(at: head)
          }
        }
      },
      search: { (words, directory) throws(FSError) in
        do {
          return try service.foundPaths(words, below: directory)
        } catch let error as ControlError {
          throw error.asFSError
        } catch let error as FSError {
          throw error
        } catch let error as StoreError {
          throw .store(error)
        } catch {
          throw .store(.invalid("\(error)"))
        }
      })
  }
}

/// Runs a function of the command service, and throws its error as that of a file operation.
private func asking<R>(_ body: () throws(ControlError) -> R) throws(FSError) -> R {
  do throws(ControlError) {
    return try body()
  } catch {
    throw error.asFSError
  }
}
