package import Inodes
package import LLVSCore

/// A new head's tree, as the overlay follows it.
package struct NewHead {
  /// The recorded tree, which is the new head's already, though nobody else sees it yet.
  package var base: any Base
  /// The changes that the cut before it took; nil if there was none.
  package var taken: TakenCut?
  /// The epoch that begins with the head; nil if it only has what the tree showed.
  package var epoch: Epoch?
  /// The paths at which the head has something else than the version before it: the one that the cut made on the head
  /// before, or that head.
  package var changed = ChangedPaths()
  /// The rows that differ from those of the tree before; nil if they may be any.
  package var rows: ChangedRows?
  /// The changes that were pending at the cut's instant; nil if there was no cut, or nobody knows them.
  package var frozen: Overlay?
  /// True for an inode that a program has open or the kernel knows.
  package var isHeld: (InodeNumber) -> Bool
  /// True for an inode that a program has open.
  package var isOpen: (InodeNumber) -> Bool
  /// The files that the cut took and that the recorded tree has under their numbers, at the one name that each had
  /// then; those that nobody changed since need no further look.
  package var settled: Set<InodeNumber> = []
  /// Gives what the recorded tree has under a number another one, at all its names there.
  package var renumber: (InodeNumber) throws(BaseError) -> Void
  /// Returns all extended attributes that the tree before the head has of an inode, if its rows lack some; else nil.
  package var extendedBefore: (InodeNumber) throws(BaseError) -> [Attributes.Extended]?

  package init(
    base: any Base, taken: TakenCut? = nil, epoch: Epoch? = nil,
    isHeld: @escaping (InodeNumber) -> Bool, isOpen: ((InodeNumber) -> Bool)? = nil,
    renumber: @escaping (InodeNumber) throws(BaseError) -> Void,
    extendedBefore: @escaping (InodeNumber) throws(BaseError) -> [Attributes.Extended]? = { _ in nil
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
