import Inodes
import LLVSCore
import PendingTree
import Platform

// The epochs that writers of changes had seen (docs/writes.md, rule 7), with the lock held: nil if it is the epoch
// that is shown.

extension TreeState {
  /// True if two epochs stand for different versions, as far as is known.
  func differs(_ a: Epoch, from b: Epoch) -> Bool {
    guard a != b else { return false }
    guard let one = epochs[a], let other = epochs[b] else { return true }
    return one != other
  }

  /// The epoch that is shown of a file.
  func shownEpoch(of number: InodeNumber) -> Epoch {
    let names = overlay.nodes.names(of: number) ?? []
    // A file with further names is not shown by one of them.
    return overlay.epochShown(of: number, at: names.count == 1 ? names[0] : nil)
  }

  // MARK: - Files

  /// The epoch of a file that a process had seen before it empties or cuts it; nil if it never looked.
  func remembered(_ process: Int32, of number: InodeNumber, names: [InodeName]) -> Epoch? {
    guard process != 0 else { return nil }
    for name in names {
      if let made = epochMade(at: name, by: process) { return made }
    }
    return ([.file(number)] + names.map { .name($0) })
      .compactMap { writers.seen(by: process, at: $0)?.epoch }.max()
  }

  /// The same where it is older than what is shown.
  func stale(_ process: Int32, of number: InodeNumber, names: [InodeName]) -> Epoch? {
    let shown = shownEpoch(of: number)
    guard let seen = remembered(process, of: number, names: names), seen < shown,
      differs(seen, from: shown)
    else { return nil }
    return seen
  }

  /// The epoch that a process had seen which put at a name what stands there now, and no cut has taken it: it
  /// knows that, whatever it read there before.
  private func epochMade(at name: InodeName, by process: Int32) -> Epoch? {
    guard let change = overlay.changes[name], change.inode != nil, change.process == process else {
      return nil
    }
    return change.epoch
  }

  // MARK: - Names

  /// The epoch that a process had seen at a name that it gives to a file, in place of `over` or of nothing.
  ///
  /// At a name without a file it is nothing where the recorded tree has none either, as after a merge that
  /// removed it: nothing is replaced then. Where one was taken away since the last version, as editors do that
  /// put the old file aside and make a new one, what the version has is replaced by that; but for who removed an
  /// earlier one itself.
  func seen(by process: Int32, at name: InodeName, over: InodeNumber?) -> Epoch? {
    guard process != 0 else { return nil }
    let found: Epoch?
    if let over {
      found = remembered(process, of: over, names: [name])
    } else if let made = epochMade(at: name, by: process) {
      found = made
    } else {
      let seen = writers.seen(by: process, at: .name(name))
      guard overlay.changes[name]?.hidesRecorded ?? false, let seen, !seen.isAbsent else {
        return nil
      }
      found = seen.epoch
    }
    guard let found, found < overlay.epoch, differs(found, from: overlay.epoch) else { return nil }
    return found
  }

  // MARK: - Noting

  /// Notes that a process opened a file for reading.
  mutating func noteReading(_ process: Int32, of number: InodeNumber) {
    guard process != 0 else { return }
    writers.note(
      WriterMemory.Seen(epoch: shownEpoch(of: number), time: SystemClock.sinceBoot()),
      by: process, at: .file(number))
  }

  /// Notes who put something at a name or removed it, once that was applied.
  mutating func noteChange(at name: InodeName, by process: Int32) {
    // A name that no version has is gone, so no cut tells.
    guard process != 0, overlay.changes[name] == nil else { return }
    writers.move(process, at: .name(name), to: overlay.epoch, isAbsent: true)
  }

  /// Notes what a cut took, before the overlay follows its head: who saved that or put it at a name has seen what
  /// the cut made of it.
  mutating func noteTaken(_ cut: TakenCut) {
    func epoch(_ destination: TakenCut.Destination) -> Epoch? {
      switch destination {
      case .head: overlay.epoch
      case .beside(let epoch): epoch
      case .nowhere: nil
      }
    }
    for (number, node) in cut.nodes {
      if let epoch = epoch(node.destination) { writers.taken(number, as: epoch) }
      if case .beside(let epoch) = node.destination, let seen = node.save?.seen ?? node.seen {
        handles.noteTaken(number, seen: seen, as: epoch)
      }
    }
    for (place, name) in cut.names {
      guard let change = overlay.changes[place], change.stamp <= cut.stamp,
        let epoch = epoch(name.destination)
      else { continue }
      writers.move(change.process, at: .name(place), to: epoch)
    }
  }
}

extension WorkingTree {
  /// Forgets what is remembered of an earlier process with the number of the one that asks; without the locks.
  /// /proc is read only if another head came since the process read anything.
  ///
  /// The result stays true during the call: a process that waits for an answer does not end.
  func confirm(_ process: Int32) {
    guard state({ $0.writers.isDoubtful(process, now: $0.overlay.epoch) }) else { return }
    let start = SystemProcess.start(of: process) ?? .max
    state { $0.writers.began(process, at: start) }
  }
}
