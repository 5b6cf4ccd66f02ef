package import Inodes

/// The inode at a name of a directory in place of the recorded tree's.
package struct NameChange: Hashable, Sendable {
  /// The inode that the name leads to; nil for a name that was removed.
  package var inode: InodeNumber?
  /// The epoch of the version that the change is made on, if a head changed the name after its writer saw it; nil for
  /// a change of what the tree shows.
  package var on: Epoch?
  /// When the change was made.
  package var stamp: ChangeStamp
  /// True if the recorded tree has something at the name.
  package var hidesRecorded: Bool
  /// True if that is a directory.
  package var hidesDirectory = false
  /// True if the name leads to a directory.
  package var isDirectory = false
  /// True for a directory that the recorded tree lost, and that stays for what is pending in it.
  package var isHeld = false

  package init(inode: InodeNumber?, on: Epoch? = nil, stamp: ChangeStamp, hidesRecorded: Bool) {
    self.inode = inode
    self.on = on
    self.stamp = stamp
    self.hidesRecorded = hidesRecorded
  }

  /// The number of subdirectories that the change adds to its directory: 1, 0 or -1.
  var addedSubdirectories: Int { (isDirectory ? 1 : 0) - (hidesDirectory ? 1 : 0) }

  /// Notes what the recorded tree has at the name.
  mutating func hide(_ recorded: BaseInode?) {
    hidesRecorded = recorded != nil
    hidesDirectory = recorded?.record.isDirectory ?? false
  }
}
