import Glibc

/// The mount(8) options that the kernel itself implements.
package struct MountFlags: Hashable, Sendable {
  /// When a read updates the access time (mount(2)).
  package enum AccessTimes: Hashable, Sendable {
    /// If it is not later than the other two times, or is a day old: `relatime`, the default.
    case relative
    case strict
    case never
  }

  package var isReadOnly = false
  /// Device nodes work (`dev`).
  package var allowsDevices = false
  /// Set-user-ID and set-group-ID bits work (`suid`).
  package var allowsSetIDs = false
  package var allowsPrograms = true
  package var followsSymlinks = true
  /// Every write is durable before it returns (`sync`).
  package var isSynchronous = false
  /// Every change of a directory is durable before it returns (`dirsync`).
  package var synchronizesDirectories = false
  package var accessTimes = AccessTimes.relative
  /// Listing a directory never updates its access time.
  package var sparesDirectories = false
  /// Updates of times may stay in memory (`lazytime`), as they do here.
  package var isLazy = false

  package init() {}

  /// Reads ``MountEntry/options``.
  init(of entry: MountEntry) {
    let words = entry.options.split(separator: UInt8(ascii: ",")).map {
      String(decoding: $0, as: UTF8.self)
    }
    for word in words { _ = take(word) }
    allowsDevices = !words.contains("nodev")
    allowsSetIDs = !words.contains("nosuid")
    // The kernel has no word for `strictatime`.
    if accessTimes == .relative, !words.contains("relatime") { accessTimes = .strict }
  }

  /// Sets the flag of a word of `-o` (mount(8)), overriding earlier ones; false for another word. Some words have
  /// no effect.
  package mutating func take(_ word: String) -> Bool {
    switch word {
    case "ro": isReadOnly = true
    case "rw": isReadOnly = false
    case "suid": allowsSetIDs = true
    case "nosuid": allowsSetIDs = false
    case "dev": allowsDevices = true
    case "nodev": allowsDevices = false
    case "exec": allowsPrograms = true
    case "noexec": allowsPrograms = false
    case "symfollow": followsSymlinks = true
    case "nosymfollow": followsSymlinks = false
    case "sync": isSynchronous = true
    case "async": isSynchronous = false
    case "dirsync": synchronizesDirectories = true
    case "noatime": accessTimes = .never
    case "strictatime": accessTimes = .strict
    case "relatime", "norelatime", "nostrictatime", "atime": accessTimes = .relative
    case "nodiratime": sparesDirectories = true
    case "diratime": sparesDirectories = false
    case "lazytime": isLazy = true
    case "nolazytime": isLazy = false
    case "silent", "loud", "iversion", "noiversion", "mand", "nomand": break
    default: return false
    }
    return true
  }

  /// The words of libfuse 3.14 and fusermount3; ``complete(at:)`` sets the other flags.
  var libraryWords: [String] {
    let words: [(Bool, String)] = [
      (isReadOnly, "ro"), (allowsSetIDs, "suid"), (allowsDevices, "dev"),
      (!allowsPrograms, "noexec"), (isSynchronous, "sync"), (synchronizesDirectories, "dirsync"),
      (accessTimes == .never, "noatime"),
    ]
    return words.filter(\.0).map(\.1)
  }

  /// Sets the flags that libfuse could not pass to the kernel, after the mount. In an ordinary user's mount only
  /// ``followsSymlinks`` fails, because the daemon itself keeps access times.
  func complete(at path: String) throws(FuseError) {
    let isBeyondLibrary = sparesDirectories || accessTimes == .strict || isLazy
    if !followsSymlinks || isBeyondLibrary && geteuid() == 0 { try remount(path) }
  }

  /// Sets all flags of a mount and its file system: EPERM unless root; EBUSY for a read-only mount with files open
  /// for writing.
  package func remount(_ path: String) throws(FuseError) {
    let flags: [(Bool, Int)] = [
      (true, MS_REMOUNT), (isReadOnly, MS_RDONLY), (!allowsSetIDs, MS_NOSUID),
      (!allowsDevices, MS_NODEV), (!allowsPrograms, MS_NOEXEC),
      (!followsSymlinks, MS_NOSYMFOLLOW), (isSynchronous, MS_SYNCHRONOUS),
      (synchronizesDirectories, MS_DIRSYNC), (sparesDirectories, MS_NODIRATIME),
      (isLazy, MS_LAZYTIME), (accessTimes == .relative, MS_RELATIME),
      (accessTimes == .strict, MS_STRICTATIME), (accessTimes == .never, MS_NOATIME),
    ]
    let all = flags.reduce(UInt(0)) { $1.0 ? $0 | UInt($1.1) : $0 }
    guard unsafe Glibc.mount(nil, path, nil, all, nil) == 0 else {
      throw .system(call: "mount(2) of \(path)", errno: errno)
    }
  }
}
