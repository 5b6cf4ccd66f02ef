import Inodes
import PendingTree

/// The epochs that processes had seen of files which they opened for reading: what the writer of a change had
/// seen, where no handle says so (docs/writes.md, rule 7).
///
/// A process is remembered with the file, and with a name once the file has left that. At least the last
/// ``limit`` pairs are kept, and at most twice as many.
struct WriterMemory {
  /// The epoch that a process had seen.
  struct Seen: Hashable {
    /// The epoch that was shown.
    var epoch: Epoch
    /// When, since the kernel started: a process that began later is another one of the same number.
    var time: UInt64
    /// True if the process removed what was there: whoever makes the name anew while there is none has seen
    /// that.
    var isAbsent = false
  }

  /// A file, or a name that a file has left.
  enum Place: Hashable {
    case file(InodeNumber)
    case name(InodeName)
  }

  private struct Generation {
    var places: [Place: [Int32: Seen]] = [:]
    /// The oldest epoch that each process is remembered with.
    var oldest: [Int32: Epoch] = [:]
    var count = 0
  }

  static let limit = 20_480
  private var recent = Generation()
  private var older = Generation()
  /// When processes began that were asked for it.
  private var starts: [Int32: UInt64] = [:]
  /// The processes that saved or changed files since the last cut, by the file, and when they had looked at it.
  private var savers: [InodeNumber: [Int32: UInt64]] = [:]

  /// The oldest epoch that a process is remembered with; nil if none is.
  var oldestEpoch: Epoch? { (Array(recent.oldest.values) + older.oldest.values).min() }

  /// The number of pairs, some perhaps twice.
  var count: Int { recent.count + older.count }

  // MARK: - Reading

  /// Returns what a process had seen at a place; nil if it never looked, as far as remembered.
  func seen(by process: Int32, at place: Place) -> Seen? {
    guard process != 0,
      let seen = recent.places[place]?[process] ?? older.places[place]?[process]
    else { return nil }
    if let start = starts[process], start > seen.time { return nil }
    return seen
  }

  /// True if a process is remembered with another epoch than one: who asks for what it had seen looks first
  /// when it began (``began(_:at:)``).
  func isDoubtful(_ process: Int32, now epoch: Epoch) -> Bool {
    process != 0
      && [recent.oldest[process], older.oldest[process]].contains { $0 ?? epoch < epoch }
  }

  // MARK: - Noting

  /// Notes that a process opened a file for reading.
  mutating func note(_ seen: Seen, by process: Int32, at place: Place) {
    guard process != 0 else { return }
    if recent.count >= Self.limit, recent.places[place]?[process] == nil {
      older = recent
      recent = Generation()
      starts = starts.filter { older.oldest[$0.key] != nil }
    }
    if recent.places[place, default: [:]].updateValue(seen, forKey: process) == nil {
      recent.count += 1
    }
    recent.oldest[process] = min(seen.epoch, recent.oldest[process] ?? seen.epoch)
  }

  /// Notes when a process began: what an earlier one of its number had seen is forgotten.
  mutating func began(_ process: Int32, at time: UInt64) { starts[process] = time }

  /// A file has left a name, by a program's call or for a new head: who has seen it there is remembered with
  /// the name.
  mutating func leave(_ name: InodeName, by number: InodeNumber) {
    for places in [older.places, recent.places] {
      for (process, seen) in places[.file(number)] ?? [:] {
        if let known = self.seen(by: process, at: .name(name)), known.epoch > seen.epoch {
          continue
        }
        note(seen, by: process, at: .name(name))
      }
    }
  }

  /// A process that is remembered at a place has seen a newer epoch of it.
  mutating func move(_ process: Int32, at place: Place, to epoch: Epoch, isAbsent: Bool = false) {
    guard let known = seen(by: process, at: place) else { return }
    note(Seen(epoch: epoch, time: known.time, isAbsent: isAbsent), by: process, at: place)
  }

  /// Notes which process saved a file or set attributes of it: when a version takes that, it is what the process has
  /// seen. One that never looked at the file or at one of its names is not remembered.
  mutating func noteSaver(_ process: Int32, of number: InodeNumber, names: [InodeName]) {
    // Most programs that save have looked at nothing.
    guard recent.oldest[process] != nil || older.oldest[process] != nil else { return }
    var known = seen(by: process, at: .file(number))
    for name in names where known == nil { known = seen(by: process, at: .name(name)) }
    if let known { savers[number, default: [:]][process] = known.time }
  }

  /// A cut took what is pending of a file: who saved it has seen what the cut made of it.
  mutating func taken(_ number: InodeNumber, as epoch: Epoch) {
    for (process, time) in savers.removeValue(forKey: number) ?? [:] {
      note(Seen(epoch: epoch, time: time), by: process, at: .file(number))
    }
  }

  /// Forgets everything, as a switch does.
  mutating func forgetAll() { self = WriterMemory() }
}
