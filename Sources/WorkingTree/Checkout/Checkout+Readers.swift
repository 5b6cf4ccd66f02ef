import Inodes
import LLVSCore
import TreeNames

// Processes that saw a name whose bytes in the head are not from the version of what they saw (docs/writes.md,
// rule 7).

extension Checkout {
  /// Returns the names that processes saw and where a head, which is prepared and not shown, has another file.
  func replaced(
    by head: Head, _ difference: HeadDifference, from before: Overlay, to after: Overlay,
    _ names: SeenNames
  ) throws(StoreError) -> [ReplacedName] {
    var replaced: [ReplacedName] = []
    var known: Set<InodeName> = []
    let versions = SeenVersions(checkout: self, epochs: tree.epochs, head: head.version)
    func note(_ foreign: ForeignName) throws(StoreError) {
      guard let place = foreign.place, known.insert(place).inserted else { return }
      var number = foreign.recorded
      if case .pending(let pending) = before.shown(at: place) { number = pending }
      guard let seen = names.epochs(at: place, number) else { return }
      let rows = recorded.prepared
      let new = try after.inode(at: place, over: rows)
      guard new != number else { return }
      let epoch = head.record.taken.epoch(at: place, in: head.frozen) ?? before.epoch
      replaced.append(
        ReplacedName(
          name: place, before: number, after: new, epoch: epoch,
          alike: try versions.alike(seen, at: foreign.path)))
    }
    for foreign in difference.foreign { try note(foreign) }
    // A change in a version next to the head may differ from the head, though the head did not change the name.
    for (place, name) in head.record.taken.names where name.destination != .head {
      guard let path = head.frozen.path(of: place.directory)?.appending(place.name)
      else { continue }
      let number = try recorded.child(of: place.directory, named: place.name)?.inode.number
      try note(ForeignName(path: path, place: place, recorded: number))
    }
    return replaced
  }

  /// Removes the names of SQLite's shared memory (`X-shm`) of replaced databases: a program that opens the new files
  /// must not share the memory of programs that have the old ones. SQLite makes the file again.
  func forgetSharedMemory(besides replaced: [ReplacedName], in overlay: inout Overlay) {
    for place in Set(replaced.map(\.sharedMemory)) {
      guard let change = overlay.changes[place], !change.hidesRecorded, !change.isDirectory,
        let number = change.inode
      else { continue }
      overlay.apply(
        Change(time: .now, .unlink(place, of: number, isKept: tree.isHeld(number))))
    }
  }
}

extension ReplacedName {
  /// The name of the shared memory if this is a database or its write-ahead log.
  fileprivate var sharedMemory: InodeName {
    let log = Array("-wal".utf8)
    let bytes = name.name.bytes
    let database = bytes.suffix(log.count) == log[...] ? bytes.dropLast(log.count) : bytes[...]
    return InodeName(directory: name.directory, name: FileName(database + "-shm".utf8))
  }
}

/// The versions that processes saw, compared with a head.
private struct SeenVersions {
  let checkout: Checkout
  let epochs: [Epoch: UInt32]
  let head: VersionRecord?

  /// Returns the epochs whose versions show the same as the head at a path.
  func alike(_ seen: Set<Epoch>, at path: TreePath) throws(StoreError) -> Set<Epoch> {
    guard !seen.isEmpty else { return [] }
    let shown = try file(at: path, in: head)
    var alike: Set<Epoch> = []
    for epoch in seen {
      guard let number = epochs[epoch] else { continue }
      let version = number == 0 ? nil : try checkout.store.version(VersionNumber(number))
      guard number == 0 || version != nil else { continue }
      if try file(at: path, in: version) == shown { alike.insert(epoch) }
    }
    return alike
  }

  /// nil if there is no file at the path.
  private func file(
    at path: TreePath, in version: VersionRecord?
  ) throws(StoreError) -> FileIdentity? {
    let view = TreeView(map: checkout.store.map(of: version))
    guard case .value(let entry)? = try view.find(path: path.bytes) else { return nil }
    return FileIdentity(entry)
  }
}
