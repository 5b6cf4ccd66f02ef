import Glibc

/// What mount(8) may ask of every file system: the options that the kernel heeds, whatever is mounted.
package struct MountFlags: Hashable, Sendable {
  /// When reading moves the access time (mount(2)).
  package enum AccessTimes: Hashable, Sendable {
    /// Where it is not later than the other two times, or a day old: `relatime`, the kernel's default.
    case relative
    case strict
    case never
  }

  package var isReadOnly = false
  /// Device nodes work.
  package var allowsDevices = false
  /// Programs run as the owner where their set-user-ID bit says so, and likewise for groups.
  package var allowsSetIDs = false
  package var allowsPrograms = true
  package var followsSymlinks = true
  package var isSynchronous = false
  package var synchronizesDirectories = false
  package var accessTimes = AccessTimes.relative
  /// Listing a directory does not move its access time, whatever ``accessTimes`` says.
  package var sparesDirectories = false
  /// Times need not reach the disk soon, which those that this concerns never do here.
  package var isLazy = false

  package init() {}

  /// Takes one word of `-o`, as mount(8) has it.
  ///
  /// A later word goes before an earlier one. Words that change nothing here (`silent`, `iversion`, and `mand`,
  /// which kernels do not heed any more) are taken all the same.
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

  /// The words that libfuse 3.14 and fusermount3 know; the rest is for ``complete(at:)``.
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

  /// mount(2)'s flags as Linux numbers them.
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

  /// Whether anything is asked for that libfuse cannot tell the kernel.
  private var isBeyondLibrary: Bool {
    !followsSymlinks || sparesDirectories || accessTimes == .strict || isLazy
  }

  /// Has the kernel heed what libfuse could not tell it of a file system that was mounted with the rest.
  ///
  /// In an ordinary user's mount only ``followsSymlinks`` fails: that times are kept otherwise than by default is
  /// the daemon's own affair, and the kernel need not know.
  ///
  /// - Throws: ``FuseError/system(call:errno:)`` where the kernel refuses it.
  func complete(at path: String) throws(FuseError) {
    guard isBeyondLibrary, geteuid() == 0 || !followsSymlinks else { return }
    try remount(path)
  }

  /// Gives the mount at a path these flags, all of them, and its file system those that are of that.
  ///
  /// - Throws: ``FuseError/system(call:errno:)``: EPERM but for root, EBUSY for reading alone while files are open
  ///   for writing.
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
