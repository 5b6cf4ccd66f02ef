package import LLVSCore
package import TreeNames
package import WorkingTree

/// What `.llvs` shows and changes that others know: given by who executes commands.
///
/// - Concurrency: each is called from any thread, with no lock held.
package struct MetaServices: Sendable {
  /// A peer as its file shows it.
  package struct Peer: Hashable, Sendable {
    package var name: String
    package var address: [UInt8]

    package init(name: String, address: [UInt8]) {
      self.name = name
      self.address = address
    }
  }

  /// Every failure of what is asked for.
  package typealias Failure = FSError
  package typealias Text = @Sendable () throws(Failure) -> [UInt8]

  /// What `status` and `status.json` show.
  package var status: Text
  package var statusJSON: Text
  package var log: EventLog
  /// The ignore patterns in force.
  package var ignore: Text
  package var setIgnore: @Sendable ([UInt8]) throws(FSError) -> Void
  package var peers: @Sendable () throws(FSError) -> [Peer]
  /// Adds a peer or changes its address.
  ///
  /// - Throws: ``FSError/invalid`` for a text that is no address.
  package var setPeer: @Sendable (Peer) throws(FSError) -> Void
  package var removePeer: @Sendable (String) throws(FSError) -> Void
  /// Settles the conflict at a path as the tree has it.
  package var settle: @Sendable ([UInt8]) throws(FSError) -> Void
  /// Gives the value at a path bytes made of the sides that a head had, and settles.
  package var settleWith: @Sendable ([UInt8], [UInt8], VersionNumber?) throws(FSError) -> Void
  /// The values at a head that directories keep from their own names.
  package var displaced: @Sendable (VersionNumber) throws(FSError) -> [DisplacedValue]

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
      [DisplacedValue]
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
  }
}
