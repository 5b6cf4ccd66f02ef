import LLVSCore
import Platform
import Synchronization
import TreeNames
import WorkingTree

// `conflicts/PATH/{base,ours,theirs,theirs.2}`: the sides of open conflicts. A component with one of these
// names, possibly after `%llvs%`, is shown with one more `%llvs%` before it. `merged` is the merge by line with
// markers; saved without markers, it settles the conflict (WritablePlace). rmdir of PATH settles it with the tree's
// value. The files disappear with their directory, so removing them first, as rm -r does, changes nothing. A value
// whose path a directory has taken is shown with `ours` alone, and cannot be settled here.

final class ConflictDirectories: Sendable {
  struct Shown: Sendable {
    var path: [UInt8]
    var conflict: ValueConflict
  }

  struct State {
    var head: VersionNumber?
    var shown: [Shown] = []
    /// The head whose conflicts were looked up at single paths, and the number of look-ups.
    var part: (head: VersionNumber, count: Int)?
    /// Directories whose last conflict rmdir settled, and the time until which they still exist for rm -r.
    var emptied: [[UInt8]: UInt64] = [:]
    /// The merged texts of ``mergedHead``; nil for values that are no text.
    var merged: [[UInt8]: [UInt8]?] = [:]
    var mergedHead: VersionNumber?
    /// The places in which `merged` is edited.
    var places: [[UInt8]: WritablePlace] = [:]
  }

  /// After this many look-ups at single paths of a head all its conflicts are read.
  static let partLimit = 64
  static let placeLimit = 256
  let budget = MemoryBudget(limit: 256 << 20)

  // A leaf lock.
  let state = Mutex(State())
}

extension MetaTree {
  private static let emptiedTime: UInt64 = 5_000_000_000

  /// Returns the open conflicts of the shown head at and below a path, in the order of ``PathFilter/precedes(_:_:)``.
  ///
  /// Each removal of a conflict's directory makes a new head, so at first single paths of a new head are looked up
  /// separately.
  func shownConflicts(
    atOrBelow path: [UInt8] = []
  ) throws(FSError) -> [ConflictDirectories.Shown] {
    guard let head = live.shownHead else { return [] }
    let (known, isPart) = conflicts.state.withLock { state in
      if state.head == head { return (state.shown as [ConflictDirectories.Shown]?, false) }
      let count = state.part?.head == head ? (state.part?.count ?? 0) + 1 : 1
      state.part = (head, count)
      return (nil, !path.isEmpty && count < ConflictDirectories.partLimit)
    }
    var all = known ?? []
    if known == nil { all = try foundConflicts(of: head, atOrBelow: isPart ? path : []) }
    if known == nil, !isPart {
      conflicts.state.withLock { state in
        state.head = head
        state.shown = all
      }
    }
    guard !path.isEmpty else { return all }
    let start = all.partitioningIndex { !PathFilter.precedes($0.path, path) }
    return Array(all[start...].prefix { PathFilter.isAtOrBelow($0.path, path) })
  }

  private func foundConflicts(
    of head: VersionNumber, atOrBelow path: [UInt8]
  ) throws(FSError) -> [ConflictDirectories.Shown] {
    let view = try snapshots.snapshot(head).view
    let shown = try FSError.wrapping { () throws(StoreError) in
      var shown: [ConflictDirectories.Shown] = []
      let isNear = TreeView.mayBeShown(atOrBelow: path)
      for conflict in try store.openConflicts(at: head, where: isNear) {
        shown.append(
          ConflictDirectories.Shown(path: try view.path(of: conflict.key), conflict: conflict))
      }
      return shown
    }
    // A value in a conflict already has an `ours`.
    let clashed = Set(shown.map(\.conflict.key))
    let displaced = try services.displacedValues(at: head).filter {
      !clashed.contains($0.entry.key)
    }
    .map { value in
      ConflictDirectories.Shown(
        path: value.path,
        conflict: ValueConflict(
          key: value.entry.key, base: nil, ours: value.entry, theirs: []))
    }
    return (shown + displaced).sorted { PathFilter.precedes($0.path, $1.path) }
  }

  private struct ConflictFile {
    var name: [UInt8]
    var entry: Entry
    /// A version that has the entry; for a base, the one that stored its bytes.
    var version: VersionNumber

