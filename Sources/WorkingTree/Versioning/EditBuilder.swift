import Inodes
import LLVSCore
import TreeNames

/// Turns a plan's items into edits of one predecessor's map, and stores the bytes they need.
struct EditBuilder {
  private let tree: LiveTree
  let view: TreeView
  private let source: CutSource
  private let number: VersionNumber
  private let items: [CutPlan.Item]
  /// Nodes whose bytes are stored already.
  private let stored: PlannedEntries
  /// The paths at which files are put.
  private lazy var claimed = Set(
    items.lazy.compactMap { item -> [UInt8]? in
      guard case .put(let state, _) = item.action, state.kind != .directory else { return nil }
      return item.path
    })
  /// The nodes that are put, by their numbers.
  private lazy var states: [UInt64: CutPlan.NodeState] = Dictionary(
    items.lazy.compactMap { item in
      guard case .put(let state, _) = item.action else { return nil }
      return (state.node.inode, state)
    }
  ) { first, _ in first }
  private var edits: PlannedEdits
  private var revisions: Range<UInt64> = 0..<0
  /// Entries of the plan's nodes in the new map, by inode.
  var entries: PlannedEntries { edits.entries }
  /// The nodes that the plan puts at places of the map.
  private(set) var placed: [MapPlace: UInt64] = [:]
  /// Nodes that put the same bytes and attributes under another number.
  private(set) var renumbered: Set<UInt64> = []
  /// Values that moved with a directory and are shown elsewhere than at their paths, by the paths that they
  /// had in the tree when the cut was made.
  private(set) var displacedCopies: [(path: [UInt8], entry: Entry)] = []
  /// Whether bytes that are stored already but cannot be read there were stored anew.
  private(set) var replacesDamaged = false
  /// Whether anything but inode numbers changes.
  private(set) var changesContent = false
  /// Directories without entries from which names went.
  private var thinned: [(path: [UInt8], state: CutPlan.NodeState)] = []
  /// Those that got entries, since nothing was left below them.
  private(set) var emptied: [[UInt8]] = []
  /// What the first name of a file of several names got, for the others.
  private var links: [UInt64: (stored: StoredContent, entry: Entry)] = [:]
  /// Directories in which names come or go, and those whose time was set by utimensat(2).
  private var renamedIn: Set<[UInt8]> = []
  private var timed: Set<[UInt8]> = []

  init(
    tree: LiveTree, view: TreeView, source: CutSource, number: VersionNumber,
    items: [CutPlan.Item], stored: PlannedEntries = PlannedEntries()
  ) {
    self.tree = tree
    self.view = view
    self.source = source
    self.number = number
    self.items = items
    self.stored = stored
    edits = PlannedEdits(capacity: items.count)
    placed.reserveCapacity(items.count)
  }

  /// The edits in the map's order, without those that change nothing.
  func sortedEdits() -> SortedEdits { edits.sorted() }

  /// Call after the last item: a directory of which nothing but names below said that it was there gets an
  /// entry where none is left, a directory's recorded time goes when a name in it came or went, and a value
  /// whose name a directory has kept parts from its file's other names, where those are changed, and from the
  /// file that went from there with its number.
  mutating func finish(keeping kept: [[UInt8]]) throws(StoreError) {
    for path in kept {
      guard var hidden = try view.map.entry(at: KeyCoding.key(ofPath: path)),
        hidden.inode != 0, entries[hidden.inode] != nil, placed[MapPlace(hidden)] == nil,
        edits[MapPlace(hidden)] == nil, try view.path(of: hidden.key) == path
      else { continue }
      hidden.inode = try source.number(for: hidden)
      edits.put(hidden, of: nil)
    }
    try keepEmptied()
    for path in renamedIn.subtracting(timed) where !path.isEmpty {
      guard case .directory(let found?)? = try view.find(path: path) else { continue }
      let place = MapPlace(found)
      var entry = found
      switch edits[place] {
      case .put(let changed)?: entry = changed
      case .remove?: continue
      case nil: break
      }
      guard entry.attributes.mtime != nil else { continue }
      entry.attributes.mtime = nil
      entry.revision = try nextRevision()
      edits.put(entry, of: entry.inode == 0 ? nil : entry.inode)
      changesContent = true
    }
  }

