import CFuse3
import Glibc
import Platform

package enum MountPoint {
  /// True for a mount whose daemon has died. The kernel always forwards statfs(2), while stat(2) may be cached.
  package static func isStale(_ path: String) -> Bool {
    var found = statvfs()
    guard unsafe statvfs(path, &found) != 0 else { return false }
    return errno == ENOTCONN
  }

  /// Unmounts a dead mount; returns true if there was one.
  @discardableResult
  package static func removeStale(_ path: String) throws(FuseError) -> Bool {
    guard isStale(path) else { return false }
    // Dead mounts may be on top of each other.
    var layers = 0
    while isStale(path) {
      guard layers < 64 else { throw .unmount(path: path, errno: EBUSY) }
      try unmount(path, lazily: true)
      layers += 1
    }
    return true
  }

  /// Unmounts a path, as root with umount2(2), otherwise with fusermount3(1).
  /// - Throws: ``FuseError/unmount(path:errno:)``: EBUSY while the mount is in use, EINVAL without a mount.
  package static func unmount(_ path: String, lazily: Bool = false) throws(FuseError) {
    let flags = Int32(UMOUNT_NOFOLLOW) | (lazily ? Int32(MNT_DETACH) : 0)
    if unsafe umount2(path, flags) == 0 { return }
    let code = errno
    guard code == EPERM else { throw .unmount(path: path, errno: code) }
    let options = lazily ? ["-u", "-z"] : ["-u"]
    let status = try FuseError.wrapping { () throws(SystemError) in
      try ChildProcess.run(["fusermount3"] + options + ["--", path])
    }
    guard status == 0 else { throw .unmount(path: path, errno: try refusal(path)) }
  }

  /// Returns an errno for a failure of fusermount3, which prints its reason as text.
  private static func refusal(_ path: String) throws(FuseError) -> Int32 {
    let entry = try MountTable().mount(at: Array(path.utf8))
    guard let entry, let user = entry.user else { return EBUSY }
    return user == geteuid() ? EBUSY : EPERM
  }
}
