import Inodes
import LLVSCore

/// The inode numbers of a store whose working tree is about to be opened: no program knows any of them.
///
/// A kill at any time leaves a store in which the next mount finds numbers to renew, or none.
struct NumberRenewal {
  let place: TreePlace
  let store: Store

  /// Sees to it that the store's counter is above all numbers in use, which it is not in a store that was put back
  /// from an older copy, and that enough numbers remain.
  ///
  /// - Complexity: O(*p*) for *p* pending nodes and changes. Once in half of all numbers the rows are removed, and
  ///   made again in O(*n*).
  func run(_ journal: inout OpenedJournal) throws(StoreError) {
    let recorded = try StoreError.wrappingBase { () throws(BaseError) in
      try RecordedTree.greatestNumber(at: place.rows, of: store.storeID)
    }
    let greatest = max(recorded ?? .root, journal.greatestNumber ?? .root)
    if greatest >= .renewal { return try renewAll(in: &journal) }
    let free = max(greatest.rawValue + 1, Store.firstInode)
    if store.nextInode < free || store.nextInode >= InodeNumber.renewal.rawValue {
      try store.restartInodes(at: free)
    }
  }

  /// Gives small numbers to all that is pending, and removes the rows: new ones get numbers that follow.
  private func renewAll(in journal: inout OpenedJournal) throws(StoreError) {
    // While one of both has old numbers, the next mount renews them too.
    try StoreError.wrappingBase { () throws(BaseError) in try RecordedTree.remove(place.rows) }
    try store.restartInodes(at: Store.firstInode)
    try journal.renumber { () throws(StoreError) in InodeNumber(try store.allotInodes()) }
    journal.recovery.losses.append(
      "most inode numbers of the store were used up: all files and directories have new ones")
  }
}
