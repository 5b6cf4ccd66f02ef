package import Inodes
package import LLVSCore
package import TreeNames

/// A reader of the bytes that a version stored.
package protocol ContentReading: AnyObject, Sendable {
  /// Reads bytes of a stored content into a buffer, which must not reach beyond its end.
  ///
  /// - Throws: ``FSError/store(_:)`` for bytes that are missing or damaged.
  func read(
    _ content: StoredContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError)

  /// Returns the run of bytes or of a hole in which an offset lies.
  ///
  /// - Throws: ``FSError/store(_:)`` for bytes that are missing or damaged.
  func run(_ content: StoredContent, at offset: UInt64) throws(FSError) -> ContentRun

  /// Returns how many bytes of a stored content are zeros that take no room; none of one that is damaged: its
  /// name and size are shown all the same, and who reads it is told.
  ///
  /// - Throws: ``FSError/system(_:)`` of anything but damage.
  func zeroBytes(_ content: StoredContent) throws(FSError) -> UInt64
}

/// Brings the recorded tree's rows to the disk.
package typealias RowsSync = @Sendable () throws(StoreError) -> Void

/// The store's counter of inode numbers.
package protocol NumberAllotting: AnyObject, Sendable {
  /// Returns a number that was never used.
  ///
  /// - Throws: ``FSError/store(_:)``, ``FSError/system(_:)`` if the counter cannot be kept.
  func next() throws(FSError) -> InodeNumber
}

/// A reader of the maps of the head and of versions before it: of what the recorded tree's rows do not have.
package protocol HeadReading: AnyObject, Sendable {
  /// Returns all extended attributes that a version has at a path.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - version: the version; nil for the head.
  /// - Returns: the attributes, in the order of their names; none if an older version has nothing there.
  /// - Throws: ``FSError/store(_:)`` with ``StoreError/corrupt(_:)`` if the head has nothing there.
  func extended(
    at path: TreePath, in version: VersionNumber?
  ) throws(FSError) -> [Attributes.Extended]

  /// Returns what the store says of a file by one of its own extended attributes, which begin with `user.llvs.`;
  /// nil if there is none of that name.
  ///
  /// - Throws: ``FSError/store(_:)``.
  func ownAttribute(_ name: [UInt8], of place: StatedPlace) throws(FSError) -> [UInt8]?
}