  /// Gives entries to directories that had none, and of which the plan takes away all that is below them.
  private mutating func keepEmptied() throws(StoreError) {
    guard !thinned.isEmpty else { return }
    // The directories in which the plan puts something, and those above them.
    var filled: Set<[UInt8]> = []
    for item in items {
      guard case .put(let state, _) = item.action, !state.isThinned else { continue }
      var path = Self.parent(of: item.path)
      while !path.isEmpty, filled.insert(path).inserted { path = Self.parent(of: path) }
    }
    // What is in another is looked at first, since that is in it.
    for (path, state) in thinned.sorted(by: { $1.path.lexicographicallyPrecedes($0.path) }) {
      guard !filled.contains(path), case .directory(nil)? = try view.find(path: path),
        try isEmptied(path)
      else { continue }
      let key = TreeView.key(ofPath: path, showing: .directory(nil), isDirectory: true)
      guard let entry = try made(of: state, at: key, old: nil, nil) else { continue }
      placed[MapPlace(entry)] = state.node.inode
      edits.put(entry, of: state.node.inode)
      emptied.append(path)
      changesContent = true
      var above = Self.parent(of: path)
      while !above.isEmpty, filled.insert(above).inserted { above = Self.parent(of: above) }
    }
  }

  /// Whether the plan takes away all that is below a directory.
  private func isEmptied(_ path: [UInt8]) throws(StoreError) -> Bool {
    var below = view.entries(below: path)
    while let (_, entry) = try below.next() {
      guard case .remove? = edits[MapPlace(entry)] else { return false }
    }
    return true
  }

