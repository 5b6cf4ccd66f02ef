import Inodes
package import LLVSCore

/// Identifies the version that changes go into, by its predecessor and its turn.
package struct EditGroup: Hashable, Comparable, Sendable {
  /// nil for the time before the first version.
  package var predecessor: VersionNumber?
  /// 0 for what the tree shows; from 1 on for other files of the same path.
  package var turn = 0

  package init(on predecessor: VersionNumber?, turn: Int = 0) {
    self.predecessor = predecessor
    self.turn = turn
  }

  /// Ancestors come first; of one predecessor what the tree shows comes last, because it is newest.
  package static func < (a: EditGroup, b: EditGroup) -> Bool {
    (a.predecessor?.rawValue ?? 0, -a.turn) < (b.predecessor?.rawValue ?? 0, -b.turn)
  }
}

package struct GroupedRecording {
  /// The changes; names that go elsewhere than their directories are no longer excluded.
  package private(set) var recording: Recording
  private(set) var groups: [EditGroup: [PathEdit]] = [:]
  let tree: FrozenTree
  let predecessors: Predecessors
  package var order: [EditGroup] { groups.keys.sorted() }
  package var own: EditGroup { EditGroup(on: predecessors.head) }

  /// Groups changes by predecessor: the head where it shows the same as the version that they were made on.
  /// - Throws: ``StoreError`` if a map cannot be read.
  package init(
    _ recording: Recording, of tree: FrozenTree, _ epochs: EpochTable, on predecessors: Predecessors
  ) throws(StoreError) {
    self.recording = recording
    self.tree = tree
    self.predecessors = predecessors
    for edit in recording.edits { try place(edit, epochs) }
    let joined = try joinMoves(epochs)
    for edit in recording.edits where !joined.contains(ObjectIdentifier(edit)) {
      try putWhereItStood(edit, epochs)
    }
    separate()
    joinLogs()
    for edit in recording.edits {
      groups[EditGroup(on: edit.predecessor, turn: edit.turn), default: []].append(edit)
    }
    try joinRemovals()
    groups = groups.filter { !$0.value.isEmpty }
  }

  private mutating func place(_ edit: PathEdit, _ epochs: EpochTable) throws(StoreError) {
    let head = predecessors.head
    edit.predecessor = try seen(by: edit, epochs)
    guard edit.predecessor != head, edit.turn == 0 else { return }
    if try isUntouched(edit, since: edit.predecessor) { edit.predecessor = head }
  }

  /// The version that the edit's writer saw; the head if the store does not have that version.
  private func seen(
    by edit: PathEdit, _ epochs: EpochTable
  ) throws(StoreError) -> VersionNumber? {
    let head = predecessors.head
    let seen = edit.epoch.map { epochs.version($0, otherwise: head) } ?? head
    return try predecessors.has(seen) ? seen : head
  }

  /// In a moved directory, the writer of a change saw the old place, unless the change joins the move.
  private mutating func putWhereItStood(_ edit: PathEdit, _ epochs: EpochTable) throws(StoreError) {
    let seen = try seen(by: edit, epochs)
    guard let place = edit.place, let before = try pathBefore(edit, since: seen) else { return }
    if edit.kind == .put {
      edit.isWhereItStood = true
    } else {
      edit.kind = .remove
    }
    edit.predecessor = seen
    edit.path = before
    recording.excluded[place.directory]?.remove(place.name)
  }

  /// The recorded path of a change in a moved directory where the head has something else than its writer saw.
  private func pathBefore(
    _ edit: PathEdit, since seen: VersionNumber?
  ) throws(StoreError) -> TreePath? {
    let isPut = edit.kind == .put && edit.over != nil
    guard seen != predecessors.head, edit.turn == 0, isPut || edit.kind == .leaveOut,
      let place = edit.place, let above = try tree.recordedPath(of: place.directory)
    else { return nil }
    let before = above.appending(place.name)
    guard !isPut || before != edit.path, try !predecessors.isSame(before, seen, isWhole: !isPut)
    else { return nil }
    return before
  }

  private func isUntouched(
    _ edit: PathEdit, since seen: VersionNumber?
  ) throws(StoreError) -> Bool {
    let isWhole =
      switch edit.kind {
      case .remove, .move, .make: true
      case .put: edit.isOverDirectory
      case .leaveOut, .setAttributes: false
      }
    guard try predecessors.isSame(edit.path, seen, isWhole: isWhole) else { return false }
    // A database and its logs of two versions would be a damaged database.
    if edit.kind == .put || edit.kind == .remove {
      for key in FileGroup(around: Key(bytes: edit.path.bytes)).members {
        let path = TreePath(key.bytes)
        guard try predecessors.isSame(path, seen, isWhole: false) else { return false }
      }
    }
    guard edit.kind == .move else { return true }
    return try predecessors.isSame(edit.source, seen, isWhole: true)
  }

  /// A file may have the place of a file's old directory: each goes into a version of its own.
  private func separate() {
    struct Spot: Hashable {
      let predecessor: VersionNumber?
      let path: TreePath
      let turn: Int

      init(_ edit: PathEdit) {
        (predecessor, path, turn) = (edit.predecessor, edit.path, edit.turn)
      }
    }
    let puts = recording.edits.filter { $0.kind == .put }
    var spots = Set(puts.filter { !$0.isWhereItStood }.map { Spot($0) })
    for edit in puts where edit.isWhereItStood {
      while !spots.insert(Spot(edit)).inserted { edit.turn += 1 }
    }
  }

  /// Puts the logs that a program made into the version of its database that a head detached.
  private func joinLogs() {
    let databases = recording.edits.filter { $0.place == nil }
    guard !databases.isEmpty else { return }
    for edit in recording.edits where edit.kind == .put || edit.kind == .remove {
      guard let group = FileGroup(companion: Key(bytes: edit.path.bytes)) else { continue }
      let database = databases.first {
        $0.path.bytes == group.members[0].bytes && $0.predecessor == edit.predecessor
      }
      if edit.place != nil, let database { edit.turn = database.turn }
    }
  }

  /// Puts changes at or below the old place of a moved directory into the move's version, unless that has what
  /// their writers had not seen. Returns those below a directory that moved on another version than the head.
  private mutating func joinMoves(
    _ epochs: EpochTable
  ) throws(StoreError) -> Set<ObjectIdentifier> {
    var moves: [InodeNumber: PathEdit] = [:]
    for edit in recording.edits where edit.kind == .move || edit.kind == .make {
      if let number = edit.number { moves[number] = edit }
    }
    guard !moves.isEmpty else { return [] }
    let head = predecessors.head
    for edit in recording.edits where edit.kind != .leaveOut {
      guard let place = edit.place, let over = try tree.recorded(at: place)?.inode.number,
        let move = moves[over], move !== edit
      else { continue }
      let predecessor = edit.predecessor != head ? edit.predecessor : move.predecessor
      (edit.predecessor, move.predecessor) = (predecessor, predecessor)
    }
    guard moves.values.contains(where: { $0.predecessor != head }) else { return [] }
    var joined: Set<ObjectIdentifier> = []
    for edit in recording.edits {
      guard var directory = edit.place?.directory else { continue }
      while directory != .root {
        if let move = moves[directory], move.predecessor != head,
          try !hasUnseen(move.predecessor, at: edit, epochs)
        {
          edit.predecessor = move.predecessor
          joined.insert(ObjectIdentifier(edit))
        }
        guard let above = try tree.place(of: directory) else { break }
        directory = above.directory
      }
    }
    return joined
  }

  /// True if a change in a moved directory is older, and its writer did not see what the head has there.
  private mutating func hasUnseen(
    _ version: VersionNumber?, at edit: PathEdit, _ epochs: EpochTable
  ) throws(StoreError) -> Bool {
    let seen = try seen(by: edit, epochs)
    guard seen?.rawValue ?? 0 < version?.rawValue ?? 0 else { return false }
    return try pathBefore(edit, since: seen) != nil
  }

  /// Puts the removal at a directory's old place into the version of the move.
  private mutating func joinRemovals() throws(StoreError) {
    var moves: [TreePath: (group: EditGroup, edit: PathEdit)] = [:]
    for (group, edits) in groups {
      for edit in edits where edit.kind == .move { moves[edit.source] = (group, edit) }
    }
    guard !moves.isEmpty else { return }
    for group in order {
      for edit in groups[group] ?? [] where edit.kind == .remove {
        guard let move = moves[edit.path], move.group != group, let place = edit.place,
          try tree.recorded(at: place)?.inode.number == move.edit.number
        else { continue }
        groups[group]?.removeAll { $0 === edit }
        groups[move.group]?.append(edit)
      }
    }
  }
}
