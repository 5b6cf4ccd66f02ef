package struct MountOptions: Sendable {
  package var source: String
  package var subtype = "llvs"
  package var defaultPermissions = true
  package var allowOther = false
  package var flags = MountFlags()
  /// Options for libfuse or security modules, as mount(8) spells them.
  package var others: [String] = []

  /// `source` is the first column of the mount table, for llvs the store's path.
  package init(source: String) { self.source = source }

  /// The argument of `-o`.
  var text: String {
    var words = ["fsname=" + Self.escaped(source), "subtype=" + Self.escaped(subtype)]
    if defaultPermissions { words.append("default_permissions") }
    if allowOther { words.append("allow_other") }
    words += flags.libraryWords
    words += others.map(Self.escaped)
    return words.joined(separator: ",")
  }

  /// Escapes commas, which end an option, and backslashes, which escape (fuse_opt.h).
  private static func escaped(_ word: String) -> String {
    var result = ""
    for scalar in word.unicodeScalars {
      if scalar == "," || scalar == "\\" { result.unicodeScalars.append("\\") }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}

/// A session's settings for the negotiation with the kernel, and its number of threads.
package struct ConnectionOptions: Sendable {
  /// When the kernel sends READDIRPLUS instead of READDIR.
  package enum ReaddirPlus: Sendable { case never, automatic, always }

  package var readdirPlus = ReaddirPlus.automatic
  /// The kernel's limit is 1 MiB.
  package var largestWrite: UInt32 = 1 << 20
  /// The most bytes of readahead.
  package var largestReadahead: UInt32 = 1 << 20
  /// LOOKUP and READDIR of one directory are sent in parallel.
  package var parallelDirectories = true
  /// O_TRUNC is sent with OPEN instead of as a SETATTR before it.
  package var atomicTruncate = true
  package var splicesReplies = true
  package var cachesSymlinks = false
  /// Cached data is dropped when it is invalidated, not when attributes change.
  package var explicitInvalidation = true
  /// Cached data and listings are dropped when attributes changed; overrides ``explicitInvalidation``.
  package var comparesTimes = false
  /// The kernel enforces access control lists.
  package var enforcesACLs = false
  /// LOOKUP of `.` and `..` is answered, also for forgotten nodes.
  package var findsNumbers = false
  /// ENOSYS for an OPEN or OPENDIR ends all of them.
  package var withoutOpens = false
  /// The most background requests (readahead, direct I/O), and the number that counts as congestion.
  package var largestBackground: UInt32 = 64
  package var congestionThreshold: UInt32 = 48
  /// The most threads; only the necessary number runs.
  package var threads: UInt32 = 10
  /// Processors are kept from sleeping during a stream of requests, which costs power.
  package var staysAwake = true
  /// Ends the connection when this process dies.
  package var watch: ConnectionWatch?

  package init() {}
}

/// The result of the negotiation.
package struct ConnectionInfo: Hashable, Sendable {
  package let protocolMajor: UInt32
  package let protocolMinor: UInt32
  package let largestWrite: UInt32
  package let largestReadahead: UInt32
  /// The kernel accepts ENOSYS for an OPEN, or an OPENDIR, and sends no more.
  package let allowsNoOpen: Bool
  package let allowsNoOpendir: Bool
  package let hasReaddirPlus: Bool
  package let hasExplicitInvalidation: Bool
}
