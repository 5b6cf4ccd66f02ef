import Events
import Grammar
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// Changes settings of the store and of peers, or lists them.
struct SetCommand: Command {
  static let forms = [
    CommandForm(
      "set", "[NAME...|PEER.NAME...|NAME=VALUE...|PEER.NAME=VALUE...|replica=new]", .settings,
      help: """
        Changes settings of this store, or shows them.
        settle=2s, autosync=off or 5m, automerge=on, announce=on or off (whether programs that watch
        directories are told of what merges and restores change), arbiter=ARBITER, author=NAME, machine=NAME,
        mtime=stored or now, reserve=256M, keep=POLICY ("llvs help keep"), mergetool=TOOL, search=on or off (whether the index of "llvs search" follows each
        version), searchlimit=8M (how much of a file is searched), isolated=on (no exchanges, no hooks, as in a
        backup). An empty value restores the default.
        ARBITER may depend on the path: arbiter=*.log:union,*.cfg:most-recent-change; "llvs help merge" says
        what each does.
        PEER.limit=2M is the most bytes a second of a peer, PEER.direction=both, retrieve-only or send-only,
        PEER.remove=off leaves bundles there that others replaced.
        on-version, on-conflict and on-sync name a command that is run when a version was made, when files come
        to be in conflict, and after each sync, with the paths of what changed or clashed behind its words:
        on-conflict='notify-send "llvs: conflicts"'. It has a minute; LLVS_VERSION and LLVS_STORE say more.
        """)
  ]

  enum Request: Hashable {
    /// All without names.
    case list([Shown])
    case assign([StoreSettings.Assignment])
    case assignOfPeers([PeerSettings.Assignment])
    case renewReplica
  }

  enum Shown: Hashable {
    case ofStore(StoreSettings.Name)
    case ofPeer(String, PeerSettings.Name)
  }

  let request: Request

  var title: String {
    switch request {
    case .list: "set"
    case .assign(let all): (["set"] + all.map(\.name.rawValue)).joined(separator: " ")
    case .assignOfPeers(let all):
      (["set"] + all.map { "\($0.peer).\($0.name.rawValue)" }).joined(separator: " ")
    case .renewReplica: "set replica"
    }
  }

  var effect: CommandEffect {
    switch request {
    case .list: .query
    case .assign: .change
    case .assignOfPeers, .renewReplica: .version
    }
  }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch request {
    case .list(let names): try service.list(names)
    case .assign(let all): try service.set(all)
    case .assignOfPeers(let all): try service.set(all)
    case .renewReplica: try service.renewReplica()
    }
  }
}

extension SetCommand {
  /// Either all words assign, or none does.
  init(_ arguments: inout Arguments) throws(ControlError) {
    var assignments: [StoreSettings.Assignment] = []
    var names: [Shown] = []
    var ofPeers: [PeerSettings.Assignment] = []
    if arguments.rest.count == 1, arguments.takes("replica=new") {
      request = .renewReplica
      return
    }
    while let word = try arguments.textIfAny() {
      if let equals = word.firstIndex(of: "=") {
        let (name, value) = (String(word[..<equals]), String(word[word.index(after: equals)...]))
        if PeerSettings.isName(name) {
          ofPeers.append(try PeerSettings.Assignment(name: name, value: value))
        } else {
          assignments.append(try StoreSettings.Assignment(name: name, value: value))
        }
      } else if PeerSettings.isName(word) {
        let (peer, name) = try PeerSettings.names(word)
        names.append(.ofPeer(peer, name))
      } else {
        names.append(.ofStore(try StoreSettings.Name(word: word)))
      }
      guard [assignments.isEmpty, names.isEmpty, ofPeers.isEmpty].count(where: { !$0 }) < 2 else {
        throw arguments.misused("\"\(word)\" cannot be combined with the other words")
      }
    }
    request =
      !ofPeers.isEmpty
      ? .assignOfPeers(ofPeers) : assignments.isEmpty ? .list(names) : .assign(assignments)
  }
}

