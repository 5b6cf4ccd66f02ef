import Inodes
import LLVSCore

/// Renews inode numbers before a working tree is opened, while no program knows any; the next mount continues after
/// a kill.
struct NumberRenewal {
  let place: TreePlace
  let store: Store

  /// Raises the store's counter above all numbers in use, which it may be below in a store restored from an older
  /// copy, and keeps enough numbers free.
  /// - Complexity: O(*p*) for *p* pending nodes and changes; O(*n*) once in half of all numbers, when rows are
  ///   remade.
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

  /// Gives small numbers to all that is pending and removes the rows, whose new numbers follow.
  private func renewAll(in journal: inout OpenedJournal) throws(StoreError) {
    // While either has old numbers, the next mount renews them too.
    try StoreError.wrappingBase { () throws(BaseError) in try RecordedTree.remove(place.rows) }
    try store.restartInodes(at: Store.firstInode)
    try journal.renumber { () throws(StoreError) in InodeNumber(try store.allotInodes()) }
    journal.recovery.losses.append(
      "most inode numbers of the store were used up: all files and directories have new ones")
  }
}
