package import Events
package import LLVSCore
package import TreeNames

/// The services of other modules for `.llvs`.
/// - Concurrency: called from any thread, with no lock held.
package protocol MetaServices: Sendable {
  var log: EventLog { get }
  func status(asJSON: Bool) throws(FSError) -> [UInt8]
  func ignoreText() throws(FSError) -> [UInt8]
  func setIgnoreText(_ text: [UInt8]) throws(FSError)
  func peers() throws(FSError) -> [MetaPeer]
  /// Adds a peer or changes its address; ``FSError/invalid`` for an invalid one.
  func setPeer(_ peer: MetaPeer) throws(FSError)
  func removePeer(_ name: String) throws(FSError)
  /// Settles the conflict at a path with the tree's value.
  func settle(_ path: [UInt8]) throws(FSError)
  /// Settles a conflict with bytes that were made from the sides at a head.
  func settle(_ path: [UInt8], with bytes: [UInt8], seen head: VersionNumber?) throws(FSError)
  /// Returns the values of a head that directories displace.
  func displacedValues(at head: VersionNumber) throws(FSError) -> [DisplacedValue]
  /// Returns the paths of the files below a directory that have words, the best first.
  func foundPaths(_ words: [UInt8], below directory: [UInt8]) throws(FSError) -> [[UInt8]]
}

package struct MetaPeer: Hashable, Sendable {
  package var name: String
  package var address: [UInt8]

  package init(name: String, address: [UInt8]) {
    self.name = name
    self.address = address
  }
}
