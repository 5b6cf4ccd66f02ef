package import Inodes
package import LLVSCore
package import TreeNames

/// A reader of the bytes in versions; missing and damaged bytes are an ``FSError/store(_:)``.
package protocol ContentReading: AnyObject, Sendable {
  /// Reads bytes of a stored content into a buffer, which must not reach beyond its end.
  func read(
    _ content: StoredContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError)

  /// Returns the run of bytes, or the hole, at an offset.
  func run(_ content: StoredContent, at offset: UInt64) throws(FSError) -> ContentRun
  /// Returns how many bytes of a stored content are zeros without room; 0 for a damaged one, so that it can be
  /// listed.
  func zeroBytes(_ content: StoredContent) throws(FSError) -> UInt64
}

/// Brings the recorded tree's rows to the disk.
package typealias RowsSync = @Sendable () throws(StoreError) -> Void

package protocol NumberAllotting: AnyObject, Sendable {
  /// Returns a number that was never used; throws if the counter cannot be kept.
  func next() throws(FSError) -> InodeNumber
}

/// A reader of the maps of versions, for what the recorded tree's rows lack.
package protocol HeadReading: AnyObject, Sendable {
  /// Returns all extended attributes at a path of a version, sorted by name; nil is the head, which must have the
  /// path.
  func extended(
    at path: TreePath, in version: VersionNumber?
  ) throws(FSError) -> [Attributes.Extended]

  /// Returns the value of one of the store's attributes of a file (`user.llvs.*`); nil for another name.
  func ownAttribute(_ name: [UInt8], of place: StatedPlace) throws(FSError) -> [UInt8]?
}
