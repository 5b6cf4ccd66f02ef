extension Verb {
  private static let binary = VerbOption(
    "binary",
    help: "with -u, write bytes that are no text too, up to 32 MiB, as git apply takes them")

  /// The options of verbs that show differences.
  private static let differing: [VerbOption] = [
    VerbOption("u", "patch", help: "the lines that differ, as patch(1) and git apply take them"),
    VerbOption("stat", help: "a line a file: lines added and removed, with a bar"),
    VerbOption("name-status", help: "a line a file: + new, - gone, * changed, R renamed"),
    VerbOption("name-only", help: "paths alone"),
    VerbOption(
      "U", "unified", value: "LINES", help: "lines of context around a change; 3 if not given"),
    binary,
    VerbOption("no-renames", help: "tell a renamed file as one gone and one new"),
  ]

  static let looking: [Verb] = [
    Verb(
      name: "log", usage: "llvs log [VERSION|A..B] [PATH...] [OPTIONS]",
      help: """
        Shows versions, newest first: who, when, why, and what each took in.
        From head, or from the version named; A..B: what B has and A has not. With paths, only versions
        that changed something there.
        """,
      options: [
        VerbOption("graph", help: "draw how versions came of each other"),
        VerbOption("oneline", help: "a line a version"),
        VerbOption("all", help: "all heads and branches, not only what head came from"),
        VerbOption("n", "count", value: "COUNT", help: "so many at most; also -COUNT"),
        VerbOption(
          "since", value: "TIME", help: "not before: yesterday, -2h, 2026-05-01, 2026-05-01T10:22"),
        VerbOption("until", value: "TIME", help: "not after"),
        VerbOption("follow", help: "oldest first, the last 10 or -n, then new ones as they come"),
        VerbOption("stat", help: "what changed in each, file by file"),
        VerbOption("u", "patch", help: "what changed in each, line by line"), binary,
      ] + VerbOption.paged, operands: .versionsAndPaths, run: log),
    Verb(
      name: "show", usage: "llvs show [VERSION[:PATH]] [OPTIONS]",
      help: """
        Tells what a version is and what it changed; head if none is named.
        With :PATH it writes the bytes of the file as the version has it, or lists the directory.
        """, options: differing + VerbOption.paged, operands: .versions, run: show),
    Verb(
      name: "diff", usage: "llvs diff [A [B]] [PATH...] [OPTIONS]",
      help: """
        Tells what differs between two versions; A..B is the same as A B.
        Without B, what differs between A and the live tree where the store is mounted, else head; without
        A too, what is in no version yet. Paths limit it; what is neither a version nor a path needs --.
        Off a terminal it is a patch that git apply takes whole, bytes that are no text included.
        """,
      options: differing + [
        VerbOption("exit-code", help: "end with 1 where something differs")
      ] + VerbOption.paged, operands: .versionsAndPaths, run: diff),
    Verb(
      name: "history", usage: "llvs history PATH [-u]",
      help: "Lists the distinct revisions of one file, newest first.",
      options: [
        VerbOption("n", "count", value: "COUNT", help: "so many at most; also -COUNT"),
        VerbOption("u", "patch", help: "what changed in each, line by line"), binary,
      ] + VerbOption.paged, operands: .paths, run: history),
    Verb(
      name: "events", usage: "llvs events [-n COUNT] [--follow]",
      help: """
        Shows what happened here: a line for each version, merge, exchange and error, newest last.
        It is the end of .llvs/log.
        """,
      options: [
        VerbOption(
          "n", "count", value: "COUNT", help: "so many at most; also -COUNT; 20 if not given"),
        VerbOption("f", "follow", help: "go on with new ones as they come"),
      ], run: events),
  ]
}
