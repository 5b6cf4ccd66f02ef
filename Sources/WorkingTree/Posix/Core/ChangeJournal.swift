package import Inodes
package import LLVSCore

/// Keeps each change before the tree shows it, and the bytes of files that no version has; see ``Journal``.
///
/// - Concurrency: any thread. Changes are appended by one thread at a time, in the order in which they are applied.
package protocol ChangeJournal: AnyObject, Sendable {
  /// Writes changes, all or none; see ``Journal/append(_:mayUseReserve:)``.
  func append(_ changes: [Change], mayUseReserve: Bool) throws(StoreError)
  func stage(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) -> Extent
  /// Forgets staged bytes that no change will name.
  func abandon(_ extent: Extent)

  /// Reads staged bytes; throws ``StoreError/corrupt(_:)`` for missing or damaged bytes, ``StoreError/system(_:)``.
  func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError)

  /// Brings all changes and their bytes to the disk.
  func sync() throws(StoreError)
  /// Frees the dead bytes of data files that have more than `least` of them; true if there were any. `live` returns
  /// the bytes in use.
  func punch(ifMoreThan least: UInt64, _ live: () -> LiveBytes) throws(StoreError) -> Bool
  /// Removes the data files to which nothing refers; `live` returns the bytes in use.
  func collect(_ live: () -> LiveBytes) throws(StoreError)
  /// True if the journal is stopped or has grown.
  func needsRenewal(atRest: Bool) -> Bool
  /// True if nothing is recorded after a failed sync or on a full disk, and a renewal may end that.
  var awaitsRenewal: Bool { get }
  var instant: JournalInstant { get }

  /// Begins the journal again with an image of the overlay; see ``Journal/renew(isForced:afterFailure:_:adopt:)``.
  func renew(
    isForced: Bool, afterFailure: Bool, _ image: () throws(StoreError) -> JournalImage,
    adopt: (ExtentMoves) -> Void
  ) throws(StoreError) -> [String]
}

extension Journal: ChangeJournal {}
