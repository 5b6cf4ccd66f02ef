package import Inodes
package import PendingTree
package import TreeNames

/// The journal of a working tree: keeps each change before the tree shows it, and the bytes of files that no
/// version has.
///
/// - Concurrency: any thread. Changes are appended by one thread at a time, in the order in which they are
///   applied.
package protocol ChangeJournal: AnyObject, Sendable {
  /// Writes changes to the end of the journal, all of them or none.
  ///
  /// - Parameters:
  ///   - changes: the changes, in order.
  ///   - mayUseReserve: true for saves and removals, which use the room that is kept for them on a full disk.
  /// - Throws: ``FSError/noSpace`` on a full disk, ``FSError/system(_:)``; then nothing is written.
  func append(_ changes: [Change], mayUseReserve: Bool) throws(FSError)

  /// Puts bytes where the changes that are appended next can name them.
  ///
  /// - Returns: the runs in which the bytes stand; each has `start` counted from `offset`.
  /// - Throws: ``FSError/noSpace`` on a full disk, ``FSError/system(_:)``.
  func stage(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FSError) -> [Extent]

  /// Reads bytes that were staged.
  ///
  /// - Throws: ``FSError/io`` if they are damaged, ``FSError/system(_:)``.
  func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError)

  /// Brings all changes and their bytes to the disk.
  ///
  /// - Throws: ``FSError/system(_:)``, ``FSError/noSpace``.
  func sync() throws(FSError)
}
