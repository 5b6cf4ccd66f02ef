import Inodes
import LLVSCore
import TreeNames

/// The names at which the trees of two heads differ, and the recorded tree before.
struct HeadDifference {
  /// A path, and what the recorded tree had there.
  struct Name {
    var path: TreePath
    /// The kinds in the trees; nil for nothing.
    var before: EntryKind?
    var after: EntryKind?
    /// True unless both are files of equal bytes.
    var hasOtherBytes: Bool
    /// False if only the place of the content in the store differs.
    var hasOtherContent: Bool
    /// The name, if its directory existed before.
    var place: InodeName?
    var inode: InodeNumber?

    init(_ change: PathChange, place: InodeName? = nil, inode: InodeNumber? = nil) {
      (path, before, after) = (change.path, change.before?.kind, change.after?.kind)
      (hasOtherBytes, hasOtherContent) = (change.hasOtherBytes, change.changesContent)
      (self.place, self.inode) = (place, inode)
    }
  }

  private(set) var names: [Name] = []
  /// The names at which the head differs from the version that took what programs saw.
  private(set) var foreign: [ForeignName] = []
  /// The directories that the head removes, as recorded before.
  private(set) var removed: [(number: InodeNumber, node: PendingNode)] = []
  /// The inodes that changed names of the recorded tree had before, nil for none. Where a directory gets another number,
  /// its names change though their paths do not differ.
  var changedNames: [InodeName: InodeNumber?] = [:]
  init() {}

  /// Finds the names while the recorded tree still shows the first head.
  /// - Throws: ``StoreError`` if a map or the recorded tree cannot be read.
  /// - Complexity: O(*k* log *n*) for *k* names.
  init(from before: TreeView, to after: TreeView, over base: any Base) throws(StoreError) {
    var paths = DirectoryPaths(base)
    var diff = try PathDiff(from: before, to: after)
    var seen: Set<TreePath> = []
    while let step = try diff.next() {
      let change = step.change
      // A path that is removed and added is reported once.
      guard seen.insert(change.path).inserted else { continue }
      var name = Name(change)
      if let directory = try paths.number(of: change.path.parent) {
        let place = InodeName(directory: directory, name: change.path.name)
        name.place = place
        let inode = try base.child(of: directory, named: place.name)?.inode
        name.inode = inode?.number
        if let inode, name.before == .directory, name.after != .directory {
          removed.append((inode.number, PendingNode(removed: inode.record)))
        }
      }
      names.append(name)
    }
  }

  /// Adds names of `files`, taken by a cut into `own`, where the head has the bytes that were recorded before.
  /// `base` is the recorded tree before the head, `prepared` the head's with its new numbers.
  /// - Throws: ``StoreError`` if a map or the recorded tree cannot be read.
  mutating func addReplaced(
    _ files: [(names: [InodeName], paths: [TreePath], number: InodeNumber)], own: TreeView,
    after: TreeView, over base: any Base, _ prepared: any Base
  ) throws(StoreError) {
    let known = Set(names.compactMap(\.place))
    for file in files {
      for (place, path) in zip(file.names, file.paths) where !known.contains(place) {
        let numbers = try [base, prepared].map { (base) throws(StoreError) in
          try base.child(of: place.directory, named: place.name)?.inode.number
        }
        guard numbers[0] == file.number, numbers[1] != file.number else { continue }
        let change = PathChange(
          path: path, before: try own.find(path: path.bytes),
          after: try after.find(path: path.bytes))
        names.append(Name(change, place: place, inode: file.number))
      }
    }
  }

