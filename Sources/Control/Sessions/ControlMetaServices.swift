package import Events
import Grammar
package import HistoryTree
package import LLVSCore
package import TreeNames

/// The control service as `.llvs` uses it.
package struct ControlMetaServices: MetaServices {
  private let service: ControlService

  package init(_ service: ControlService) { self.service = service }

  package var log: EventLog { service.log }

  package func status(asJSON: Bool) throws(FSError) -> [UInt8] {
    try asking {
      let status = try service.status()
      return Array(((asJSON ? status.reply.json : status.text) + "\n").utf8)
    }
  }

  package func ignoreText() throws(FSError) -> [UInt8] { try asking { try service.ignoreText() } }

  package func setIgnoreText(_ text: [UInt8]) throws(FSError) {
    try asking { try service.setIgnoreText(text) }
  }

  package func peers() throws(FSError) -> [MetaPeer] {
    try asking { try service.allPeers().map { MetaPeer(name: $0.name, address: $0.address) } }
  }

  package func setPeer(_ peer: MetaPeer) throws(FSError) {
    try asking { try service.setPeer(peer.name, address: peer.address) }
  }

  package func removePeer(_ name: String) throws(FSError) {
    try asking { try service.removePeer(name) }
  }

  package func settle(_ path: [UInt8]) throws(FSError) {
    _ = try asking {
      try service.holds.wait(for: nil) { false }
      return try service.settle(path, .asIs)
    }
  }

  package func settle(
    _ path: [UInt8], with bytes: [UInt8], seen head: VersionNumber?
  ) throws(FSError) {
    _ = try asking {
      try service.holds.wait(for: nil) { false }
      return try service.settle(path, with: bytes, seen: head)
    }
  }

  package func displacedValues(at head: VersionNumber) throws(FSError) -> [DisplacedValue] {
    try asking { try service.displacedValues(at: head) }
  }

  package func foundPaths(
    _ words: [UInt8], below directory: [UInt8]
  ) throws(FSError) -> [[UInt8]] {
    try asking { try service.foundPaths(words, below: directory) }
  }
}

private func asking<R>(_ body: () throws -> R) throws(FSError) -> R {
  do {
    return try body()
  } catch {
    throw error as? FSError ?? ControlError(any: error).asFSError
  }
}
