package struct MountOptions: Sendable {
  package var source: String
  package var allowOther = false
  package var flags = MountFlags()
  /// Options for libfuse or security modules, as mount(8) spells them.
  package var others: [String] = []

  /// `source` is the first column of the mount table, for llvs the store's path.
  package init(source: String) { self.source = source }

  /// The argument of `-o`.
  var text: String {
    var words = ["fsname=" + Self.escaped(source), "subtype=llvs", "default_permissions"]
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
  /// Cached data and listings are dropped when attributes change, not when they are invalidated.
  package var comparesTimes = false
  /// The kernel enforces access control lists.
  package var enforcesACLs = false
  /// LOOKUP of `.` and `..` is answered, also for forgotten nodes.
  package var findsNumbers = false
  /// ENOSYS for an OPEN or OPENDIR ends all of them.
  package var withoutOpens = false
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
  package let largestWrite: UInt32
  package let hasReaddirPlus: Bool
  package let hasExplicitInvalidation: Bool
}
