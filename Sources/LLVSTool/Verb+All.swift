import Control

extension Verb {
  /// All verbs, in the order of the help.
  package static let all: [Verb] =
    living + commands + looking + moving + [
      Verb(
        name: "completion", usage: "llvs completion bash|zsh|fish",
        help: """
          Prints what makes a shell complete the words of llvs.
          For bash and zsh: eval "$(llvs completion bash)"; for fish: llvs completion fish | source.
          """,
        operands: .choice(["bash", "zsh", "fish"]), run: printCompletion),
      Verb(
        name: "help", usage: "llvs help [VERB] [--man]", help: "Explains a verb.",
        options: [VerbOption("man", help: "print the manual page, for man(1)")],
        operands: .verbs, run: explain),
      Verb(
        name: "version", usage: "llvs version",
        help: "Prints the release of llvs, as --version does.",
        run: { line, console in
          _ = try line.operands(0...0)
          Release.tell(line, console)
          return .done
        }),
    ]

  private static let living: [Verb] = [
    Verb(
      name: "init", usage: "llvs init STORE",
      help: "Makes an empty store in a new or empty directory.",
      options: [
        VerbOption("force", help: "even on a network or FUSE file system, where it is not safe")
      ],
      operands: .files, run: initialize),
    Verb(
      name: "mount", usage: "llvs mount STORE MOUNTPOINT [-o OPTIONS] [--foreground]",
      help: """
        Mounts a store; a new one is made first.
        Options of our own: allow_other, force, nocreate, lowpower, names=N, and for root's mounts fasthistory,
        which shows .llvs/versions as a file system of its own, so that the kernel reads history as fast as a
        disk's; a plain umount is then busy. Also those of mount(8) for any file system (ro, noatime, dev, suid ...);
        with remount a mount that is there gets these.
        """,
      options: [
        VerbOption("o", value: "OPTIONS", help: "mount options, separated by commas"),
        VerbOption("foreground", help: "stay in the foreground until the store is unmounted"),
        VerbOption("force", help: "the same as -o force: even on a network or FUSE file system"),
      ], operands: .files, run: mount),
    Verb(
      name: "unmount", usage: "llvs unmount MOUNTPOINT [--force]",
      help: """
        Makes a version of what is saved, unmounts, and waits for the daemon to end.
        Refuses, like umount(8), while programs use files there or something is mounted inside.
        """,
      options: [
        VerbOption(
          "force",
          help: "detach it all the same; files that are open there cannot be saved any more")
      ],
      operands: .files, run: unmount),
    Verb(
      name: "status", usage: "llvs status",
      help: """
        Shows what is in no version yet, what there is to merge, conflicts and peers.
        The control file shows the same in short, --json for programs.
        """, run: status),
  ]

  private static let commands: [Verb] =
    [
      "sync", "commit", "retrieve", "send", "exchange", "merge", "restore", "revert", "undo",
      "redo",
      "branch", "switch", "tag", "settle", "conflicts",
    ].compactMap(command) + [mergetoolVerb]
    + ["ignore", "untrack", "track", "set", "keep", "compact"].compactMap(command) + [
      verifyVerb, peerVerb, keyVerb,
    ]

  private static func command(_ name: String) -> Verb? {
    Commands.forms.first { $0.name == name }.map { form in
      Verb(
        name: name, usage: "llvs \(form.usage)", help: form.help, options: form.options,
        operands: form.operands, run: control)
    }
  }

  private static let mergetoolVerb = Verb(
    name: "mergetool", usage: "llvs mergetool [PATH...] [--tool TOOL]",
    help: """
      Opens a program on base, ours, theirs and merged of each conflict of texts.
      All or those at and below paths; it settles with what the program leaves in merged if it ends with 0
      and no markers remain. Else $MERGETOOL, the setting mergetool, or what is installed. Ends with 1 if a
      conflict is left.
      """,
    options: [
      VerbOption(
        "tool", value: "TOOL", completion: .choice(["meld", "vimdiff", "nvimdiff", "kdiff3"]),
        help:
          "one of meld, vimdiff, nvimdiff, kdiff3, or a command: 'cmd --out=MERGED OURS BASE THEIRS'"
      )
    ], operands: .paths, run: mergetool)

