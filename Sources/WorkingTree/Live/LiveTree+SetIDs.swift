import Inodes
import LLVSCore
import Platform
package import TreeNames

// Set-user-id and set-group-id bits, which do not survive a change of bytes or owner by somebody who could
// put another's privileges to a use of his own (inode_setattr and file_remove_privs in Linux).

extension LiveTree {
  private static let setUserID: UInt32 = 0o4000
  private static let setGroupID: UInt32 = 0o2000
  private static let groupExecutes: UInt32 = 0o0010

  /// The set-id bits that a node loses by a change of somebody who may not keep them; 0 where it has none.
  ///
  /// Set-group-id without the group's right to execute is no privilege, so members of the group keep it:
  /// `keepsGroup` says whether the one who changes it is one, and is asked without a lock held, next to never.
  ///
  /// - Complexity: O(1).
  package func setIDsLost(_ inode: UInt64, keepsGroup: (UInt32) -> Bool) -> UInt32 {
    let found: (mode: UInt32, gid: UInt32)? = lock.withLock { _ in
      guard let node = known(inode), node.kind != .directory, let mode = node.attributes.mode,
        mode & (Self.setUserID | Self.setGroupID) != 0
      else { return nil }
      return (mode, defaults.owner(node.attributes).gid)
    }
    guard let found else { return 0 }
    var lost = found.mode & (Self.setUserID | Self.setGroupID)
    if lost & Self.setGroupID != 0, found.mode & Self.groupExecutes == 0, keepsGroup(found.gid) {
      lost &= ~Self.setGroupID
    }
    return lost
  }

  /// Takes bits from a node's mode.
  ///
  /// - Throws: ``FSError/stale``, ``FSError/system(_:)`` for a full disk: nothing has changed.
  @discardableResult
  package func clearMode(_ bits: UInt32, of inode: UInt64) throws(FSError) -> NodeStatus {
    let mode = try getattr(inode).mode
    var change = StatusChange()
    change.mode = mode & ~bits
    return try setattr(inode, change)
  }
}