  /// Finds the names at which the head differs from the version that took what programs saw: one next to the head,
  /// or `own`, which the cut made on the head before; nil if it made none. `frozen` has the changes at the cut's
  /// instant, `base` is the recorded tree before the head.
  /// - Throws: ``StoreError`` if a map or the recorded tree cannot be read.
  /// - Complexity: O(*k* log *n*) for *k* names.
  mutating func findForeign(
    since own: TreeView?, after: TreeView, _ hints: NumberHints, frozen: Overlay,
    over base: any Base
  ) throws(StoreError) {
    guard let own else {
      for name in names where name.hasOtherContent {
        foreign.append(ForeignName(path: name.path, place: name.place, recorded: name.inode))
      }
      return
    }
    var shown = DirectoryPaths(base, frozen)
    var recorded = DirectoryPaths(base)
    try hints.forEachForeignPath(from: own, to: after) { (path) throws(StoreError) in
      var directory = try shown.number(of: path.parent)
      if directory == nil { directory = try recorded.number(of: path.parent) }
      guard let directory else { return foreign.append(ForeignName(path: path)) }
      let place = InodeName(directory: directory, name: path.name)
      let inode = try base.child(of: directory, named: path.name)?.inode.number
      foreign.append(ForeignName(path: path, place: place, recorded: inode))
    }
  }

  /// The paths at which the head differs from the version that took what programs saw.
  var changedPaths: ChangedPaths {
    var paths = ChangedPaths()
    for name in foreign { paths.insert(name.path) }
    return paths
  }

  var changesPatterns: Bool { names.contains { $0.path.name.bytes == IgnoreScope.fileName } }

  /// The files that may lose names to the head.
  var left: [InodeNumber] {
    names.compactMap { name in
      guard name.place != nil, let before = name.before, before != .directory else { return nil }
      return name.inode
    }
  }

  /// The directories that the head removes, by path.
  var lost: [TreePath: InodeNumber] {
    var lost: [TreePath: InodeNumber] = [:]
    for name in names where name.before == .directory && name.after != .directory {
      lost[name.path] = name.inode
    }
    return lost
  }

  /// Returns the directories that programs see at the paths of removed ones.
  /// - Throws: ``StoreError`` if the recorded tree cannot be read.
  func found(
    besides earlier: [TreePath], over base: any Base, _ overlay: Overlay
  ) throws(StoreError) -> [TreePath: InodeNumber] {
    var paths = DirectoryPaths(base, overlay)
    var found: [TreePath: InodeNumber] = [:]
    for path in earlier + lost.keys { found[path] = try paths.number(of: path) }
    return found
  }

  /// Returns what changed for programs; the recorded tree shows the new head.
  /// - Throws: ``StoreError`` if the recorded tree cannot be read.
  func changes(
    _ publication: Checkout.Publication, over base: any Base
  ) throws(StoreError) -> HeadChanges {
    let (before, after) = (publication.before, publication.after)
    var told = ToldNames(before: before, after: after, base: base)
    var paths = DirectoryPaths(base)
    var shown: [ShownChange] = []
    for name in names {
      var place = name.place
      var isOther = false
      if let old = name.place { isOther = try told.compare(old, recorded: .some(name.inode)) }
      if let directory = try paths.number(of: name.path.parent) {
        let new = InodeName(directory: directory, name: name.path.name)
        if new != name.place { isOther = try told.compare(new, recorded: nil) }
        place = new
      }
      guard isOther, shown.count < ShownChange.most, let place, after.changes[place] == nil
      else { continue }
      shown.append(ShownChange(name, at: place, before))
    }
    try after.changes.forEachDifference(from: before.changes) {
      (place, old, new) throws(StoreError) in
      guard new == nil || old?.inode != new?.inode else { return }
      try told.compare(place, recorded: nil)
      if new == nil, place.isAside { try told.compare(place.own, recorded: nil) }
    }
    for (place, old) in changedNames { try told.compare(place, recorded: .some(old)) }
    // Only the numbers at these names changed.
    for (old, new) in publication.renumbered {
      let names = try base.names(of: new)
      for name in names { try told.compare(name, recorded: .some(old)) }
    }
    var changes = HeadChanges()
    changes.notices = told.notices
    changes.shown = shown
    return changes
  }
}

