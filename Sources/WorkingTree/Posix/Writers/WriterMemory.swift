import Inodes

/// The processes that opened files for reading, and those of them that a head left behind (docs/writes.md, rule 7).
///
/// A process that is behind at a name has a *mark* there: the epoch of the version that had what the process saw last.
/// The marks outlive the other pairs, and only they cost a look into /proc.
struct WriterMemory {
  /// A file, or a name that a file has left.
  private enum Place: Hashable {
    case file(InodeNumber)
    case name(InodeName)
  }

  private struct Mark {
    var epoch: Epoch
    /// The nanoseconds since the kernel started at which the process looked. One that began later is another process
    /// of the same number.
    var time: UInt64
  }

  /// The times, in nanoseconds since the kernel started, at which processes looked.
  private var readers = RecentPairs<Place, UInt64>()
  private var marks = RecentPairs<InodeName, Mark>()
  /// The processes with marks, and others of which these were removed.
  private var marked: Set<Int32> = []
  /// The times at which processes with marks began.
  private var starts: [Int32: UInt64] = [:]

  /// The directories that heads removed and in which processes have marks, by their paths.
  private(set) var lost: [TreePath: InodeNumber] = [:]

  /// The number of pairs, some perhaps twice.
  var count: Int { readers.count + marks.count }

  // MARK: - Asking

  /// True if a process may be behind at a name: the caller finds when it began, and calls ``began(_:at:)``.
  func isDoubtful(_ process: Int32) -> Bool { marked.contains(process) }

  /// Notes when a process began.
  mutating func began(_ process: Int32, at time: UInt64) { starts[process] = time }

  /// Returns the epoch of the version that a process saw last at a name; nil if it is up to date, or never looked.
  func mark(_ process: Int32, at name: InodeName) -> Epoch? {
    guard marked.contains(process), let mark = marks.value(process, at: name),
      mark.time >= starts[process] ?? 0
    else { return nil }
    return mark.epoch
  }

  /// The epochs of the marks at a name.
  func epochs(at name: InodeName) -> Set<Epoch> { Set(marks.values(at: name).values.map(\.epoch)) }

  /// The epochs of all marks.
  var epochs: Set<Epoch> {
    var epochs: Set<Epoch> = []
    marks.forEach { epochs.insert($1.epoch) }
    return epochs
  }

  // MARK: - Noting

  /// Notes that a process opened a file for reading, at a time since the kernel started; it is up to date at the
  /// file's names, which may be left out for a process without marks.
  mutating func note(
    _ process: Int32, reading number: InodeNumber, names: [InodeName] = [], at time: UInt64
  ) {
    guard process != 0 else { return }
    readers.set(time, process, at: .file(number))
    guard marked.contains(process) else { return }
    for name in names { marks.remove(process, at: name) }
  }

  /// Notes that a process replaced, emptied or cut a file at some names, or made one: it goes on from that.
  mutating func note(_ process: Int32, replacing names: [InodeName]) {
    guard marked.contains(process) else { return }
    for name in names {
      guard let mark = marks.remove(process, at: name) else { continue }
      readers.set(mark.time, process, at: .name(name))
    }
  }

  /// Notes that a program took a name from a file: those who have seen it there remember the name.
  mutating func leave(_ name: InodeName, by number: InodeNumber) {
    for (process, time) in readers.values(at: .file(number)) {
      readers.set(time, process, at: .name(name))
    }
  }

  /// Notes that a head shows something else at a name: those who have seen what was there are behind.
  ///
  /// - Parameters:
  ///   - name: the name.
  ///   - number: the file that was shown there; nil for nothing.
  ///   - epoch: the epoch of the version that had it.
  mutating func leaveBehind(_ name: InodeName, _ number: InodeNumber?, on epoch: Epoch) {
    var behind = readers.values(at: .name(name))
    if let number { behind.merge(readers.values(at: .file(number))) { max($0, $1) } }
    readers.removeAll(at: .name(name))
    for (process, time) in behind where marks.value(process, at: name) == nil {
      marks.set(Mark(epoch: epoch, time: time), process, at: name)
      marked.insert(process)
    }
  }

  /// Notes that a process looks at what a name showed in the version of an epoch.
  mutating func leaveBehind(
    _ process: Int32, at name: InodeName, on epoch: Epoch, at time: UInt64
  ) {
    marks.set(Mark(epoch: epoch, time: time), process, at: name)
    marked.insert(process)
  }

  /// Notes that a head brings a file to a name. Processes that have seen the same there are up to date again; `isSame`
  /// tells whether the version of an epoch has it too.
  mutating func bringBack(_ name: InodeName, _ number: InodeNumber?, isSame: (Epoch) -> Bool) {
    for (process, mark) in marks.values(at: name) where isSame(mark.epoch) {
      marks.remove(process, at: name)
      readers.set(mark.time, process, at: number.map { .file($0) } ?? .name(name))
    }
  }

  /// Notes that a head removed directories.
  mutating func lose(_ directories: [TreePath: InodeNumber]) {
    guard !directories.isEmpty, !marks.isEmpty else { return }
    let marked = Set(marks.places.map(\.directory))
    lost.merge(directories.filter { marked.contains($0.value) }) { $1 }
  }

  /// Notes that directories are at the paths of lost ones: they have other numbers, and the marks in them stay.
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

  /// True if any process looked at a name or at the file there, so that a head which changes the name has to be noted.
  func knows(_ name: InodeName, _ number: InodeNumber?) -> Bool {
    !readers.values(at: .name(name)).isEmpty || !marks.values(at: name).isEmpty
      || number.map { !readers.values(at: .file($0)).isEmpty } ?? false
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
