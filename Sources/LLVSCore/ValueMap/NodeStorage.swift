/// The place where map nodes are written and read: append-only, checked at every read.
package protocol NodeStorage: AnyObject, Sendable {
  /// Appends a node similar to `prior`; it is durable only when the transaction commits.
  func writeNode(
    _ bytes: UnsafeRawBufferPointer, after prior: Location?
  ) throws(StoreError) -> Location

  /// Returns the bytes of a node, checked against their checksum.
  func readNode(at location: Location) throws(StoreError) -> [UInt8]
}

package struct MapRoot: Hashable, Sendable {
  /// The top node; nil for the empty map.
  package var location: Location?
  /// The content digest of digest 1.
  package var digest: Digest
  /// The number of entries in the map, directories included.
  package var count: UInt64

  package init(location: Location?, digest: Digest, count: UInt64) {
    self.location = location
    self.digest = digest
    self.count = count
  }
}
