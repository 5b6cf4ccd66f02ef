package import Events
package import LLVSCore
package import TreeNames

/// The services of the rest of the program that `.llvs` shows and uses.
///
/// - Concurrency: each is called from any thread, with no lock held.
package struct MetaServices: Sendable {
  /// A peer, as its file shows it.
  package struct Peer: Hashable, Sendable {
    /// The peer's name.
    package var name: String
    /// The peer's address.
    package var address: [UInt8]

    package init(name: String, address: [UInt8]) {
      self.name = name
      self.address = address
    }
  }

  /// The error of every service.
  package typealias Failure = FSError
  /// Makes the text of a file.
  package typealias Text = @Sendable () throws(Failure) -> [UInt8]

  /// The text of `status`.
  package var status: Text
  /// The text of `status.json`.
  package var statusJSON: Text
  /// The log.
  package var log: EventLog
  /// The ignore patterns in force.
  package var ignore: Text
  /// Sets the ignore patterns.
  package var setIgnore: @Sendable ([UInt8]) throws(FSError) -> Void
  /// Returns all peers.
  package var peers: @Sendable () throws(FSError) -> [Peer]
  /// Adds a peer or changes its address.
  ///
  /// - Throws: ``FSError/invalid`` if the text is no valid address.
  package var setPeer: @Sendable (Peer) throws(FSError) -> Void
  /// Removes a peer.
  package var removePeer: @Sendable (String) throws(FSError) -> Void
  /// Settles the conflict at a path with the value that the tree has.
  package var settle: @Sendable ([UInt8]) throws(FSError) -> Void
  /// Stores bytes as the value at a path and settles its conflict; the bytes were made from the
  /// sides at a head.
  package var settleWith: @Sendable ([UInt8], [UInt8], VersionNumber?) throws(FSError) -> Void
  /// Returns the values at a head whose own paths directories have taken.
  package var displaced: @Sendable (VersionNumber) throws(FSError) -> [DisplacedValue]
  /// Returns the paths of the files below a directory that have words, the best first.
  package var search: @Sendable (_ words: [UInt8], _ below: [UInt8]) throws(FSError) -> [[UInt8]]

  /// Creates the services.
  package init(
    status: @escaping Text, statusJSON: @escaping Text, log: EventLog,
    ignore: @escaping Text, setIgnore: @escaping @Sendable ([UInt8]) throws(FSError) -> Void,
    peers: @escaping @Sendable () throws(FSError) -> [Peer],
    setPeer: @escaping @Sendable (Peer) throws(FSError) -> Void,
    removePeer: @escaping @Sendable (String) throws(FSError) -> Void,
    settle: @escaping @Sendable ([UInt8]) throws(FSError) -> Void,
    settleWith: @escaping @Sendable ([UInt8], [UInt8], VersionNumber?) throws(FSError) -> Void,
    displaced:
      @escaping @Sendable (VersionNumber) throws(FSError) ->
      [DisplacedValue],
    search: @escaping @Sendable ([UInt8], [UInt8]) throws(FSError) -> [[UInt8]]
  ) {
    self.status = status
    self.statusJSON = statusJSON
    self.log = log
    self.ignore = ignore
    self.setIgnore = setIgnore
    self.peers = peers
    self.setPeer = setPeer
    self.removePeer = removePeer
    self.settle = settle
    self.settleWith = settleWith
    self.displaced = displaced
    self.search = search
  }
}
