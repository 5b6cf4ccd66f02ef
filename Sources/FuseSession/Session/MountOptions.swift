/// How a file system is mounted: mount(8)'s options.
package struct MountOptions: Sendable {
  /// What stands in the first column of the mount table.
  package var source: String
  /// The type is `fuse.` and this.
  package var subtype = "llvs"
  /// The kernel checks permissions by the attributes that it is told.
  package var defaultPermissions = true
  /// Other users than the one who mounts may use it.
  package var allowOther = false
  /// What every file system may be asked.
  package var flags = MountFlags()
  /// Options for libfuse or for security modules, each as mount(8) spells one (`auto_unmount`, `context=...`).
  package var others: [String] = []

  package init(source: String) { self.source = source }

  /// What stands behind `-o` for libfuse.
  var text: String {
    var words = ["fsname=" + Self.escaped(source), "subtype=" + Self.escaped(subtype)]
    if defaultPermissions { words.append("default_permissions") }
    if allowOther { words.append("allow_other") }
    words += flags.libraryWords
    words += others.map(Self.escaped)
    return words.joined(separator: ",")
  }

  /// A comma ends an option and a backslash takes that from it (fuse_opt.h).
  private static func escaped(_ word: String) -> String {
    var result = ""
    for scalar in word.unicodeScalars {
      if scalar == "," || scalar == "\\" { result.unicodeScalars.append("\\") }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}

/// What is agreed with the kernel when a session begins, and how many threads serve it.
package struct ConnectionOptions: Sendable {
  /// When READDIRPLUS is sent instead of READDIR.
  package enum ReaddirPlus: Sendable { case never, automatic, always }

  package var readdirPlus = ReaddirPlus.automatic
  /// The largest WRITE; the kernel's limit is 1 MiB.
  package var largestWrite: UInt32 = 1 << 20
  /// The most the kernel reads ahead of a reader; it may offer less.
  package var largestReadahead: UInt32 = 1 << 20
  /// LOOKUP and READDIR of one directory are sent side by side.
  package var parallelDirectories = true
  /// O_TRUNC comes with OPEN instead of as a SETATTR before it.
  package var atomicTruncate = true
  /// Replies from a file are spliced.
  package var splicesReplies = true
  /// Targets of symbolic links are cached until invalidated.
  package var cachesSymlinks = false
  /// Cached data goes only when it is invalidated, not when attributes change.
  package var explicitInvalidation = true
  /// Cached data goes when attributes are found to have changed: names that the kernel keeps of a directory
  /// too. Goes before ``explicitInvalidation``.
  package var comparesTimes = false
  /// OPEN and OPENDIR may be answered once for all with ENOSYS.
  package var withoutOpens = false
  /// How many requests the kernel may send in the background (readahead, direct I/O).
  package var largestBackground: UInt32 = 64
  package var congestionThreshold: UInt32 = 48
  /// The most threads that take requests; as many run as there is work for.
  package var threads: UInt32 = 10
  /// While requests come in a stream, processors are kept from sleeping, so that answers do not wait for
  /// them to wake up. Takes power for as long as the stream lasts.
  package var staysAwake = true
  /// Ends the connection when this process dies.
  package var watch: ConnectionWatch?

  package init() {}
}

/// What was agreed with the kernel.
package struct ConnectionInfo: Hashable, Sendable {
  package let protocolMajor: UInt32
  package let protocolMinor: UInt32
  package let largestWrite: UInt32
  package let largestReadahead: UInt32
  /// The kernel takes ENOSYS for an OPEN, for all that follow.
  package let allowsNoOpen: Bool
  /// The same for OPENDIR.
  package let allowsNoOpendir: Bool
  package let hasReaddirPlus: Bool
  package let hasExplicitInvalidation: Bool
}