  private static func parent(of path: [UInt8]) -> [UInt8] {
    path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } ?? []
  }

  /// Adds what an item of the plan changes, with what was found out for it ahead, if anything.
  mutating func add(_ item: CutPlan.Item, _ ahead: PutAhead.Work?) throws(StoreError) {
    switch item.action {
    case .removeTree:
      try removeAll(at: item.path, keepingDirectory: false)
    case .copyTree(let from, let except):
      try copy(from: from, to: item.path, except: except)
    case .put(let state, let isInPlace):
      try put(state, at: item.path, isInPlace: isInPlace, ahead)
    }
  }

  // MARK: - Removing and copying

  private mutating func remove(_ entry: Entry) {
    edits.remove(MapPlace(entry))
    changesContent = true
  }

  private mutating func removeAll(
    at path: [UInt8], keepingDirectory: Bool
  ) throws(StoreError) {
    let found = try view.find(path: path)
    if found != nil, !keepingDirectory { renamedIn.insert(Self.parent(of: path)) }
    switch found {
    case nil: return
    case .value(let entry): if !losesKey(entry, at: path) { remove(entry) }
    case .directory(let entry):
      if let entry, !keepingDirectory { remove(entry) }
      var below = view.entries(below: path)
      while let (_, inner) = try below.next() { remove(inner) }
    }
  }

  private mutating func copy(
    from source: [UInt8], to target: [UInt8], except: Set<[UInt8]>
  ) throws(StoreError) {
    let displaced = try view.displacedValues(below: source)
    var below = view.entries(below: source)
    while let (relative, entry) = try below.next() {
      var shown = relative
      if !displaced.isEmpty, !entry.isDirectory, displaced.contains(entry.key) {
        shown = Array(try view.path(of: entry.key).dropFirst(source.count + 1))
      }
      let first = shown.firstIndex(of: 0x2F).map { Array(shown[..<$0]) } ?? shown
      guard !except.contains(first) else { continue }
      var copy = entry
      // Where a file is put at its own name, a displaced value goes on at that which it is shown under.
      let keepsName = shown != relative && claimed.contains(target + [0x2F] + relative)
      copy.key = try view.key(
        forNewPath: target + [0x2F] + (keepsName ? shown : relative),
        isDirectory: entry.isDirectory)
      try part(&copy)
      keepShownTime(of: entry, in: &copy.attributes)
      if shown != relative, !keepsName {
        displacedCopies.append((target + [0x2F] + shown, copy))
      }
      copy.storedVersion = number
      copy.revision = try nextRevision()
      edits.put(copy, of: copy.inode == 0 ? nil : copy.inode)
      changesContent = true
    }
  }

  // MARK: - Putting

  private mutating func put(
    _ state: CutPlan.NodeState, at path: [UInt8], isInPlace: Bool, _ ahead: PutAhead.Work?
  ) throws(StoreError) {
    if state.isThinned { return thinned.append((path, state)) }
    let isDirectory = state.kind == .directory
    var old: Entry?
    let found = if let ahead { try ahead.found.get() } else { try view.find(path: path) }
    var key = TreeView.key(ofPath: path, showing: found, isDirectory: isDirectory)
    switch found {
    case .value(let entry)?:
      if losesKey(entry, at: path) {
        key = KeyCoding.key(ofPath: path)
      } else if isDirectory {
        // A directory that stays has not replaced what came to its name meanwhile: it is beside that where
        // something was made in it, else it is in no version.
        if isInPlace {
          guard putsSomething(in: path) else { return }
        } else {
          remove(entry)
        }
      } else {
        old = entry
      }
    case .directory(let entry)?:
      if !isDirectory || !isInPlace { try removeAll(at: path, keepingDirectory: isDirectory) }
      if isDirectory { old = entry } else { try keepDisplaced(by: state.node, at: path) }
    case nil: break
    }
    guard let entry = try made(of: state, at: key, old: old, ahead) else { return }
    let place = MapPlace(entry)
    placed[place] = state.node.inode
    if old == nil { renamedIn.insert(Self.parent(of: path)) }
    if isDirectory, state.explicitTime { timed.insert(path) }
    if let old, entry == old {
      edits.keep(entry, of: state.node.inode)
    } else {
      edits.put(entry, of: state.node.inode)
      if let old, old.hasSameContent(as: entry) {
        if old.inode != entry.inode { renumbered.insert(entry.inode) }
      } else {
        changesContent = true
      }
    }
  }

  /// What a node comes to at a key; nil for what the cut does not take.
  private mutating func made(
    of state: CutPlan.NodeState, at key: Key, old: Entry?, _ ahead: PutAhead.Work?
  ) throws(StoreError) -> Entry? {
    if case .version(let map) = source {
      return try recalled(state, at: key, in: map, old: old)
    }
    return try entry(for: state, key: key, old: old, ahead)
  }

  /// Whether the plan puts anything in a directory but attributes of what is there.
  private func putsSomething(in path: [UInt8]) -> Bool {
    items.contains { item in
      guard case .put(let state, let isInPlace) = item.action,
        state.kind != .directory || !isInPlace
      else { return false }
      return item.path.count > path.count && item.path[path.count] == 0x2F
        && item.path.starts(with: path)
    }
  }

  /// Whether a value that a directory displaced loses its key, since a file is put at its own path.
  private mutating func losesKey(_ entry: Entry, at path: [UInt8]) -> Bool {
    let own = TreeView.ownPath(entry.key)
    return own != path && claimed.contains(own)
  }

  /// A file that takes the place of a directory takes the key of the value which that directory displaced:
  /// the value goes on at the name it is shown under.
  private mutating func keepDisplaced(
    by node: LiveNode, at path: [UInt8]
  ) throws(StoreError) {
    guard var value = try view.map.entry(at: KeyCoding.key(ofPath: path)) else { return }
    let shown = try view.path(of: value.key)
    let isTaken = items.contains { $0.path == shown }
    guard shown != path, !isTaken else { return }
    value.key = KeyCoding.key(ofPath: shown)
    // A file of the plan may be that value, as it was before a merge brought the directory.
    try part(&value)
    value.storedVersion = number
    value.revision = try nextRevision()
    edits.put(value, of: value.inode)
    changesContent = true
  }

  /// Gives what goes on at another key a number of its own where the plan puts the file that had its number,
  /// unless it is one more name of that.
  private mutating func part(_ entry: inout Entry) throws(StoreError) {
    guard entry.inode != 0, let state = states[entry.inode] else { return }
    let id = entry.attributes.linkID
    if id != nil, id == state.attributes.linkID, entry.kind == state.kind { return }
    entry.inode = try source.number(for: entry)
  }

  /// Records the time that was shown of a value without one, whose bytes came from a program that keeps none:
  /// at another key it is stored by a version of now, whose time would be shown there.
  private func keepShownTime(of entry: Entry, in attributes: inout Attributes) {
    guard attributes.mtime == nil, entry.kind != .directory else { return }
    attributes.mtime = tree.timeMade(entry)
  }

  /// Writing the same bytes again is no change by itself; and one file has one time, whichever of its
  /// names was met first: names that differ are no longer one file.
  private func keepTime(
    of old: Entry, for state: CutPlan.NodeState, in attributes: inout Attributes
  ) {
    // A file that was moved here, and not written, has the time that it is recorded with.
    guard state.kind != .directory, let taken = state.taken, !taken.explicitTime else { return }
    let known = links[state.node.inode]?.entry ?? old
    var same = attributes
    same.mtime = known.attributes.mtime
    guard same == known.attributes, same != attributes || known.key == old.key else { return }
    attributes = known.attributes
    state.isRewritten = true
  }

  /// What the first name of a file got, or else what the base has of the file.
  private func linked(_ state: CutPlan.NodeState) throws(StoreError) -> Entry? {
    if let link = links[state.node.inode] { return link.entry }
    return try state.wholeEntry()
  }

  private mutating func entry(
    for state: CutPlan.NodeState, key: Key, old: Entry?, _ ahead: PutAhead.Work?
  ) throws(StoreError) -> Entry? {
    let chosen = state.taken
    var stored = StoredContent(length: 0, digest: .ofNothing, content: .none)
    var attributes = try state.wholeAttributes()
    if state.kind == .directory {
      let recorded = (old ?? state.entry)?.attributes.mtime
      attributes.mtime = state.explicitTime ? attributes.mtime : recorded
    } else if let chosen {
      if let known = links[state.node.inode]?.stored ?? self.stored[state.node.inode]?.stored {
        stored = known
      } else {
        do throws(StoreError) {
          // What a committed cut has nothing of it did not take.
          guard case .transaction(let transaction) = source else { return nil }
          if let prepared = try ahead?.content?.get() {
            stored = try transaction.write(prepared)
          } else {
            stored = try store(chosen.content, in: transaction)
          }
        } catch {
          tree.leaveOut(chosen.state, of: state.node.inode, error)
          throw error
        }
      }
      attributes.mtime = chosen.mtime
    } else {
      guard let base = state.entry else { return nil }
      stored = base.stored
      if !state.explicitTime { attributes.mtime = base.attributes.mtime }
      // All names of a file have one time, so one that stays records it with one that is new.
      if base.key != key || attributes.linkID != nil {
        keepShownTime(of: base, in: &attributes)
      }
    }
    var storedVersion = number
    if let old, old.kind == state.kind, old.stored.digest == stored.digest,
      old.stored.length == stored.length
    {
      guard try source.isSound(old.stored, besides: stored) else {
        replacesDamaged = true
        changesContent = true
        return try entry(for: state, key: key, stored, attributes, number, old: old)
      }
      stored = old.stored
      storedVersion = old.storedVersion
      keepTime(of: old, for: state, in: &attributes)
    } else if state.entry?.attributes.linkID != nil || links[state.node.inode] != nil,
      let base = try linked(state), base.attributes.linkID != nil,
      base.stored.digest == stored.digest, base.stored.length == stored.length
    {
      keepTime(of: base, for: state, in: &attributes)
    }
    return try entry(for: state, key: key, stored, attributes, storedVersion, old: old)
  }

  private mutating func entry(
    for state: CutPlan.NodeState, key: Key, _ stored: StoredContent, _ attributes: Attributes,
    _ storedVersion: VersionNumber, old: Entry?
  ) throws(StoreError) -> Entry {
    var entry = Entry(
      key: key, kind: state.kind, attributes: attributes, stored: stored,
      storedVersion: storedVersion, inode: state.node.inode, revision: old?.revision ?? 0)
    if old.map({ !$0.hasSameContent(as: entry) }) ?? true {
      if let shared = try sharedRevision(of: entry, state) {
        entry.revision = shared
      } else {
        entry.revision = try nextRevision()
      }
    }
    if attributes.linkID != nil { links[state.node.inode] = (stored, entry) }
    return entry
  }

  /// The revision that another name of the file has with the same bytes and attributes: one file is one
  /// inode in history too.
  private func sharedRevision(
    of entry: Entry, _ state: CutPlan.NodeState
  ) throws(StoreError) -> UInt64? {
    guard entry.attributes.linkID != nil else { return nil }
    for var other in [links[state.node.inode]?.entry, try state.wholeEntry()].compactMap({ $0 }) {
      other.key = entry.key
      if other.hasSameContent(as: entry) { return other.revision }
    }
    return nil
  }

  /// What the version that a committed cut made has of a node; nil for what it did not take.
  private func recalled(
    _ state: CutPlan.NodeState, at key: Key, in map: ValueMap?, old: Entry?
  ) throws(StoreError) -> Entry? {
    let isDirectory = state.kind == .directory
    guard isDirectory || state.taken != nil || state.entry != nil,
      var entry = try map?.entry(at: key, directory: isDirectory) ?? (map == nil ? old : nil),
      entry.kind == state.kind, try tree.wasTaken(state, as: entry)
    else { return nil }
    entry.inode = state.node.inode
    return entry
  }

  private func store(
    _ content: FileContent, in transaction: WriteTransaction
  ) throws(StoreError) -> StoredContent {
    if let stored = content.unchangedBase {
      guard case .inline(let bytes) = stored.content, bytes.count > Entry.inlineLimit else {
        return stored
      }
      return try transaction.write(bytes)
    }
    return try transaction.write(ContentReader(tree: tree, content: content))
  }

  private mutating func nextRevision() throws(StoreError) -> UInt64 {
    if revisions.isEmpty {
      let first = try source.revisions(256)
      revisions = first..<(first + 256)
    }
    defer { revisions = (revisions.lowerBound + 1)..<revisions.upperBound }
    return revisions.lowerBound
  }
}

/// A place of a map: a key, for a value or for a directory.
struct MapPlace: Hashable, Comparable, Sendable {
  var key: Key
  var isDirectory: Bool

  /// The order of the map: by key, then a directory after a value.
  static func < (a: MapPlace, b: MapPlace) -> Bool {
    a.key == b.key ? !a.isDirectory && b.isDirectory : a.key < b.key
  }

  init(key: Key, isDirectory: Bool) {
    self.key = key
    self.isDirectory = isDirectory
  }

  init(_ entry: Entry) {
    key = entry.key
    isDirectory = entry.isDirectory
  }
}
