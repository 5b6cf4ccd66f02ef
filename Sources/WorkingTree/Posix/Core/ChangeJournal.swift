package import Inodes
package import LLVSCore

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
  /// - Throws: ``StoreError/system(_:)``, with ENOSPC on a full disk; then nothing is written, and bytes that
  ///   the changes name are to be staged again.
  func append(_ changes: [Change], mayUseReserve: Bool) throws(StoreError)

  /// Puts bytes where the changes that are appended next can name them.
  ///
  /// - Returns: the runs in which the bytes stand; their `start` counts from `offset`. They are kept until a
  ///   change that writes them is appended, or ``abandon(_:)``.
  /// - Throws: ``StoreError/system(_:)``, with ENOSPC on a full disk.
  func stage(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) -> [Extent]

  /// Forgets bytes that were staged and that no change will name.
  func abandon(_ extents: [Extent])

  /// Reads bytes that were staged.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` if they are damaged or their file is gone, ``StoreError/system(_:)``.
  func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError)

  /// Brings all changes and their bytes to the disk.
  ///
  /// - Throws: ``StoreError/system(_:)``.
  func sync() throws(StoreError)

  /// Gives the disk back what is dead inside of data files.
  ///
  /// - Parameter live: finds the bytes that anything refers to.
  /// - Returns: true if any was given back.
  /// - Throws: ``StoreError/system(_:)``; then nothing is given back.
  func punch(_ live: () -> LiveBytes) throws(StoreError) -> Bool

  /// Removes the data files that nothing refers to.
  ///
  /// - Parameter live: finds the bytes that anything refers to.
  /// - Throws: ``StoreError/system(_:)``; then nothing is removed.
  func collect(_ live: () -> LiveBytes) throws(StoreError)

  /// True if the journal is to be renewed: nothing is recorded before, or it has grown.
  func needsRenewal(atRest: Bool) -> Bool

  /// True if nothing is recorded, since a sync failed or the disk is full, and a renewal may end that.
  var awaitsRenewal: Bool { get }

  /// The place behind the last record.
  var instant: JournalInstant { get }

  /// Begins the journal again, with the image of the overlay.
  ///
  /// - Parameters:
  ///   - isForced: asks the disk at once, also where it is left alone for some seconds since it failed.
  ///   - afterFailure: acts only while the journal refuses records, and tells the log of the losses too.
  ///   - image: is called once; gives the overlay and the instant it is of.
  ///   - adopt: is called if bytes went to other places; the owner applies the moves to its overlay.
  /// - Returns: the files of which bytes could not be read back, in words.
  /// - Throws: ``StoreError/system(_:)``, ``StoreError/busy(_:)`` while a new head waits for its rows, and what
  ///   `image` throws; then the journal takes records if it did before.
  func renew(
    isForced: Bool, afterFailure: Bool, _ image: () throws(StoreError) -> JournalImage,
    adopt: (ExtentMoves) -> Void
  ) throws(StoreError) -> [String]
}

extension Journal: ChangeJournal {}
