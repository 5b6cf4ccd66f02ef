import Inodes
import LLVSCore
import TreeNames

/// Changes the rows of one map's tree into those of another map's, in an open transaction.
///
/// The second map says what is where; the numbers of the working tree and the rows say which inode it is. A file
/// keeps its number at a path or under its key, if kind, bytes and device stay; a directory while it exists.
///
/// INVARIANT I2: names share a number exactly if they carry one link id and equal entries.
/// INVARIANT I10: rows change here alone, in one transaction that also sets the state.
final class Advance {
  let rows: TreeRows
  let after: TreeView
  let numbers: NumberSource
  let now: Attributes.Time
  let time: (VersionNumber?) -> Attributes.Time
  let before: TreeView
  let hints: NumberHints
  private var hintsByPath: [TreePath: Int]
  private var hintsByNumber: [InodeNumber: Int]
  /// The changes of the number of names.
  var values: Int64 = 0
  var directories: Int64 = 0
  /// The paths at and below which all is compared with the map, because hints moved directories there or away.
  var roots: Set<TreePath> = []
  /// The numbers of directories by path, to save look-ups.
  var known: [TreePath: InodeNumber] = [:]
  var nameless: Set<InodeNumber> = []
  /// The inodes of names that were removed before another inode comes there.
  var numberByPath: [TreePath: InodeNumber] = [:]
  var numberByKey: [Key: InodeNumber] = [:]
  /// Hinted numbers that stay at a name where the map does not change.
  var usedNumbers: Set<InodeNumber> = []
  /// The numbers that changed names had before; nil for none.
  private(set) var changedNames: [InodeName: InodeNumber?] = [:]
  /// The paths at which files show the working tree's times already.
  var timed: Set<TreePath> = []
  /// The cookies that the working tree gave to names, by directory.
  var givenCookies: [InodeNumber: GivenCookies] = [:]
  private static let knownDirectories = 50_000

  init(
    rows: TreeRows, from before: TreeView, to after: TreeView, numbers: NumberSource,
    hints: NumberHints, now: Attributes.Time, time: @escaping (VersionNumber?) -> Attributes.Time
  ) {
    self.rows = rows
    self.before = before
    self.after = after
    self.numbers = numbers
    self.hints = hints
    self.now = now
    self.time = time
    hintsByPath = Dictionary(minimumCapacity: hints.files.count)
    hintsByNumber = Dictionary(minimumCapacity: hints.files.count)
    for (index, file) in hints.files.enumerated() {
      hintsByNumber[file.number] = index
      for path in file.paths { hintsByPath[path] = index }
    }
  }

  /// Returns the working tree's file at a path, if the cut took it.
  func hint(at path: TreePath) -> NumberHints.File? { hintsByPath[path].map { hints.files[$0] } }

  /// Returns the working tree's file with a number, if the cut took it.
  func hint(for number: InodeNumber) -> NumberHints.File? {
    hintsByNumber[number].map { hints.files[$0] }
  }

  /// Takes O(*k* log *n*) for *k* paths that differ, and those below moved directories.
  func run() throws {
    try splitMovedFiles()
    try moveDirectories()
    let roots = topmostRoots()
    for root in roots { try removeWhatDiffers(at: root) }
    var diff = try PathDiff(from: before, to: after)
    while let step = try diff.next() {
      switch step {
      case .gone(let change): if !isBelowRoot(change.path) { try remove(change) }
      case .come(let change), .changed(let change): if !isBelowRoot(change.path) { try put(change) }
      }
    }
    for root in roots { try putWhatDiffers(at: root) }
    try placeHintedFiles()
    try removeNameless()
    try setDirectoryTimes()
    try keepTimes(besides: try pathsOfOthers())
  }

  func directory(at path: TreePath) throws -> InodeNumber? {
    if path.isRoot { return .root }
    if let number = known[path] { return number }
    guard let parent = try directory(at: path.parent),
      let entry = try rows.child(of: parent, named: path.name), entry.inode.record.isDirectory
    else { return nil }
    remember(entry.inode.number, at: path)
    return entry.inode.number
  }

  func remember(_ number: InodeNumber, at path: TreePath) {
    if known.count >= Self.knownDirectories { known.removeAll() }
    known[path] = number
  }

  func entry(at path: TreePath) throws -> BaseEntry? {
    guard let parent = try directory(at: path.parent) else { return nil }
    return try rows.child(of: parent, named: path.name)
  }

  func noteChange(
    of name: @autoclosure () throws -> FileName, in directory: InodeNumber, from old: InodeNumber?
  ) throws {
    // Programs see all of it already.
    if hints.isOwn { return }
    let place = InodeName(directory: directory, name: try name())
    if changedNames[place] == nil { changedNames[place] = .some(old) }
  }

  func isNameless(_ number: InodeNumber) throws -> Bool {
    guard number != .root, let row = try rows.inode(number) else { return true }
    return row.place == nil
  }

  /// Removes the inodes without a name, and the contents of directories among them.
  func removeNameless() throws {
    while !nameless.isEmpty {
      let numbers = nameless.sorted()
      nameless = []
      for number in numbers {
        guard let row = try rows.inode(number), row.place == nil else { continue }
        // Entries of the directory may have no name after this.
        if row.inode.record.isDirectory { try empty(number) }
        try rows.remove(number, row.inode.record)
      }
    }
  }

  func empty(_ directory: InodeNumber) throws {
    try forEachEntry(of: directory) { entry in
      try take(
        entry.inode.number, from: InodePlace(parent: directory, cookie: entry.cookie),
        isDirectory: entry.inode.record.isDirectory)
    }
  }
}