  private static let verifyVerb = Verb(
    name: "verify", usage: "llvs verify [PEER [--repair]]",
    help: """
      Reads everything in the store, or at a peer, and checks it for damage. Of the store it also checks
      the working tree: what is in no version yet, and the rows that the mount reads.
      """,
    options: [
      VerbOption("repair", help: "send again at once what is damaged or missing at the peer")
    ], operands: .peers, run: verify)

  private static let peerVerb = Verb(
    name: "peer",
    usage: "llvs peer [NAME [ADDRESS|rm|adopt WRITER]] [OPTIONS]",
    help: """
      Lists peers, adds, changes or forgets one.
      ADDRESS is a directory or another store. An empty directory gets compressed bundles, which only llvs
      reads; plain+DIRECTORY gets the files of the original LLVS. A server's address begins with s3://,
      s3+https://, https+webdav:// or rclone:. A peer that held versions and shows none of them, as an empty mount point does, is left
      alone until --reset says that it was emptied on purpose. With --encrypt everything there is encrypted: the
      first store makes a passphrase, the others ask for it. The place has to be empty for that.
      adopt takes over the bundles of a writer whose device is lost, so that they are kept few too; a writer
      that put something within 30 days is not lost.
      """,
    options: [
      VerbOption(
        "login", help: "ask for the credentials of a server, and keep them with the store"),
      VerbOption("retrieve-only", help: "send nothing there"),
      VerbOption("send-only", help: "take nothing from there"),
      VerbOption("reset", help: "forget what was seen there, and send everything again"),
      VerbOption("force", help: "use a directory that holds other things too"),
      VerbOption("encrypt", help: "encrypt everything there; asks for a passphrase"), lightKey,
    ], operands: .sequence([.peers, .choice(["rm", "adopt", Completion.files])]), run: peer)

  private static let keyVerb = Verb(
    name: "key",
    usage: "llvs key list|open|add|remove|rotate|export PEER [LABEL|DIR]",
    help: """
      Shows and changes the passphrases and keys of an encrypted peer.
      list shows the passphrases by their labels, the keys, and how many bundles each encrypts. open asks
      for a passphrase and gets the keys that it opens, as after another machine made a new one. add lets
      another passphrase open the keys, remove takes one away. rotate makes a new key for what is new: the
      way to go when a passphrase or a machine was lost. export writes files of the keys into DIR, which
      only a passphrase opens; copied into keys/ of the peer they let machines in again.
      The label is the machine's name where none is given. A passphrase is asked for on the terminal, or
      is the first line of the file LLVS_PASSPHRASE_FILE, or of what the command LLVS_PASSPHRASE_COMMAND
      prints.
      """,
    options: [lightKey],
    operands: .sequence([.choice(["list", "open", "add", "remove", "rotate", "export"]), .peers]),
    run: key)

  private static let lightKey = VerbOption(
    "light", help: "make passphrases cheaper to try, for machines with less than 256 MiB to spare")

