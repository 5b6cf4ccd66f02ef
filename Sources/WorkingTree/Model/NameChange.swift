package import Inodes

/// The inode at a name of a directory in place of the recorded tree's.
package struct NameChange: Hashable, Sendable {
  /// nil for a name that was removed.
  package var inode: InodeNumber?
  /// The epoch that the change is made on, if a head changed the name since its writer saw it; else nil.
  package var on: Epoch?
  package var stamp: ChangeStamp
  package var hidesRecorded: Bool
  /// True if the recorded tree has a directory at the name.
  package var hidesDirectory = false
  package var isDirectory = false
  /// True for a directory that the recorded tree lost and that stays for what is pending in it.
  package var isHeld = false

  var addedSubdirectories: Int { (isDirectory ? 1 : 0) - (hidesDirectory ? 1 : 0) }

  /// Notes what the recorded tree has at the name.
  mutating func hide(_ recorded: BaseInode?) {
    hidesRecorded = recorded != nil
    hidesDirectory = recorded?.record.isDirectory ?? false
  }
}
