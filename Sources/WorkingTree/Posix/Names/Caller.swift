/// The program that makes a call, as the kernel tells of it.
package struct Caller: Hashable, Sendable {
  /// The user that it acts as.
  package var uid: UInt32
  /// The group that it acts as.
  package var gid: UInt32
  /// Its process; 0 where nobody knows.
  package var process: Int32
  /// The permission bits that it takes from what it makes.
  package var umask: UInt32

  /// Creates a caller; of the mask only the permission bits count.
  package init(uid: UInt32, gid: UInt32, process: Int32 = 0, umask: UInt32 = 0) {
    self.uid = uid
    self.gid = gid
    self.process = process
    self.umask = umask & 0o777
  }
}
