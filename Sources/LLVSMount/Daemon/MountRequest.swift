package import FuseSession
import Grammar
import Platform

package struct MountRequest: Sendable {
  package var store: String
  package var mountPoint: String
  /// Makes the store if its directory does not exist or is empty.
  package var creates = true
  /// Lets other users use the mount; an ordinary user needs `user_allow_other` in fuse.conf.
  package var allowsOthers = false
  /// Mounts even if the store is on a network file system.
  package var isForced = false
  /// The source in /proc/mounts; nil for the store's path.
  package var source: String?
  /// Lets processors sleep between requests: needs less power, and each request takes longer.
  package var savesPower = false
  /// Shows versions in a separate file system, for which the kernel sends fewer requests; only for root.
  package var hurriesHistory = false
  /// Ends the mount's connections when this process dies.
  package var watch: ConnectionWatch?
  /// The number of names that the kernel may remember; above it the kernel is made to forget the least used.
  package var names = 500_000
  package var flags = MountFlags()
  /// Further options for libfuse or security modules, as mount(8) spells them.
  package var others: [String] = []

  package init(store: String, mountPoint: String) {
    self.store = store
    self.mountPoint = mountPoint
  }

  /// Throws ``ControlError`` of kind notPermitted, before a store is made, for options that need more rights.
  func checkPermission() throws(ControlError) {
    guard SystemProcess.effectiveUser != 0 else { return }
    if hurriesHistory {
      throw ControlError(
        .notPermitted,
        "only root may use fasthistory: other users may not mount anything inside their mounts")
    }
    if !flags.followsSymlinks { throw ControlError(.notPermitted, "only root may use nosymfollow") }
    if allowsOthers, Self.othersAreBarred {
      throw ControlError(
        .notPermitted,
        "an ordinary user may let others in (allow_other) only where a line says user_allow_other in "
          + "/etc/fuse.conf")
    }
  }

  /// True if fusermount3 will refuse an ordinary user's `allow_other`; false if its file cannot be read.
  private static var othersAreBarred: Bool {
    do throws(SystemError) {
      let path = "/etc/fuse.conf"
      guard try FileSystem.exists(path) else { return true }
      let text = String(decoding: try FileSystem.read(path, atMost: 1 << 20), as: UTF8.self)
      return !text.split(separator: "\n").contains {
        $0.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" } == ["user_allow_other"]
      }
    } catch {
      return false
    }
  }
}