  private static let moving: [Verb] = [
    Verb(
      name: "clone", usage: "llvs clone ADDRESS STORE [MOUNTPOINT]",
      help: """
        Makes a store with everything that a peer has, and mounts it.
        ADDRESS becomes its first peer, called origin. It tells what is there; a place without versions is
        refused, and then no store is made. With --encrypt the place is encrypted, and its passphrase is asked for.
        """,
      options: [
        VerbOption("name", value: "NAME", help: "the name of the peer, in place of origin"),
        VerbOption(
          "login", help: "ask for the credentials of a server, and keep them with the store"),
        VerbOption("encrypt", help: "the place is encrypted; asks for its passphrase"),
        VerbOption("force", help: "even on a network or FUSE file system, where it is not safe"),
      ], operands: .files, run: clone),
    Verb(
      name: "search",
      usage: "llvs search WORDS [--under PATH] [--history] [-l] [-n COUNT] [--exact]",
      help: """
        Finds files by the words in them and in their names, the best first, with up to 3 lines of each.
        All words must be there, in any order: "a phrase", begin*, -not, OR, name:word. Case, accents and
        English endings make no difference; --exact keeps lines with the very text. --history searches all
        that files ever were, also files that are gone. The first search reads all files and makes an index;
        later ones read what has changed since. Ends with 1 if nothing was found.
        """,
      options: [
        VerbOption(
          "under", value: "PATH", completion: .paths, help: "search below this directory alone"),
        VerbOption("history", help: "search every version, and name the one that stored the text"),
        VerbOption("l", "list", help: "names alone"),
        VerbOption("n", "count", value: "COUNT", help: "the most files that are shown, else 50"),
        VerbOption("exact", help: "only lines with the very text"),
        VerbOption(
          "sort", value: "ORDER", completion: .choice(["rank", "time", "path"]),
          help: "rank (the best first), time (the newest first) or path"),
        VerbOption(
          "wait", value: "TIME",
          help: "answer after this time from what is indexed; 0 answers at once"),
      ], run: search),
    Verb(
      name: "import",
      usage: "llvs import DIR|ARCHIVE|FILE.kvcrdt [--into PATH] [--on VERSION] [-m MESSAGE]"
        + " | llvs import --from FORMAT DIR",
      help: """
        Adds the files of a directory, or the values of a document, as one version.
        An archive (.tar, or .tar with .gz, .bz2, .xz or .zst) is unpacked by tar(1) and imported as a directory.
        With --on the version is made on VERSION and merged into the head, and all its files become visible at
        once. A document is a file of KeyValueCRDT: each value is a file below PATH. One that has nothing in
        common with what is there is refused unless --unrelated is given.
        With --from, the versions of a store in a format of the original LLVS come in: its files and its SQLite
        files are told apart by themselves. The store must not be mounted then.
        """,
      options: [
        VerbOption("into", value: "PATH", help: "the place in the tree; its top if not given"),
        VerbOption(
          "on", value: "VERSION", completion: .versions,
          help: "what the version is based on; the head if not given"),
        VerbOption(
          "from", value: "FORMAT", help: "bring in a store: llvs-store or llvs-store-sqlite"),
        VerbOption("unrelated", help: "take a document of other data too"), .message,
      ], operands: .files, run: importTree),
    Verb(
      name: "export",
      usage: "llvs export VERSION[:PATH] DIR|FILE.kvcrdt [--from PATH] [--merge] [--overwrite]"
        + " | llvs export --as FORMAT DIR",
      help: """
        Writes a version's tree, or the directory PATH of it, into a directory that is new or empty, or its files as a
        document.
        A document that is there is refused unless --merge adds to it, or --overwrite replaces it.
        With --as, all versions are written into a store in a format of the original LLVS; those there stay.
        """,
      options: [
        VerbOption(
          "from", value: "PATH", help: "the directory of the version that is written"),
        VerbOption("merge", help: "write what is new into a document that is there"),
        VerbOption("overwrite", help: "replace a document that is there"),
        VerbOption(
          "as", value: "FORMAT", help: "write a store: llvs-store or llvs-store-sqlite"),
      ],
      operands: .sequence([.versions, .files]), run: exportTree),
    Verb(
      name: "document",
      usage: "llvs document FILE [ACTION [NAME]] | llvs document join BASE OURS THEIRS",
      help: """
        Reads and writes a KeyValueCRDT document, without a store.
        \(DocumentCommand.actions.map { "\($0.usage): \($0.help)." }.joined(separator: "\n"))
        "join" is for documents that are files of the tree: "llvs set 'arbiter=*.kvcrdt:exec llvs document join'"
        merges their values.
        """,
      options: [
        VerbOption("scope", value: "SCOPE", help: "the scope of NAME; none if not given"),
        VerbOption(
          "type", value: "TYPE", completion: .choice(["text", "json", "blob"]),
          help: "the type of what is put; text, or blob for what is not UTF-8"),
        VerbOption("o", "output", value: "FILE", help: "where the bytes of a value go"),
      ], operands: .files, run: DocumentCommand.run),
    Verb(
      name: "backup", usage: "llvs backup DIR [--with-settings]",
      help: """
        Copies the store, even while it is mounted, with changes that are in no version yet.
        A directory that holds the last backup, or one that was interrupted, gets only what is new. The copy is
        isolated: mounted, it runs no hooks and exchanges with no peer until "llvs set isolated=off".
        """,
      options: [
        VerbOption(
          "with-settings", help: "do not isolate the copy: it syncs and runs hooks at once")
      ], operands: .files, run: backup),
  ]
}
