/// The program that makes a call, as the kernel reports it.
package struct Caller: Hashable, Sendable {
  package var uid: UInt32
  package var gid: UInt32
  /// 0 if unknown.
  package var process: Int32
  /// The permission bits that it removes from what it makes.
  package var umask: UInt32

  package init(uid: UInt32, gid: UInt32, process: Int32 = 0, umask: UInt32 = 0) {
    self.uid = uid
    self.gid = gid
    self.process = process
    self.umask = umask & 0o777
  }
}
