package import Inodes
package import LLVSCore

package struct NewHead {
  /// The new head's recorded tree, which nothing else sees yet.
  package var base: any Base
  /// The changes that the cut took; nil without a cut.
  package var taken: TakenCut?
  /// The epoch that begins with the head; nil if programs see no difference.
  package var epoch: Epoch?
  /// The paths at which the head differs from the version that the cut made on the head before, or from that head.
  package var changed = ChangedPaths()
  /// The rows that differ from the tree before; nil if any may.
  package var rows: ChangedRows?
  /// The changes pending at the cut's instant; nil without a cut, or if unknown.
  package var frozen: Overlay?
  /// True for an inode that a program has open or the kernel knows.
  package var isHeld: (InodeNumber) -> Bool
  package var isOpen: (InodeNumber) -> Bool
  /// True if patterns keep a name that the tree before the head lacks out of versions.
  package var isScratch: (InodeName) throws(StoreError) -> Bool = { _ in false }
  /// True if a pattern matches an inode at a name.
  package typealias Patterns = (InodeNumber, InodeName) throws(StoreError) -> Bool
  /// Returns the patterns of what an overlay shows over the head.
  package var patterns: ((Overlay, any Base) -> Patterns)?
  /// Taken files that the recorded tree has at their one name; those unchanged since need no look.
  package var settled: Set<InodeNumber> = []
  /// Gives a recorded inode another number at all its names.
  package var renumber: (InodeNumber) throws(StoreError) -> Void
  /// Returns all extended attributes in the tree before the head if the inode's rows lack some; else nil.
  package var extendedBefore: (InodeNumber) throws(StoreError) -> [Attributes.Extended]?

  package init(
    base: any Base, taken: TakenCut? = nil, epoch: Epoch? = nil,
    isHeld: @escaping (InodeNumber) -> Bool, isOpen: ((InodeNumber) -> Bool)? = nil,
    renumber: @escaping (InodeNumber) throws(StoreError) -> Void,
    extendedBefore: @escaping (InodeNumber) throws(StoreError) -> [Attributes.Extended]? = { _ in
      nil
    }
  ) {
    self.base = base
    self.taken = taken
    self.epoch = epoch
    self.isHeld = isHeld
    self.isOpen = isOpen ?? isHeld
    self.renumber = renumber
    self.extendedBefore = extendedBefore
  }
}
