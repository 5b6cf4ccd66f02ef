package import Grammar
import LLVSExchange
import ObjectStores
import Platform

/// The contents of a peer's place before an exchange.
package struct PlaceContents: Sendable {
  /// The end of a sentence about the place.
  package let text: String
  package var isEncrypted = false
}

extension PeerOpener {
  /// Returns the contents of a peer's place, after a few requests and without an exchange.
  /// - Throws: ``ControlError`` if the place is refused, or cannot be reached.
  package func look(
    at address: PeerAddress, _ opening: PeerOpening
  ) throws(ControlError) -> PlaceContents {
    // Opening a directory refuses one that cannot be a peer.
    if address.directoryPath != nil, try open(address, opening) is StorePeer {
      return PlaceContents(text: "is another store")
    }
    guard case .remote(let remote) = address else {
      return PlaceContents(text: "is a document")
    }
    let (bundles, files, keys): (Int, Int, Int)
    do throws(ControlError) {
      (bundles, files, keys) = try translating {
        try asking { () throws(RemoteError) in try Self.counts(at: remote, opening) }
      }
    } catch {
      throw error.naming(opening.name)
    }
    var found: [String] = []
    if bundles > 0 { found.append("has \(bundles) bundle\(bundles == 1 ? "" : "s")") }
    if files > 0 {
      found.append("has \(files) version\(files == 1 ? "" : "s") as the original has them")
    }
    if keys > 0 { found.append("is encrypted") }
    if found.isEmpty { found.append("is empty") }
    if let path = address.directoryPath, !FileSystem.isWritable(path) {
      found.append("is read-only here, so nothing can be sent")
    }
    return PlaceContents(text: found.joined(separator: " and "), isEncrypted: keys > 0)
  }

  /// The numbers of bundles, of the original's versions, and of keys.
  private static func counts(
    at address: RemoteAddress, _ opening: PeerOpening
  ) throws(RemoteError) -> (bundles: Int, files: Int, keys: Int) {
    // One attempt is enough: the next exchange asks again.
    let objects = try connector(address, opening).openOnce()
    func count(_ folder: String) throws(RemoteError) -> Int {
      guard let prefix = ObjectPrefix(folder: folder) else { return 0 }
      do throws(RemoteError) {
        return try objects.all(prefix).count
      } catch {
        // The first exchange makes the folder.
        if error.kind == .noPlace, case .webDAV = address { return 0 }
        var error = error
        if [.unreachable, .stalled].contains(error.kind) { error.object = nil }
        throw error
      }
    }
    return (
      try count(ExchangeFolders.bundles), try count(ExchangeFolders.versions),
      try count(KeyFileName.directory)
    )
  }
}

extension ControlError {
  /// Returns the error with the peer's name in the command that its message advises.
  func naming(_ peer: String) -> ControlError {
    var named = self
    named.message = message.replacing("llvs peer NAME ", with: "llvs peer \(peer) ")
    return named
  }
}
