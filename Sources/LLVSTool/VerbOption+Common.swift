package import Control

extension VerbOption {
  package static let common: [VerbOption] = [
    VerbOption(
      "store", value: "DIR", completion: .files,
      help: "act on this store; through its mount where it is mounted"),
    VerbOption(
      "mount", value: "DIR", completion: .files,
      help:
        "act on the store that is mounted there; without it, on the one around the current directory"
    ),
    VerbOption(
      "force",
      help: "write a store even on FUSE, NFS, SMB or 9p, where it is not safe"),
    VerbOption("json", help: "print JSON, one value a line"),
    VerbOption("q", "quiet", help: "print only errors and the requested output"),
    VerbOption("h", "help", help: "explain the verb"),
    VerbOption("V", "version", help: "print the release of llvs"),
  ]

  /// The options of verbs with long output.
  static let paged: [VerbOption] = [
    VerbOption(
      "color", value: "WHEN", completion: .choice(["auto", "always", "never"]),
      help: "colour: always, never, or auto: on a terminal, unless NO_COLOR is set"),
    VerbOption(
      "no-pager", help: "do not start a pager ($LLVS_PAGER, $PAGER, less) on a terminal"),
  ]
}
