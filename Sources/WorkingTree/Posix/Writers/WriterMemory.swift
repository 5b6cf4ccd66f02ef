import Inodes

/// The processes that opened files for reading, and which of them a head left behind (docs/writes.md, rule 7).
///
/// A process that is behind at a name has a *mark* there: the epoch of the version that it saw last. Marks outlive
/// the other pairs, and only they require reading /proc.
struct WriterMemory {
  private struct Mark {
    var epoch: Epoch
    /// When the process read, in nanoseconds since boot. A process that began later is another one with its number.
    var time: UInt64
  }

  /// When processes read files, in nanoseconds since boot.
  private var fileReaders = RecentPairs<InodeNumber, UInt64>()
  /// When processes read the files that had names.
  private var nameReaders = RecentPairs<InodeName, UInt64>()
  private var marks = RecentPairs<InodeName, Mark>()
  /// The processes that have or had marks.
  private var marked: Set<Int32> = []
  /// The start times of processes with marks.
  private var starts: [Int32: UInt64] = [:]
  /// The directories that heads removed and in which processes have marks, by path.
  private(set) var lost: [TreePath: InodeNumber] = [:]
  /// The number of pairs; some may count twice.
  var count: Int { fileReaders.count + nameReaders.count + marks.count }
  /// True if a process may be behind: the caller finds its start time, and calls ``began(_:at:)``.
  func isDoubtful(_ process: Int32) -> Bool { marked.contains(process) }
  mutating func began(_ process: Int32, at time: UInt64) { starts[process] = time }

  /// Returns the epoch of the version that a process saw last at a name; nil if it is up to date, or never read it.
  func mark(_ process: Int32, at name: InodeName) -> Epoch? {
    guard marked.contains(process), let mark = marks.value(process, at: name),
      mark.time >= starts[process] ?? 0
    else { return nil }
    return mark.epoch
  }

  func hasRead(_ process: Int32, _ number: InodeNumber) -> Bool {
    fileReaders.value(process, at: number) != nil
  }

  func epochs(at name: InodeName) -> Set<Epoch> { Set(marks.values(at: name).values.map(\.epoch)) }

  var epochs: Set<Epoch> {
    var epochs: Set<Epoch> = []
    marks.forEach { epochs.insert($1.epoch) }
    return epochs
  }

  /// Notes that a process opened a file for reading, which makes it up to date at `names`; without marks they may
  /// be omitted.
  mutating func note(
    _ process: Int32, reading number: InodeNumber, names: [InodeName] = [], at time: UInt64
  ) {
    guard process != 0 else { return }
    fileReaders.set(time, process, at: number)
    guard marked.contains(process) else { return }
    for name in names { marks.remove(process, at: name) }
  }

  /// Notes that a process replaced, truncated or made a file at some names: it is up to date there.
  mutating func note(_ process: Int32, replacing names: [InodeName]) {
    guard marked.contains(process) else { return }
    for name in names {
      guard let mark = marks.remove(process, at: name) else { continue }
      nameReaders.set(mark.time, process, at: name)
    }
  }

  /// Notes that a program removed a name of a file: the processes that read the file there remember the name.
  mutating func leave(_ name: InodeName, by number: InodeNumber) {
    for (process, time) in fileReaders.values(at: number) {
      nameReaders.set(time, process, at: name)
    }
  }

  /// Notes that a head shows another file than `number`, which the version of `epoch` had: its readers are behind.
  mutating func leaveBehind(_ name: InodeName, _ number: InodeNumber?, on epoch: Epoch) {
    var behind = nameReaders.values(at: name)
    if let number { behind.merge(fileReaders.values(at: number)) { max($0, $1) } }
    nameReaders.removeAll(at: name)
    for (process, time) in behind where marks.value(process, at: name) == nil {
      marks.set(Mark(epoch: epoch, time: time), process, at: name)
      marked.insert(process)
    }
  }

  /// Notes that a process sees what a name showed in the version of an epoch.
  mutating func leaveBehind(
    _ process: Int32, at name: InodeName, on epoch: Epoch, at time: UInt64
  ) {
    marks.set(Mark(epoch: epoch, time: time), process, at: name)
    marked.insert(process)
  }

  /// Notes that a head brings a file to a name: processes that saw the same there are up to date. `isSame` tells
  /// whether the version of an epoch has it too.
  mutating func bringBack(_ name: InodeName, _ number: InodeNumber?, isSame: (Epoch) -> Bool) {
    for (process, mark) in marks.values(at: name) where isSame(mark.epoch) {
      marks.remove(process, at: name)
      if let number {
        fileReaders.set(mark.time, process, at: number)
      } else {
        nameReaders.set(mark.time, process, at: name)
      }
    }
  }

  mutating func lose(_ directories: [TreePath: InodeNumber]) {
    guard !directories.isEmpty, !marks.isEmpty else { return }
    let marked = Set(marks.places.map(\.directory))
    lost.merge(directories.filter { marked.contains($0.value) }) { $1 }
  }

  /// Notes the new directories at the paths of lost ones: their numbers differ, and the marks stay.
  mutating func find(_ directories: [TreePath: InodeNumber]) {
    var found: [InodeNumber: InodeNumber] = [:]
    for (path, number) in directories {
      guard let old = lost[path], old != number else { continue }
      found[old] = number
      lost[path] = nil
    }
    guard !found.isEmpty else { return }
    marks.move { place in
      found[place.directory].map { InodeName(directory: $0, name: place.name) }
    }
  }

  /// True if any process read the name or its file, so that a head must note a change of the name.
  func knows(_ name: InodeName, _ number: InodeNumber?) -> Bool {
    !nameReaders.values(at: name).isEmpty || !marks.values(at: name).isEmpty
      || number.map { !fileReaders.values(at: $0).isEmpty } ?? false
  }

  /// Forgets the processes without marks.
  mutating func tidy() {
    guard !marked.isEmpty else { return }
    marked = []
    marks.forEach { process, _ in marked.insert(process) }
    starts = starts.filter { marked.contains($0.key) }
    let directories = Set(marks.places.map(\.directory))
    lost = lost.filter { directories.contains($0.value) }
  }

  /// Forgets everything, as a switch does.
  mutating func forgetAll() { self = WriterMemory() }
}
