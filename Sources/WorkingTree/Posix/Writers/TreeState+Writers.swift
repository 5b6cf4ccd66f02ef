package import Inodes
import Platform

// The epochs that the writers of changes had seen (docs/writes.md, rule 7), with the lock held; nil for what the tree
// shows.

extension TreeState {
  /// The epoch that a process had seen at the names of a file that it empties or cuts.
  func seen(by process: Int32, at names: [InodeName]) -> Epoch? {
    guard process != 0 else { return nil }
    return names.reduce(nil) { $0.older(writers.mark(process, at: $1)) }
  }

  /// The epoch that a process had seen at a name that it gives to a file, in place of `over` or of nothing.
  ///
  /// Where nothing is shown, a new file replaces nothing, unless a program here took the old one away: editors put the
  /// old file aside and make a new one.
  func seen(by process: Int32, at name: InodeName, over: InodeNumber?) -> Epoch? {
    guard over != nil || overlay.changes[name] != nil else { return nil }
    return seen(by: process, at: [name])
  }

  /// Notes that a process opened a file for reading.
  mutating func noteReading(_ process: Int32, of number: InodeNumber, names: [InodeName]) {
    writers.note(process, reading: number, names: names, at: SystemClock.boottime())
  }

  /// Leaves a process behind that opens a file for reading of which a head took the name.
  mutating func leaveBehind(_ process: Int32, reading number: InodeNumber) {
    guard process != 0, !overlay.orphans.isEmpty,
      case .detached(let name?, _, let epoch)? = overlay.nodes.orphan(of: number)
    else { return }
    writers.leaveBehind(process, at: name, on: epoch, at: SystemClock.boottime())
  }
}

extension WorkingTree {
  /// Forgets what is remembered of an earlier process with the number of the one that asks; without the locks.
  /// /proc is read only if a head left the process behind anywhere.
  ///
  /// The result stays true during the call, because a process that waits for an answer does not end.
  func confirm(_ process: Int32) {
    guard state({ $0.writers.isDoubtful(process) }) else { return }
    let start = SystemProcess.start(of: process) ?? .max
    state { $0.writers.began(process, at: start) }
  }
}

/// A name at which a new head shows something else.
package struct ReplacedName: Hashable, Sendable {
  /// The name.
  package var name: InodeName
  /// The file that was shown there; nil for nothing.
  package var before: InodeNumber?
  /// The file that is shown there now; nil for nothing.
  package var after: InodeNumber?
  /// The epoch of the version that had the file before.
  package var epoch: Epoch
  /// The epochs of older versions that have the same as the head.
  package var alike: Set<Epoch>

  /// Creates one.
  package init(
    _ name: InodeName, from before: InodeNumber?, to after: InodeNumber?, on epoch: Epoch,
    alike: Set<Epoch>
  ) {
    (self.name, self.before, self.after) = (name, before, after)
    (self.epoch, self.alike) = (epoch, alike)
  }
}
