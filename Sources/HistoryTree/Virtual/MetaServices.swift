package import Events
package import LLVSCore
package import TreeNames

/// The services of other modules for `.llvs`.
/// - Concurrency: called from any thread, with no lock held.
package struct MetaServices: Sendable {
  package struct Peer: Hashable, Sendable {
    package var name: String
    package var address: [UInt8]

    package init(name: String, address: [UInt8]) {
      self.name = name
      self.address = address
    }
  }

  package typealias Failure = FSError
  package typealias Text = @Sendable () throws(Failure) -> [UInt8]
  package var status: Text
  package var statusJSON: Text
  package var log: EventLog
  /// The current ignore patterns.
  package var ignore: Text
  package var setIgnore: @Sendable ([UInt8]) throws(FSError) -> Void
  package var peers: @Sendable () throws(FSError) -> [Peer]
  /// Adds a peer or changes its address; ``FSError/invalid`` for an invalid one.
  package var setPeer: @Sendable (Peer) throws(FSError) -> Void
  package var removePeer: @Sendable (String) throws(FSError) -> Void
  /// Settles the conflict at a path with the tree's value.
  package var settle: @Sendable ([UInt8]) throws(FSError) -> Void
  /// Settles a conflict with bytes that were made from the sides at a head.
  package var settleWith: @Sendable ([UInt8], [UInt8], VersionNumber?) throws(FSError) -> Void
  /// Returns the values of a head that directories displace.
  package var displaced: @Sendable (VersionNumber) throws(FSError) -> [DisplacedValue]
  /// Returns the paths of the files below a directory that have words, the best first.
  package var search: @Sendable (_ words: [UInt8], _ below: [UInt8]) throws(FSError) -> [[UInt8]]

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
