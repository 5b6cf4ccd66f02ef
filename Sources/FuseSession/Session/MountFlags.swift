import Glibc

/// The mount(8) options of every file system: those that the kernel itself follows.
package struct MountFlags: Hashable, Sendable {
  /// When a read updates the access time (mount(2)).
  package enum AccessTimes: Hashable, Sendable {
    /// If it is not later than the other two times, or is a day old: `relatime`, the kernel's
    /// default.
    case relative
    case strict
    case never
  }

  /// The mount is read-only (`ro`).
  package var isReadOnly = false
  /// Device nodes work (`dev`).
  package var allowsDevices = false
  /// Programs run as the owner if their set-user-ID bit is set, and likewise for groups (`suid`).
  package var allowsSetIDs = false
  /// Programs can be run (`exec`).
  package var allowsPrograms = true
  /// Symbolic links are followed (`symfollow`).
  package var followsSymlinks = true
  /// Every write is durable before it returns (`sync`).
  package var isSynchronous = false
  /// Every change of a directory is durable before it returns (`dirsync`).
  package var synchronizesDirectories = false
  /// The updates of access times.
  package var accessTimes = AccessTimes.relative
  /// Listing a directory does not update its access time, whatever ``accessTimes`` is.
  package var sparesDirectories = false
  /// Updates of times may stay in memory (`lazytime`); the times that it concerns always do here.
  package var isLazy = false

  /// Creates the default flags.
  package init() {}

  /// Reads the options that the kernel shows of a mount (``MountEntry/options``).
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

  /// Sets the flag of one word of `-o`, as mount(8) defines it.
  ///
  /// A later word overrides an earlier one. Words without effect here (`silent`, `iversion`, and
  /// `mand`, which kernels ignore by now) are accepted.
  ///
  /// - Returns: False for a word that is none of these options.
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

  /// The words that libfuse 3.14 and fusermount3 know; ``complete(at:)`` sets the other flags.
  var libraryWords: [String] {
    var words: [String] = []
    if isReadOnly { words.append("ro") }
    if allowsSetIDs { words.append("suid") }
    if allowsDevices { words.append("dev") }
    if !allowsPrograms { words.append("noexec") }
    if isSynchronous { words.append("sync") }
    if synchronizesDirectories { words.append("dirsync") }
    if accessTimes == .never { words.append("noatime") }
    return words
  }

  // MARK: - What libfuse does not know

  /// The flags of mount(2), with Linux's numbers.
  private enum Flag {
    static let readOnly: UInt = 1
    static let noSetIDs: UInt = 2
    static let noDevices: UInt = 4
    static let noPrograms: UInt = 8
    static let synchronous: UInt = 16
    static let remount: UInt = 32
    static let synchronousDirectories: UInt = 128
    static let noSymlinks: UInt = 256
    static let noAccessTimes: UInt = 1024
    static let noDirectoryAccessTimes: UInt = 2048
    static let relativeAccessTimes: UInt = 1 << 21
    static let strictAccessTimes: UInt = 1 << 24
    static let lazy: UInt = 1 << 25
  }

  /// True if a flag is set that libfuse cannot pass to the kernel.
  private var isBeyondLibrary: Bool {
    !followsSymlinks || sparesDirectories || accessTimes == .strict || isLazy
  }

  /// Sets the flags that libfuse could not pass to the kernel, after it mounted the file system
  /// with the others.
  ///
  /// In an ordinary user's mount only ``followsSymlinks`` fails. The daemon keeps access times by
  /// itself, so the kernel need not know that they differ from the default.
  ///
  /// - Throws: ``FuseError/system(call:errno:)`` if the kernel refuses.
  func complete(at path: String) throws(FuseError) {
    guard isBeyondLibrary, geteuid() == 0 || !followsSymlinks else { return }
    try remount(path)
  }

  /// Sets all these flags on the mount at a path, including those that belong to its file system.
  ///
  /// - Throws: ``FuseError/system(call:errno:)``: EPERM except for root; EBUSY for a read-only
  ///   mount while files are open for writing.
  package func remount(_ path: String) throws(FuseError) {
    var flags = Flag.remount
    if isReadOnly { flags |= Flag.readOnly }
    if !allowsSetIDs { flags |= Flag.noSetIDs }
    if !allowsDevices { flags |= Flag.noDevices }
    if !allowsPrograms { flags |= Flag.noPrograms }
    if !followsSymlinks { flags |= Flag.noSymlinks }
    if isSynchronous { flags |= Flag.synchronous }
    if synchronizesDirectories { flags |= Flag.synchronousDirectories }
    if sparesDirectories { flags |= Flag.noDirectoryAccessTimes }
    if isLazy { flags |= Flag.lazy }
    switch accessTimes {
    case .relative: flags |= Flag.relativeAccessTimes
    case .strict: flags |= Flag.strictAccessTimes
    case .never: flags |= Flag.noAccessTimes
    }
    guard unsafe Glibc.mount(nil, path, nil, flags, nil) == 0 else {
      throw .system(call: "mount(2) of \(path)", errno: errno)
    }
  }
}
