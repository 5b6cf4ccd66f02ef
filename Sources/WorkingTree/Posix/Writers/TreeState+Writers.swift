package import Inodes
import Platform

// The epochs that writers had seen (docs/writes.md, rule 7), with the lock held; nil is what the tree shows.

extension TreeState {
  /// Returns the epoch that a process saw at the names of a file that it truncates.
  func seen(by process: Int32, at names: [InodeName]) -> Epoch? {
    guard process != 0 else { return nil }
    return names.reduce(nil) { $0.older(writers.mark(process, at: $1)) }
  }

  /// Returns the epoch that a process saw at a name that it gives to a file in place of `over`.
  ///
  /// A new file replaces nothing where nothing is shown, unless a program here removed the old one: editors move
  /// the old file away and make a new one. A log goes with the database that its process has open.
  @inline(__always)
  func seen(by process: Int32, at name: InodeName, over: InodeNumber?) -> Epoch? {
    guard writers.isDoubtful(process) else { return nil }
    if !overlay.orphans.isEmpty, let database = name.database, isDetached(from: database),
      let epoch = seen(by: process, at: [database])
    {
      return epoch
    }
    guard over != nil || overlay.changes[name] != nil else { return nil }
    return seen(by: process, at: [name])
  }

  /// True for a file that lost its last name to a head.
  func isDetached(_ number: InodeNumber) -> Bool {
    if case .detached? = overlay.nodes.orphan(of: number) { true } else { false }
  }

  /// True if a head took the name from a file that is open.
  private func isDetached(from name: InodeName) -> Bool {
    overlay.orphans.contains {
      if case .detached(name, _, _)? = overlay.nodes.orphan(of: $0) { true } else { false }
    }
  }

  func remover(_ process: Int32, of number: InodeNumber, at name: InodeName) -> Change.Remover {
    if seen(by: process, at: [name]) != nil { return .behind }
    return writers.hasRead(process, number) ? .reader : .other
  }

  /// Notes that a process opened a file for reading. One that opens a database sees that a log was removed.
  mutating func noteReading(_ process: Int32, of number: InodeNumber, names: [InodeName]) {
    let removed = names.flatMap(\.logs).filter { log in
      overlay.changes[log].map { $0.inode == nil } ?? false
    }
    writers.note(process, reading: number, names: names + removed, at: SystemClock.boottime())
  }

  /// Leaves a process behind that opens for reading a file whose name a head took.
  mutating func leaveBehind(_ process: Int32, reading number: InodeNumber) {
    guard process != 0, !overlay.orphans.isEmpty,
      case .detached(let name?, _, let epoch)? = overlay.nodes.orphan(of: number)
    else { return }
    writers.leaveBehind(process, at: name, on: epoch, at: SystemClock.boottime())
  }
}

extension WorkingTree {
  /// Forgets an earlier process with the caller's number; without the locks. It reads /proc only if a head left the
  /// process behind. The result stays true during the call, because a waiting process does not end.
  func confirm(_ process: Int32) {
    guard state({ $0.writers.isDoubtful(process) }) else { return }
    let start = SystemProcess.start(of: process) ?? .max
    state { $0.writers.began(process, at: start) }
  }
}

/// A name at which a new head shows something else.
package struct ReplacedName: Hashable, Sendable {
  package var name: InodeName
  /// The file shown there before; nil for nothing.
  package var before: InodeNumber?
  /// The file shown there now; nil for nothing.
  package var after: InodeNumber?
  /// The epoch of the version that had the file before.
  package var epoch: Epoch
  /// The epochs of older versions that have the same as the head.
  package var alike: Set<Epoch>
}