extension ControlService {
  func set(_ assignments: [StoreSettings.Assignment]) throws -> CommandResult {
    // Invalid values are refused before anything is written.
    var scratch = settings
    for assignment in assignments { try scratch.assign(assignment) }
    // On a full disk "keep" must work.
    try withRoom {
      try store.write { (transaction) throws(StoreError) in
        for assignment in assignments {
          transaction.set(
            assignment.name.rawValue,
            to: assignment.value.isEmpty ? nil : Array(assignment.value.utf8))
        }
      }
    }
    // Read under the lock: of two concurrent commands the later one wins.
    let settings = try state.withLock { state in
      var faults: [String] = []
      state.confirmed.formUnion(assignments)
      state.settings = try StoreSettings(of: store, confirmed: state.confirmed, faults: &faults)
      return state.settings
    }
    tree.storeSettings = settings
    tree.noteSettings()
    noteChangedSettings()
    // The reply has the requested values, even if another handle has changed them since.
    let changed = assignments.map { ($0.name.rawValue, scratch.text(of: $0.name)) }
    var reply = ReplyValue.record(changed.map { ReplyField($0, .text($1)) })
    // A program may be installed later, so the setting is accepted with a warning.
    let missing = assignments.flatMap { scratch.missingPrograms(of: $0.name) }
    if !missing.isEmpty { reply += ["missingPrograms": missing] }
    let notes = missing.map { "; \(PrintableText.text(Array($0.utf8))) is not installed here" }
    return CommandResult(
      changed.map { "\($0)=\($1)" }.joined(separator: " ") + notes.joined(), reply)
  }

  func noteChangedSettings() {
    settingsChanged.withLock { $0 += 1 }
    settingsChanged.broadcast()
  }

  /// Makes autosync compute its next sync again, or notice its end.
  func wakeAutosync() {
    // Acquires the lock once, so that the thread either checks after this or is waiting already.
    settingsChanged.withLock { _ in }
    settingsChanged.broadcast()
  }

  fileprivate func renewReplica() throws -> CommandResult {
    let renewed = try store.renewReplica()
    log.add("set", "the store has the new replica id \(renewed)")
    return CommandResult(
      "replica=\(renewed); what is written from now on has another writer", ["replica": renewed])
  }

  func set(_ assignments: [PeerSettings.Assignment]) throws -> CommandResult {
    try store.write { (transaction) throws(StoreError) in
      for assignment in assignments {
        // A peer is set to be encrypted before it gets its address.
        let isKnown = try store.peers().contains { $0.name == assignment.peer }
        guard isKnown || assignment.name == .encrypt else {
          throw .notFound("peer \(assignment.peer)")
        }
        transaction.set(
          assignment.key, to: assignment.value.isEmpty ? nil : Array(assignment.value.utf8))
      }
    }
    let values = try assignments.map { ($0, try peerSettings($0.peer).text(of: $0.name)) }
    return CommandResult(
      values.map { "\($0.peer).\($0.name.rawValue)=\($1)" }.joined(separator: " "),
      [
        "peers": ReplyValue.list(
          values.map { ["peer": $0.peer, "name": $0.name.rawValue, "value": $1] })
      ])
  }

  /// Lists settings, without names all of the store and those that were set of peers: the current value, and if it was
  /// set in this store.
  fileprivate func list(_ names: [SetCommand.Shown]) throws -> CommandResult {
    let stored = try store.state().settings
    let settings = settings
    let peers = try store.peers().map(\.name)
    var shown = names
    if shown.isEmpty {
      shown = StoreSettings.Name.allCases.map { .ofStore($0) }
      for peer in peers {
        shown += PeerSettings.Name.allCases.filter { stored[PeerSettings.key(peer, $0)] != nil }
          .map { .ofPeer(peer, $0) }
      }
    }
    let items = try shown.map { shown in
      switch shown {
      case .ofStore(let name):
        return (name.rawValue, settings.text(of: name), stored[name.rawValue] != nil)
      case .ofPeer(let peer, let name):
        guard peers.contains(peer) else {
          throw ControlError(.notFound, "there is no peer \(peer)")
        }
        let text = PeerSettings(of: peer, stored: stored).text(of: name)
        return ("\(peer).\(name.rawValue)", text, stored[PeerSettings.key(peer, name)] != nil)
      }
    }
    let withheld = Set(settings.withheld.map(\.rawValue))
    let width = min(items.map { $0.0.utf8.count + $0.1.utf8.count }.max() ?? 0, 32)
    let lines = items.map { name, value, isSet in
      let gap = max(0, width - name.utf8.count - value.utf8.count)
      let origin = withheld.contains(name) ? "(withheld)" : isSet ? "(set here)" : "(default)"
      return "\(name)=\(value)" + String(repeating: " ", count: gap) + "  " + origin
    }
    let values = items.map { name, value, isSet -> ReplyValue in
      ["name": name, "value": value, "isSet": isSet, "isWithheld": withheld.contains(name)]
    }
    return CommandResult(lines.joined(separator: "\n"), ["settings": values])
  }

  func peerSettings(_ name: String) throws(ControlError) -> PeerSettings {
    PeerSettings(of: name, stored: try translating { try store.state().settings })
  }
}
