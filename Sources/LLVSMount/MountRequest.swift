package import FuseSession
package import LLVS
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
  /// Further options for the kernel, as mount(8) spells them.
  package var others: [String] = []

  package init(store: String, mountPoint: String) {
    self.store = store
    self.mountPoint = mountPoint
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
