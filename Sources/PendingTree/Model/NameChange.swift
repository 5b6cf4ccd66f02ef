package import Inodes

/// The inode at a name of a directory in place of the recorded tree's.
package struct NameChange: Hashable, Sendable {
  /// The inode that the name leads to; nil for a name that was removed.
  package var inode: InodeNumber?
  /// The epoch in which the change was made.
  package var made: Epoch
  /// The epoch of the pending change that stood here before: programs were shown that one.
  package var under: Epoch?
  /// The epoch that a process had read here, if it is older than the epoch in which it made the change.
  package var seen: Epoch?
  /// When the change was made.
  package var stamp: ChangeStamp
  /// The process that made the change; 0 where nobody knows.
  package var process: Int32
  /// True if the recorded tree has something at the name.
  package var hidesRecorded: Bool
  /// True if that is a directory.
  package var hidesDirectory = false
  /// True if the name leads to a directory.
  package var isDirectory = false
  /// True for a directory that the recorded tree lost, and that stays for what is pending in it.
  package var isHeld = false

  /// Creates a change.
  package init(
    inode: InodeNumber?, made: Epoch, under: Epoch? = nil, seen: Epoch? = nil,
    stamp: ChangeStamp, process: Int32 = 0, hidesRecorded: Bool
  ) {
    self.inode = inode
    self.made = made
    self.under = under
    self.seen = seen
    self.stamp = stamp
    self.process = process
    self.hidesRecorded = hidesRecorded
  }

  /// The number of subdirectories that the change adds to its directory: 1, 0 or -1.
  var addedSubdirectories: Int { (isDirectory ? 1 : 0) - (hidesDirectory ? 1 : 0) }

  /// Notes what the recorded tree has at the name.
  mutating func hide(_ recorded: BaseInode?) {
    hidesRecorded = recorded != nil
    hidesDirectory = recorded?.record.isDirectory ?? false
  }

  /// The epoch that whoever made the change had seen at the name.
  package var epoch: Epoch {
    let shown = under ?? made
    return seen.map { min($0, shown) } ?? shown
  }
}
