import Grammar
import HistoryTree
import LLVSCore
import TreeNames

extension MetaServices {
  package init(_ service: ControlService) {
    self.init(
      status: { () throws(FSError) in
        Array((try asking { try service.status().text } + "\n").utf8)
      },
      statusJSON: { () throws(FSError) in
        Array((try asking { try service.status().reply.json } + "\n").utf8)
      },
      log: service.log,
      ignore: { () throws(FSError) in try asking { try service.ignoreText() } },
      setIgnore: { (text) throws(FSError) in try asking { try service.setIgnoreText(text) } },
      peers: { () throws(FSError) in
        try asking { try service.allPeers().map { Peer(name: $0.name, address: $0.address) } }
      },
      setPeer: { (peer) throws(FSError) in
        try asking { try service.setPeer(peer.name, address: peer.address) }
      },
      removePeer: { (name) throws(FSError) in try asking { try service.removePeer(name) } },
      settle: { (path) throws(FSError) in
        _ = try asking {
          try service.holds.wait(for: nil) { false }
          return try service.settle(path, .asIs)
        }
      },
      settleWith: { (path, bytes, seen) throws(FSError) in
        _ = try asking {
          try service.holds.wait(for: nil) { false }
          return try service.settle(path, with: bytes, seen: seen)
        }
      },
      displaced: { (head) throws(FSError) in
        try asking { try service.displacedValues(at: head) }
      },
      search: { (words, directory) throws(FSError) in
        try asking { try service.foundPaths(words, below: directory) }
      })
  }
}

private func asking<R>(_ body: () throws -> R) throws(FSError) -> R {
  do {
    return try body()
  } catch {
    throw error as? FSError ?? ControlError(any: error).asFSError
  }
}
