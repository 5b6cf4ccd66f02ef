import Grammar

extension Verb {
  private static let failing = VerbOption(
    "fail-on-conflict", help: "exit with 1 if there are new conflicts")

  private static let message = VerbOption(
    "m", "message", value: "TEXT", help: "the message of the version")

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
          console.tell(Release.text(inJSON: line.isJSON))
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
        It is refused, as by umount(8), while programs use files there or something is mounted inside.
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

  private static let commands: [Verb] = [
    command(
      "sync", "Commits, retrieves, merges and sends: as a rule the only command that is needed.",
      [failing], .peers),
    command(
      "commit",
      """
      Makes a version of everything that is saved, now.
      The words are its message. A single word that is a file is not taken without asking, since other programs
      take files there: -m takes it.
      """, [message]),
    command(
      "retrieve",
      """
      Gets versions from peers and merges nothing.
      Look first with "llvs merge --dry-run", then merge with "llvs merge".
      """, [], .peers),
    command("send", "Sends the versions of this store to peers.", [], .peers),
    command("exchange", "Retrieves from peers, then sends to them; merges nothing.", [], .peers),
    command(
      "merge",
      """
      Merges other heads: all of this branch, or those named.
      ARBITER decides where both sides changed a file: text and json take from both what does not clash,
      and where it does the newer side's; union keeps the lines of both; most-recent-change,
      most-recent-branch and keep-both take the newer file whole; ours or theirs takes one side's; exec
      COMMAND runs a program. What is dropped is listed by "llvs conflicts".
      """, [failing], .versions),
    command(
      "restore",
      """
      Brings back a file, a directory or everything as a version has it.
      "llvs restore at/yesterday notes.txt" brings back one file, "llvs restore V" the whole tree. It makes a new
      version; what was there before stays in history, and "llvs undo" takes it back.
      """, [],
      .versionsAndPaths),
    command("revert", "The same as restore.", [], .versionsAndPaths),
    command(
      "undo",
      """
      Takes back the last change: a version, a merge, a restore or a switch.
      It makes a new version with the content from before; again it goes one further, "llvs redo" goes forth.
      """),
    command("redo", "Makes the change again that undo took back."),
    command(
      "branch",
      """
      Starts a branch: a named line of versions. Without a name it lists the branches.
      With -d it removes a name; the versions stay. A branch whose versions no other branch holds is removed with
      --force alone. With -m it gives a branch another name. Peers do the same at the next exchange.
      """,
      [
        VerbOption("d", "delete", help: "remove the name"),
        VerbOption("m", "rename", help: "give the branch another name"),
      ], .branches),
    command(
      "switch",
      """
      Shows another branch or version in the tree, and goes on from there.
      A version that is not the newest of a branch needs "as NAME", the name of a new branch; - is the unnamed line.
      """, [], .versions),
    command(
      "tag",
      """
      Gives a version a lasting name, or lists these names.
      A name that another version has is refused; -f takes it from there, and says from which.
      """,
      [
        VerbOption("f", help: "move the name, as --force does here too"),
        VerbOption("d", "delete", help: "remove the name"),
        VerbOption("m", "rename", help: "give the version another name instead"),
      ], .versions),
    command(
      "settle",
      """
      Closes conflicts at a path and below it, or all.
      Without a further word the tree stays as it is, as with ours. theirs takes what was dropped (theirs.2 the
      one before, as "llvs conflicts" names them), base what both sides came from, VERSION what that has. So
      "llvs settle notes.txt theirs" takes the dropped side of one file, and "llvs settle --all" keeps
      everything. "llvs undo" opens them again.
      """,
      [VerbOption("all", help: "all conflicts, wherever they are")], .paths),
    command(
      "conflicts",
      """
      Lists files that were changed on two sides and are not settled.
      Of each it tells what was kept and what was dropped: on which machine, by whom and when. The files are
      in .llvs/conflicts.
      """, [], .paths),
    Verb(
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
      ], operands: .paths, run: mergetool),
    command(
      "ignore",
      """
      Lists the store's own ignore patterns, or adds some.
      New names that match are in no version and are never sent; lines are as in .gitignore. These patterns are in
      .llvs/ignore and stay here. A file .llvsignore in any directory holds patterns for that directory and below;
      it is versioned and exchanged like other files, and goes before the store's own. With --check it tells which
      pattern keeps a path out.
      """,
      [
        VerbOption(
          "check", help: "tell of paths whether they are in versions, and by which pattern not")
      ],
      .paths),
    command(
      "untrack",
      """
      Takes files and directories out of versions and keeps them here.
      A pattern is added to .llvs/ignore unless one matches already. Other machines remove them at their next sync:
      earlier versions have them still.
      """, [], .paths),
    command(
      "set",
      """
      Changes settings of this store, or shows them.
      settle=2s, autosync=off or 5m, automerge=on, announce=on or off (whether programs that watch
      directories are told of what merges and restores change), arbiter=ARBITER, author=NAME, machine=NAME,
      mtime=stored or now, reserve=256M, mergetool=TOOL, search=on or off (whether the index of "llvs search" follows each
      version), searchlimit=8M (how much of a file is searched). An empty value restores the default.
      ARBITER may depend on the path: arbiter=*.log:union,*.cfg:most-recent-change; "llvs help merge" says
      what each does.
      PEER.limit=2M is the most bytes a second of a peer, PEER.direction=both, retrieve-only or send-only,
      PEER.remove=off leaves bundles there that others replaced.
      on-version, on-conflict and on-sync name a command that is run when a version was made, when files come
      to be in conflict, and after each sync, with the paths of what changed or clashed behind its words:
      on-conflict='notify-send "llvs: conflicts"'. It has a minute; LLVS_VERSION and LLVS_STORE say more.
      """),
    Verb(
      name: "verify", usage: "llvs verify [PEER]",
      help: """
        Reads everything in the store, or in a peer's folder, and checks it for damage. Of the store it also checks
        the working tree: what is in no version yet, and the rows that the mount reads.
        """,
      operands: .peers, run: verify),
    Verb(
      name: "peer",
      usage: "llvs peer [NAME [ADDRESS|rm|adopt WRITER]] [OPTIONS]",
      help: """
        Lists peers, adds, changes or forgets one.
        ADDRESS is a directory or another store; bundle+DIRECTORY keeps versions there in compressed
        bundles, which only llvs reads. A server's address begins with s3://, s3+https://, https+webdav:// or
        rclone:. A peer that held versions and shows none of them, as an empty mount point does, is left
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
      ], operands: .peers, run: peer),
    Verb(
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
      operands: .choice(["list", "open", "add", "remove", "rotate", "export"]), run: key),
  ]

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
        Makes one version that holds the files of a directory too, or takes what a document says.
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
        VerbOption("unrelated", help: "take a document of other data too"), message,
      ], operands: .files, run: importTree),
    Verb(
      name: "export",
      usage: "llvs export VERSION DIR|FILE.kvcrdt [--from PATH] [--merge] [--overwrite]"
        + " | llvs export --as FORMAT DIR",
      help: """
        Writes a version's tree into a directory that is not there or empty, or its files as a document.
        A document that is there is refused unless --merge adds to it, or --overwrite replaces it.
        With --as, all versions are written into a store in a format of the original LLVS; those there stay.
        """,
      options: [
        VerbOption(
          "from", value: "PATH", help: "the directory whose files are the document's values"),
        VerbOption("merge", help: "write what is new into a document that is there"),
        VerbOption("overwrite", help: "replace a document that is there"),
        VerbOption(
          "as", value: "FORMAT", help: "write a store: llvs-store or llvs-store-sqlite"),
      ],
      operands: .versions, run: exportTree),
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
      name: "backup", usage: "llvs backup DIR",
      help: """
        Copies the store, even while it is mounted, with changes that are in no version yet.
        """,
      operands: .files, run: backup),
  ]

  private static func command(
    _ name: String, _ help: String, _ options: [VerbOption] = [],
    _ operands: VerbOption.Completion = .nothing
  ) -> Verb {
    let usage =
      name == "revert"
      ? "revert VERSION [PATH...]"
      : ControlCommand.usage.first { $0.name == name }?.usage ?? name
    return Verb(
      name: name, usage: "llvs \(usage)", help: help, options: options, operands: operands,
      run: control)
  }
}