    /// A number by revision would show the same attributes in every version.
    var found: Found {
      var found = MetaTree.found(entry, in: version)
      found.numbering = .other
      return found
    }
  }

  private func files(_ conflict: ValueConflict) -> [ConflictFile] {
    var files: [ConflictFile] = []
    func add(_ name: String, _ entry: Entry, _ version: VersionNumber) {
      files.append(ConflictFile(name: Array(name.utf8), entry: entry, version: version))
    }
    if let base = conflict.base { add("base", base, base.storedVersion) }
    if let ours = conflict.ours { add("ours", ours, live.shownHead ?? ours.storedVersion) }
    for (index, revision) in conflict.theirs.enumerated() {
      guard let entry = revision.entry else { continue }
      add(ConflictTexts.name(ofTheirs: index), entry, revision.version.number)
    }
    return files
  }

  package static func conflictDirectory(of path: [UInt8]) -> [UInt8] {
    Array(
      path.split(separator: 0x2F, omittingEmptySubsequences: false)
        .map { isOwnName($0) ? DisplacedName.prefix + $0 : Array($0) }.joined(separator: [0x2F]))
  }

  static func isOwnName(_ name: some Collection<UInt8>) -> Bool {
    var rest = Array(name)
    while rest.starts(with: DisplacedName.prefix) { rest.removeFirst(DisplacedName.prefix.count) }
    switch String(decoding: rest, as: UTF8.self) {
    case "base", "ours", "theirs", "merged": return true
    case let text:
      return text.hasPrefix("theirs.") && text.dropFirst(7).allSatisfy(\.isNumber)
    }
  }

  func conflictChild(of path: [UInt8], named name: [UInt8]) throws(FSError) -> Found? {
    var component = name
    if Self.isOwnName(name) {
      if name == WritablePlace.mergedName { return try mergedChild(of: path, named: name) }
      guard name.starts(with: DisplacedName.prefix) else {
        let here = try shownConflicts(atOrBelow: path).first { $0.path == path }
        return here.flatMap { files($0.conflict).first { $0.name == name }?.found }
      }
      component.removeFirst(DisplacedName.prefix.count)
    }
    let child = joined(path, component)
    if try shownConflicts(atOrBelow: child).isEmpty {
      let now = SystemClock.monotonic()
      let isKnown = conflicts.state.withLock { ($0.emptied[child] ?? 0) > now }
      guard isKnown || knownPlace(of: child)?.isBusy == true else {
        return try mergedChild(of: path, named: name)
      }
    }
    return Found(.conflicts(path: child))
  }

  func conflictNames(of path: [UInt8]) throws(FSError) -> [MetaListing.Name] {
    var names: [MetaListing.Name] = []
    var components: Set<[UInt8]> = []
    for item in try shownConflicts(atOrBelow: path) {
      guard item.path != path else {
        names += files(item.conflict).map { file in
          MetaListing.Name(
            name: file.name, kind: file.entry.kind, numbering: .other, found: file.found)
        }
        if let place = try mergedPlace(of: path) { names += try writableNames(place) }
        continue
      }
      let rest = path.isEmpty ? item.path[...] : item.path.dropFirst(path.count + 1)
      components.insert(Array(rest.prefix { $0 != 0x2F }))
    }
    for component in components.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      let name = Self.isOwnName(component) ? DisplacedName.prefix + component : component
      names.append(
        MetaListing.Name(
          name: name, kind: .directory, numbering: .directory,
          found: Found(.conflicts(path: joined(path, component)))))
    }
    return names
  }

  /// Settles the conflict at a path with the tree's value; ``FSError/notEmpty`` with conflicts below it.
  func settle(_ path: [UInt8]) throws(FSError) {
    let shown = try shownConflicts(atOrBelow: path)
    guard !shown.contains(where: { $0.path != path }) else { throw .notEmpty }
    if !shown.isEmpty { try services.settle(path) }
    let now = SystemClock.monotonic()
    let left = conflicts.state.withLock { state in
      defer { state.places[path] = nil }
      state.emptied = state.emptied.filter { $0.value > now }
      state.emptied[path] = nil
      var above = path
      while let slash = above.lastIndex(of: 0x2F), state.emptied.count < 256 {
        above = Array(above[..<slash])
        state.emptied[above] = now + Self.emptiedTime
      }
      return state.places[path]
    }
    left?.leave()
  }
}