/// The numbers of directories by path, in a recorded tree with or without changes over it.
private struct DirectoryPaths {
  private static let limit = 50_000
  private let base: any Base
  private let overlay: Overlay?
  private var known: [TreePath: InodeNumber?] = [:]
  init(_ base: any Base, _ overlay: Overlay? = nil) { (self.base, self.overlay) = (base, overlay) }

  mutating func number(of path: TreePath) throws(StoreError) -> InodeNumber? {
    if path.isRoot { return .root }
    if let number = known[path] { return number }
    var number: InodeNumber?
    if let above = try self.number(of: path.parent) {
      let place = InodeName(directory: above, name: path.name)
      if let overlay, case .pending(let inode) = overlay.shown(at: place) {
        if let inode, overlay.nodes.kind(of: inode) == .directory { number = inode }
      } else {
        let entry = try base.child(of: above, named: path.name)
        if let entry, entry.inode.record.isDirectory { number = entry.inode.number }
      }
    }
    if known.count >= Self.limit { known.removeAll() }
    known[path] = .some(number)
    return number
  }
}

/// Compares names before and after a head, and collects the kernel's notices.
private struct ToldNames {
  let before: Overlay
  let after: Overlay
  let base: any Base
  private(set) var names: [InodeName] = []
  private var known: Set<InodeName> = []
  private var attributes: Set<InodeNumber> = []
  private var listings: Set<InodeNumber> = []

  init(before: Overlay, after: Overlay, base: any Base) {
    (self.before, self.after, self.base) = (before, after, base)
  }

  var notices: [KernelNotice] {
    names.map { .name($0) } + attributes.union(listings).sorted().map { .attributes($0) }
      + listings.sorted().map { .listing($0) }
  }

  /// Returns true if a name shows something else; `recorded` is the inode recorded before, nil if unknown.
  @discardableResult
  mutating func compare(_ place: InodeName, recorded: InodeNumber??) throws(StoreError) -> Bool {
    guard known.insert(place).inserted else { return false }
    let old: InodeNumber??
    if case .pending(let number) = before.shown(at: place) {
      old = .some(number)
    } else {
      old = recorded
    }
    let new = try after.inode(at: place, over: base)
    if let old, old == new {
      // The cut took what programs see of a pending inode.
      guard let number = new, !(before.nodes[number]?.isPending ?? false) else { return false }
      attributes.insert(number)
      return true
    }
    attributes.formUnion([new, old ?? nil].compactMap(\.self))
    names.append(place)
    listings.insert(place.directory)
    return true
  }
}

extension PendingNode {
  fileprivate init(removed record: InodeRecord) {
    self.init(
      kind: record.kind, attributes: record.attributes, changed: record.changed, names: [],
      stamp: .start)
    attributes.mtime = record.shownTime ?? attributes.mtime ?? record.changed
    lacksExtended = record.lacksExtended
  }
}

extension ShownChange {
  /// `pending` is the overlay before the head.
  fileprivate init(_ name: HeadDifference.Name, at place: InodeName, _ pending: Overlay) {
    var before = name.before
    if case .pending(let number) = pending.shown(at: place) {
      before = number.flatMap { pending.nodes[$0]?.kind }
    }
    self.init(
      path: name.path, directory: place.directory, before: before, after: name.after,
      hasOtherBytes: name.hasOtherBytes)
  }
}

extension TreeView.Found {
  fileprivate var kind: EntryKind {
    switch self {
    case .value(let entry): entry.kind
    case .directory: .directory
    }
  }
}

extension PathChange {
  /// True unless both are files of equal bytes.
  fileprivate var hasOtherBytes: Bool {
    guard case .value(let old)? = before, case .value(let new)? = after
    else { return before?.kind != .directory || after?.kind != .directory }
    return FileIdentity(old) != FileIdentity(new)
  }
}
