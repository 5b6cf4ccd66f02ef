import FileTree

/// What can be asked of the tool.
struct Verb: Sendable {
  let name: String
  let usage: String
  let help: String
  let run: @Sendable (CommandLine, Console) throws -> ExitCode

  static func named(_ name: String) -> Verb? { all.first { $0.name == name } }

  static let all: [Verb] = [
    Verb(
      name: "init", usage: "llvs init STORE",
      help: "Makes an empty store in a directory that is not there or empty.", run: initialize),
    Verb(
      name: "mount", usage: "llvs mount STORE MOUNTPOINT [-o OPTIONS] [--foreground]",
      help: """
        Mounts a store, which is made if it is not there. Options of our own: allow_other, force, nocreate,
        lowpower; the others go to the kernel. With --foreground it serves until it is unmounted or told to end.
        """, run: mount),
    Verb(
      name: "unmount", usage: "llvs unmount MOUNTPOINT",
      help: "Makes a version of what is saved, unmounts, and waits for the daemon to end.",
      run: unmount),
    Verb(
      name: "status", usage: "llvs status", help: "Tells the head, what is pending, and the peers.",
      run: control),
    command("sync", "Commits, retrieves, merges and sends: the one command people need."),
    command("commit", "Makes a version of everything saved, now."),
    command("retrieve", "Takes in the versions of peers."),
    command("send", "Gives the versions of this store to peers."),
    command("exchange", "Retrieves, then sends."),
    command(
      "merge",
      "Brings other heads in: all of this line, or those named. --fail-on-conflict ends with 1."),
    command("restore", "Makes a new version with the content of an older one, whole or at paths."),
    command("revert", "The same as restore."),
    command("undo", "Goes back by one change of the head."), command("redo", "Takes undo back."),
    command("branch", "Starts a named line."),
    command("switch", "Goes on from another version or line; - is the unnamed one."),
    command("tag", "Gives a version a lasting name; lists such names if none is given."),
    command("settle", "Closes a conflict."),
    command(
      "conflicts", "Lists values of which concurrent ones were dropped and none was settled."),
    Verb(
      name: "mergetool", usage: "llvs mergetool [PATH...] [--tool TOOL]",
      help: """
        Opens a program on base, ours, theirs and merged of each conflict of texts, all or those at and below
        paths, and settles with what it leaves in merged if it ends with 0 and no markers remain. TOOL is
        meld, vimdiff, nvimdiff, kdiff3, or a command with the words BASE, OURS, THEIRS and MERGED, as in
        'cmd --out=MERGED OURS BASE THEIRS'; else $MERGETOOL, the setting mergetool, or what is installed.
        Ends with 1 if a conflict is left.
        """, run: mergetool),
    command("set", "Changes settings of this store."),
    command("compact", "Reclaims space."), command("purge", "Removes a value from history here."),
    Verb(
      name: "verify", usage: "llvs verify [PEER]",
      help: "Checks every hash of the store, or of a peer.", run: verify),
    Verb(
      name: "peer", usage: "llvs peer [NAME [ADDRESS|rm]]",
      help: "Lists peers, adds or changes one, or forgets it.", run: peer),
    Verb(
      name: "log", usage: "llvs log [-n COUNT] [--follow]",
      help: "Shows a line for each version, merge, exchange and error, newest last.", run: log),
    Verb(
      name: "show", usage: "llvs show [VERSION]",
      help: "Tells what a version is and what it changed; head if none is named.", run: show),
    Verb(
      name: "diff", usage: "llvs diff A [B] [--stat]",
      help: "Lists the paths at which two versions differ: + new, - gone, * changed.", run: diff),
    Verb(
      name: "import", usage: "llvs import DIR [--into PATH] [-m MESSAGE]",
      help: "Makes one version that holds the files of a directory too.", run: importTree),
    Verb(
      name: "export", usage: "llvs export VERSION DIR",
      help: "Writes a version's tree into a directory that is not there or empty.",
      run: exportTree),
    Verb(
      name: "backup", usage: "llvs backup DIR",
      help: "Copies the store, also while it is in use.", run: backup),
    Verb(
      name: "bench", usage: "llvs bench [ROW...]",
      help: "Measures speeds beside references on this machine; \"llvs bench --help\" tells more.",
      run: { (line, _) in ExitCode(rawValue: Bench.run(line.words)) ?? .failed }),
    Verb(name: "help", usage: "llvs help [VERB]", help: "Explains a verb.", run: explain),
  ]

  private static func command(_ name: String, _ help: String) -> Verb {
    let usage =
      name == "revert"
      ? "revert VERSION [PATH...]"
      : ControlCommand.usage.first { $0.name == name }?.usage ?? name
    return Verb(name: name, usage: "llvs \(usage)", help: help, run: control)
  }

  private static func explain(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    guard let name = line.words.first else {
      console.tell(overview)
      return .done
    }
    guard let verb = named(name) else { throw UsageError("there is no verb \(name)") }
    console.tell(verb.description)
    return .done
  }

  var description: String { "\(usage)\n\n\(help)\n" }

  static var overview: String {
    let width = all.map(\.name.count).max() ?? 0
    let lines = all.map { verb in
      let space = String(repeating: " ", count: width - verb.name.count + 2)
      return "  \(verb.name)\(space)\(verb.help.split(separator: "\n").first ?? "")"
    }
    return """
      llvs VERB [OPTIONS] mounts a versioned store as a directory and keeps copies of it in step.

      \(lines.joined(separator: "\n"))

      Options of all: --store DIR, --mount DIR (else the mount that the current directory is in), --json,
      --quiet, --help. Exit codes: 0 done, 1 conflicts (--fail-on-conflict, mergetool), 2 usage, 3 not found,
      4 unreachable, 5 unrelated, 6 busy, 7 no space, 8 not permitted, 9 damaged, 10 interrupted,
      11 exists, 12 failed otherwise.
      """
  }
}
