import Control

extension Verb {
  private static let binary = VerbOption(
    "binary",
    help: "with -u, write bytes that are not text too, up to 32 MiB, as git apply takes them")

  private static let differing: [VerbOption] = [
    VerbOption("u", "patch", help: "the lines that differ, as patch(1) and git apply take them"),
    VerbOption("stat", help: "a line for each file: lines added and removed, with a bar"),
    VerbOption("name-status", help: "a line for each file: + new, - removed, * changed, R renamed"),
    VerbOption("name-only", help: "only paths"),
    VerbOption(
      "U", "unified", value: "LINES", help: "lines of context around a change; 3 if not given"),
    binary,
    VerbOption("no-renames", help: "show a renamed file as one removed and one new"),
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
        VerbOption("graph", help: "draw the graph of versions"),
        VerbOption("oneline", help: "one line for each version"),
        VerbOption("all", help: "all heads and branches, and versions that are forgotten"),
        VerbOption("n", "count", value: "COUNT", help: "at most COUNT; -COUNT is the same"),
        VerbOption(
          "since", value: "TIME",
          help: "not before TIME: yesterday, \"2 hours ago\", -2h, 2026-05-01, 2026-05-01T10:22"),
        VerbOption("until", value: "TIME", help: "not after TIME"),
        VerbOption("author", value: "PATTERN", help: "whose author or machine matches, as grep -E"),
        VerbOption("grep", value: "PATTERN", help: "whose message matches, as grep -E"),
        VerbOption("S", "content", value: "TEXT", help: "that changed how often files have TEXT"),
        VerbOption("follow", help: "of one file: also of the names that it had before"),
        VerbOption("watch", help: "oldest first, the last 10 or -n, then new ones as they come"),
        VerbOption("stat", help: "what changed in each, file by file"),
        VerbOption("u", "patch", help: "what changed in each, line by line"), binary,
      ] + VerbOption.paged, operands: .versionsAndPaths, run: log),
    Verb(
      name: "show", usage: "llvs show [VERSION[:PATH]] [OPTIONS]",
      help: """
        Shows a version and what it changed; head if none is named.
        With :PATH it writes the bytes of the file as the version has it, or lists the directory.
        """, options: differing + VerbOption.paged, operands: .versions, run: show),
    Verb(
      name: "diff", usage: "llvs diff [A [B]] [PATH...] [OPTIONS]",
      help: """
        Shows the differences between two versions; A..B is the same as A B.
        Without B, what differs between A and the live tree where the store is mounted, else head; without
        A too, what is in no version yet. Paths limit it; what is neither a version nor a path needs --.
        Off a terminal it is a patch that git apply takes whole, bytes that are no text included.
        """,
      options: differing + [
        VerbOption("exit-code", help: "exit with 1 if something differs")
      ] + VerbOption.paged, operands: .versionsAndPaths, run: diff),
    Verb(
      name: "history", usage: "llvs history PATH [-u]",
      help: """
        Lists the distinct revisions of one file, newest first: when, who, how long, and why.
        A file that was renamed is followed.
        """,
      options: [
        VerbOption("n", "count", value: "COUNT", help: "at most COUNT; -COUNT is the same"),
        VerbOption("u", "patch", help: "what changed in each, line by line"), binary,
        VerbOption("all", help: "revisions of versions that are forgotten, too"),
      ] + VerbOption.paged, operands: .paths, run: history),
    Verb(
      name: "grep", usage: "llvs grep PATTERN [VERSION|A..B] [PATH...] [OPTIONS]",
      help: """
        Searches the files of all versions of this branch, newest first, each content once.
        With a version it searches the files of that version, with A..B what came with the versions that B has and
        A has not. PATTERN is an extended regular expression, as grep -E takes it. Ends with 1 if nothing is found.
        """,
      options: [
        VerbOption("i", "ignore-case", help: "ignore case (ASCII)"),
        VerbOption("F", "fixed-strings", help: "take PATTERN as it is, not as an expression"),
        VerbOption("I", "skip-binary", help: "skip files that are no text"),
        VerbOption("l", "files-with-matches", help: "print versions and paths, not lines"),
      ] + VerbOption.paged, operands: .versionsAndPaths, run: grep),
    Verb(
      name: "blame", usage: "llvs blame FILE [VERSION]",
      help: """
        Shows with which version each line of a file came, and by whom.
        The file is taken as head has it, or as VERSION has it. A file that was renamed is followed.
        """, options: VerbOption.paged, operands: .paths, run: blame),
    Verb(
      name: "web", usage: "llvs web [--open] [--read-only] [--port PORT]",
      help: """
        Shows the history as a page in a browser, until Ctrl-C.
        It prints the address of the page, which this machine alone can reach and which has a secret part:
        anyone who knows it can use the page. The page shows versions, files, differences and conflicts, and
        restores, settles and syncs.
        """,
      options: [
        VerbOption("open", help: "open the page in the browser"),
        VerbOption("read-only", help: "let the page change nothing"),
        VerbOption("port", value: "PORT", help: "listen there; on a free port if not given"),
      ], run: web),
    Verb(
      name: "open", usage: "llvs open [PATH] [--print]",
      help: """
        Opens the history of a file or a directory in the file manager.
        Of a file these are its revisions, of a directory the versions that changed something below it. The store
        must be mounted.
        """,
      options: [VerbOption("print", help: "print the path of the directory and open nothing")],
      operands: .paths, run: open),
    Verb(
      name: "space", usage: "llvs space [PATH] [-n COUNT]",
      help: """
        Shows how many bytes the store takes, and what for: kinds of files, versions, paths, peers.
        Versions and paths are counted before contents are compressed and shared, each different content once; the
        store and the folders of peers as they are on disk.
        """,
      options: [
        VerbOption(
          "n", "count", value: "COUNT",
          help: "show COUNT versions, paths and months at most; 20 if not given")
      ], operands: .paths, run: space),
    Verb(
      name: "watch", usage: "llvs watch [-n COUNT]",
      help: """
        Shows what happens here from now on, a line each, until it is ended.
        It is the same as "llvs events --follow -n 0". With --json each line is a JSON object.
        """,
      options: [VerbOption("n", "count", value: "COUNT", help: "show the last COUNT lines first")],
      run: { line, console in try events(line, console) }),
    Verb(
      name: "events", usage: "llvs events [-n COUNT] [--follow]",
      help: """
        Shows what happened here: a line for each version, merge, exchange and error, newest last.
        It is the end of .llvs/log.
        """,
      options: [
        VerbOption(
          "n", "count", value: "COUNT", help: "at most COUNT; -COUNT is the same; 20 if not given"),
        VerbOption("f", "follow", help: "go on and show new ones"),
      ], run: events),
  ]
}
