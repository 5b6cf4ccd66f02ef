package import FuseSession
package import LLVSCore
package import Platform

/// What to mount where, and how.
package struct MountRequest: Sendable {
  /// The store's directory.
  package var store: String
  /// The directory to mount it on.
  package var mountPoint: String
  /// Makes the store if the directory is not there or empty.
  package var creates = true
  /// Lets other users in; needs `user_allow_other` in fuse.conf for an ordinary user.
  package var allowsOthers = false
  /// Mounts although the store is on a network file system.
  package var isForced = false
  /// What /proc/mounts shows as the source; the store's path unless given.
  package var source: String?
  /// Lets processors sleep between requests: takes less power, and each request takes longer.
  package var savesPower = false
  /// Shows versions by a file system of their own, which the kernel asks for less; root's mounts only.
  package var hurriesHistory = false
  /// Ends the mount's connections when this process dies.
  package var watch: ConnectionWatch?
  /// How many names the kernel may remember before it is made to forget those that are used least.
  package var names = 500_000
  /// What every file system may be asked.
  package var flags = MountFlags()
  /// Further options for libfuse or security modules, as mount(8) spells them.
  package var others: [String] = []

  package init(store: String, mountPoint: String) {
    self.store = store
    self.mountPoint = mountPoint
  }
}

extension MountRequest {
  /// Refuses what this user may not ask for, before a store is made for it.
  ///
  /// - Throws: ``MountError/option(_:)``, which names the option.
  func checkPermission() throws(MountError) {
    guard SystemProcess.effectiveUser != 0 else { return }
    if hurriesHistory {
      throw .option(
        "fasthistory is for root: an ordinary user may not mount anything inside his own mount")
    }
    if !flags.followsSymlinks { throw .option("nosymfollow is for root") }
    if allowsOthers, Self.othersAreBarred {
      throw .option(
        "an ordinary user may let others in (allow_other) only where a line says user_allow_other in "
          + "/etc/fuse.conf")
    }
  }

  /// Whether fusermount3 will refuse an ordinary user's `allow_other`; false where its file cannot be read.
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

/// Why a store could not be mounted, in a sentence.
package enum MountError: Error, Sendable {
  /// The mount point is not there.
  case missing(String)
  /// The mount point is no directory, or stands in the wrong place.
  case place(String)
  /// Something is mounted there.
  case busy(String)
  /// The mount point cannot be looked at.
  case system(SystemError)
  /// An option that cannot be granted here.
  case option(String)
  case store(StoreError)
  case session(FuseError)
}
