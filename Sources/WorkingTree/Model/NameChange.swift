package import Inodes

/// The inode at a name of a directory in place of the recorded tree's.
package struct NameChange: Hashable, Sendable {
  /// nil for a name that was removed.
  package var inode: InodeNumber?
  /// The epoch that the change is made on, if a head changed the name since its writer saw it; else nil.
  package var on: Epoch?
  /// The other epoch of a name that was removed and where a program that is behind put something since: ``on`` becomes
  /// that of the removal when the name is removed again, and that of the program when something is put there again.
  package var other: Other?
  /// True for a name that a program that is behind there removed: what it puts there replaces what the head has.
  package var isUnseen = false
  package var stamp: ChangeStamp
  package var hidesRecorded: Bool
  /// True if the recorded tree has a directory at the name.
  package var hidesDirectory = false
  package var isDirectory = false
  /// True for a directory that the recorded tree lost and that stays for what is pending in it.
  package var isHeld = false

  package struct Other: Hashable, Sendable {
    package var on: Epoch?
  }

  var addedSubdirectories: Int { (isDirectory ? 1 : 0) - (hidesDirectory ? 1 : 0) }

  /// Returns the change that puts an inode at the name after this one, or removes the name. `seen` is the epoch that the
  /// writer had seen, `under` that of the replaced bytes.
  func following(
    _ number: InodeNumber?, seen: Epoch?, under: Epoch?, _ stamp: ChangeStamp
  ) -> NameChange {
    var next = self
    (next.inode, next.stamp, next.isHeld) = (number, stamp, false)
    guard (number == nil) != (inode == nil) else {
      next.on = seen.older(on).older(under)
      return next
    }
    next.on = number == nil && other != nil ? other?.on : seen.older(other?.on ?? on).older(under)
    let keepsOther = number == nil ? other != nil : hidesRecorded && !isUnseen
    next.other = keepsOther && on != next.on ? Other(on: on) : nil
    return next
  }

  /// Notes what the recorded tree has at the name.
  mutating func hide(_ recorded: BaseInode?) {
    hidesRecorded = recorded != nil
    hidesDirectory = recorded?.record.isDirectory ?? false
  }
}
