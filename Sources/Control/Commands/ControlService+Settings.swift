import Events
import Grammar
import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension ControlService {
  /// Changes settings: all of them or none.
  func set(_ assignments: [StoreSettings.Assignment]) throws(ControlError) -> CommandResult {
    // An impossible value is refused before anything is written.
    var scratch = settings
    for assignment in assignments { try scratch.assign(assignment) }
    try translating { () throws(StoreError) in
      try store.write { (transaction) throws(StoreError) in
        for assignment in assignments {
          transaction.set(
            assignment.name.rawValue,
            to: assignment.value.isEmpty ? nil : Array(assignment.value.utf8))
        }
      }
    }
    // The settings that the store holds now, whichever command set them: of two commands at once
    // the later to read here wins, and it reads with the lock held.
    let settings = try translating { () throws(StoreError) in
      try state.withLock { state throws(StoreError) -> StoreSettings in
        var faults: [String] = []
        state.confirmed.formUnion(assignments)
        state.settings = try StoreSettings(
          of: store, confirmed: state.confirmed, faults: &faults)
        return state.settings
      }
    }
    tree.storeSettings = settings
    tree.noteSettings()
    // The reply has the requested values, even if another handle has changed them since.
    let changed = assignments.map { "\($0.name.rawValue)=\(scratch.text(of: $0.name))" }
    noteChangedSettings()
    var fields = assignments.map { ReplyField($0.name.rawValue, scratch.text(of: $0.name)) }
    // A program may be installed later, so the setting is taken; but a slip is noticed now.
    let missing = assignments.flatMap { scratch.missingPrograms(of: $0.name) }
    if !missing.isEmpty {
      fields.append(ReplyField("missingPrograms", .list(missing.map { .text($0) })))
    }
    let notes = missing.map { "; \(PrintableText.text(Array($0.utf8))) is not installed here" }
    return CommandResult(changed.joined(separator: " ") + notes.joined(), fields)
  }

  /// Wakes the threads that follow the settings and the peers.
  func noteChangedSettings() {
    settingsChanged.withLock { $0 += 1 }
    settingsChanged.broadcast()
  }

  /// Makes autosync look again for what it has to do.
  func wakeAutosync() {
    // The lock is taken once, so that the thread either looks after this or is waiting already.
    settingsChanged.withLock { _ in }
    settingsChanged.broadcast()
  }

  /// Gives the store another id, for a machine that was set back while the store was open.
  func renewReplica() throws(ControlError) -> CommandResult {
    let renewed = try translating { () throws(StoreError) in try store.renewReplica() }
    log.add("set", "the store has the new replica id \(renewed)")
    return CommandResult(
      "replica=\(renewed); what is written from now on has another writer",
      [ReplyField("replica", renewed)])
  }

  /// Changes settings of peers: all of them or none.
  func set(_ assignments: [PeerSettings.Assignment]) throws(ControlError) -> CommandResult {
    let stored = try translating { () throws(StoreError) in
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
      return try store.state().settings
    }
    let values = assignments.map { assignment in
      (assignment, PeerSettings(of: assignment.peer, stored: stored).text(of: assignment.name))
    }
    return CommandResult(
      values.map { "\($0.peer).\($0.name.rawValue)=\($1)" }.joined(separator: " "),
      [
        ReplyField(
          "peers",
          .list(
            values.map { assignment, value in
              .record([
                ReplyField("peer", assignment.peer), ReplyField("name", assignment.name.rawValue),
                ReplyField("value", value),
              ])
            }))
      ])
  }

  /// The settings of peers that were set in this store.
  private func ofPeers(
    _ stored: [String: [UInt8]]
  ) throws(ControlError) -> [(String, String, Bool)] {
    try allPeers().flatMap { peer in
      let settings = PeerSettings(of: peer.name, stored: stored)
      return PeerSettings.Name.allCases.compactMap { name in
        stored[PeerSettings.key(peer.name, name)].map { _ in
          ("\(peer.name).\(name.rawValue)", settings.text(of: name), true)
        }
      }
    }
  }

  /// Lists settings, all without names: the value in force, and whether it was set in this store.
  func list(_ names: [StoreSettings.Name]) throws(ControlError) -> CommandResult {
    let stored = try translating { () throws(StoreError) in try store.state().settings }
    let settings = settings
    var items = (names.isEmpty ? StoreSettings.Name.allCases : names).map { name in
      (name.rawValue, settings.text(of: name), stored[name.rawValue] != nil)
    }
    if names.isEmpty { items += try ofPeers(stored) }
    let withheld = Set(settings.withheld.map(\.rawValue))
    let width = min(items.map { $0.0.utf8.count + $0.1.utf8.count }.max() ?? 0, 32)
    let lines = items.map { name, value, isSet in
      let gap = max(0, width - name.utf8.count - value.utf8.count)
      let origin = withheld.contains(name) ? "(withheld)" : isSet ? "(set here)" : "(default)"
      return "\(name)=\(value)" + String(repeating: " ", count: gap) + "  " + origin
    }
    return CommandResult(
      lines.joined(separator: "\n"),
      [
        ReplyField(
          "settings",
          .list(
            items.map { name, value, isSet in
              .record([
                ReplyField("name", name), ReplyField("value", value),
                ReplyField("isSet", .flag(isSet)),
                ReplyField("isWithheld", .flag(withheld.contains(name))),
              ])
            }))
      ])
  }

  /// The settings of a peer.
  func peerSettings(_ name: String) throws(ControlError) -> PeerSettings {
    let stored = try translating { () throws(StoreError) in try store.state().settings }
    return PeerSettings(of: name, stored: stored)
  }

  /// The settings in force, for JSON replies.
  var settingsField: ReplyField {
    let settings = settings
    return ReplyField(
      "settings",
      .record(
        StoreSettings.Name.allCases.map { ReplyField($0.rawValue, settings.text(of: $0)) }))
  }
}
