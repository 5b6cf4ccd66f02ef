/// The options with which a file system is mounted, as of mount(8).
package struct MountOptions: Sendable {
  /// The first column of the mount table.
  package var source: String
  /// The file system type is `fuse.` followed by this.
  package var subtype = "llvs"
  /// The kernel checks permissions by the attributes that it got.
  package var defaultPermissions = true
  /// Users other than the one who mounts may use it.
  package var allowOther = false
  /// The options that every file system has.
  package var flags = MountFlags()
  /// Options for libfuse or security modules, each as mount(8) spells it (`auto_unmount`,
  /// `context=...`).
  package var others: [String] = []

  /// Creates options with a source, which for llvs is the store's path.
  package init(source: String) { self.source = source }

  /// The argument of `-o` for libfuse.
  var text: String {
    var words = ["fsname=" + Self.escaped(source), "subtype=" + Self.escaped(subtype)]
    if defaultPermissions { words.append("default_permissions") }
    if allowOther { words.append("allow_other") }
    words += flags.libraryWords
    words += others.map(Self.escaped)
    return words.joined(separator: ",")
  }

  /// Escapes a comma, which ends an option, and a backslash, which escapes (fuse_opt.h).
  private static func escaped(_ word: String) -> String {
    var result = ""
    for scalar in word.unicodeScalars {
      if scalar == "," || scalar == "\\" { result.unicodeScalars.append("\\") }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}

/// The settings that a session negotiates with the kernel, and the number of its threads.
package struct ConnectionOptions: Sendable {
  /// When the kernel sends READDIRPLUS instead of READDIR.
  package enum ReaddirPlus: Sendable { case never, automatic, always }

  /// When the kernel sends READDIRPLUS instead of READDIR.
  package var readdirPlus = ReaddirPlus.automatic
  /// The largest WRITE in bytes; the kernel's limit is 1 MiB.
  package var largestWrite: UInt32 = 1 << 20
  /// The most bytes that the kernel reads ahead of a reader; the kernel may offer less.
  package var largestReadahead: UInt32 = 1 << 20
  /// LOOKUP and READDIR of one directory are sent in parallel.
  package var parallelDirectories = true
  /// O_TRUNC is sent with OPEN instead of as a SETATTR before it.
  package var atomicTruncate = true
  /// Replies from a file are spliced.
  package var splicesReplies = true
  /// Targets of symbolic links are cached until invalidated.
  package var cachesSymlinks = false
  /// Cached data is dropped only when it is invalidated, not when attributes change.
  package var explicitInvalidation = true
  /// Cached data, including a directory's cached listing, is dropped when attributes changed.
  /// Overrides ``explicitInvalidation``.
  package var comparesTimes = false
  /// The kernel asks for access control lists and enforces them.
  package var enforcesACLs = false
  /// LOOKUP of `.` and `..` is answered, also for nodes that the kernel has forgotten.
  package var findsNumbers = false
  /// ENOSYS as the answer to an OPEN or OPENDIR ends all of them for the session.
  package var withoutOpens = false
  /// The most requests that the kernel sends in the background (readahead, direct I/O).
  package var largestBackground: UInt32 = 64
  /// The number of background requests from which on the kernel considers the connection congested.
  package var congestionThreshold: UInt32 = 48
  /// The most threads that take requests; only as many run as there is work for.
  package var threads: UInt32 = 10
  /// While requests come in a stream, processors are kept from sleeping, so that answers do not
  /// wait for them to wake up. Costs power as long as the stream lasts.
  package var staysAwake = true
  /// Ends the connection when this process dies; nil for no watch.
  package var watch: ConnectionWatch?

  /// Creates the default options.
  package init() {}
}

/// The result of the negotiation with the kernel.
package struct ConnectionInfo: Hashable, Sendable {
  /// The major version of the FUSE protocol.
  package let protocolMajor: UInt32
  /// The minor version of the FUSE protocol.
  package let protocolMinor: UInt32
  /// The largest WRITE, in bytes.
  package let largestWrite: UInt32
  /// The most bytes that the kernel reads ahead.
  package let largestReadahead: UInt32
  /// The kernel accepts ENOSYS for an OPEN and then sends no more.
  package let allowsNoOpen: Bool
  /// The kernel accepts ENOSYS for an OPENDIR and then sends no more.
  package let allowsNoOpendir: Bool
  /// The kernel sends READDIRPLUS.
  package let hasReaddirPlus: Bool
  /// The kernel drops cached data only when it is invalidated.
  package let hasExplicitInvalidation: Bool
}
