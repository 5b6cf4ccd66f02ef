import Inodes
import LLVSCore
import TreeNames

/// Turns changes of paths into edits of the map that they are made on.
struct GroupEditor {
  let view: TreeView
  private let edits: [PathEdit]
  private let maker: EntryMaker
  /// Recorded paths that moved directories do not take along.
  private let excluded: Set<TreePath>
  private(set) var map = MapEdits()
  /// True if values displaced by directories get other names by the edits.
  private(set) var renamesDisplaced = false
  /// Directories that were checked for taking names of values.
  private var lookedAt: Set<TreePath> = []
  private var renamedIn: Set<TreePath> = []
  /// The values that the map shows at paths where files are put.
  private var shown: [Entry] = []
  /// Indices into `shown`, by edit; below zero without a value.
  private var shownPlaces: [Int32]
  /// The directories that the map's puts imply, once computed.
  private var filled: Set<TreePath>?

  init(_ edits: [PathEdit], on view: TreeView, excluded: Set<TreePath>, maker: EntryMaker) {
    self.edits = edits
    self.view = view
    self.excluded = excluded
    self.maker = maker
    shownPlaces = Array(repeating: -1, count: edits.count)
  }

  /// Makes all edits. `ready` returns prepared bytes, by index of the change.
  mutating func run(_ ready: (Int) throws(StoreError) -> ReadyValue?) throws(StoreError) {
    // Files whose names show something else than the value of their keys.
    var unshown: [TreePath] = []
    // Most edits are in the order of their keys.
    var cursor = MapCursor(view.map)
    for (index, edit) in edits.enumerated() {
      switch edit.kind {
      case .remove, .move, .make: try remove(edit.path)
      case .put:
        let found = try view.find(path: edit.path.bytes)
        if found?.isDirectory ?? false { try remove(edit.path) }
        let key = KeyCoding.key(ofPath: edit.path.bytes)
        if case .value(let entry)? = found {
          shownPlaces[index] = Int32(shown.count)
          shown.append(entry)
          if entry.key == key { continue }
        }
        try cursor.seek(to: key.bytes)
        let hasValue = try cursor.entry(at: key, directory: false) != nil
        if found != nil || hasValue { unshown.append(edit.path) }
      case .leaveOut, .setAttributes: break
      }
    }
    // Only moves and names of displaced values are compared with other changes.
    let hasOthers = !unshown.isEmpty || edits.contains { $0.kind == .move }
    let puts = hasOthers ? Set(edits.filter { $0.kind == .put }.map(\.path)) : []
    for edit in edits where edit.kind == .move { try copy(edit, puts) }
    for edit in edits where edit.kind == .make {
      renamedIn.insert(edit.path.parent)
      map.put(try maker.directory(edit, at: KeyCoding.key(ofPath: edit.path.bytes), old: nil))
    }
    for edit in edits where edit.kind == .setAttributes { try setAttributes(edit) }
    if !unshown.isEmpty {
      let changed = Set(edits.filter { $0.kind == .put || $0.kind == .remove }.map(\.path))
      for path in unshown { try keepDisplaced(at: path, changed) }
    }
    for (index, edit) in edits.enumerated() where edit.kind == .put {
      let place = Int(shownPlaces[index])
      try put(edit, puts, shown: place < 0 ? nil : shown[place], try ready(index))
    }
    for edit in edits { try noteDisplaced(by: edit.path) }
    try keepDirectories()
    try dropTimes()
  }

  /// Notes that a path's directory takes a value's name, or that a displaced value may have the path.
  private mutating func noteDisplaced(by path: TreePath) throws(StoreError) {
    if path.name.bytes.starts(with: DisplacedName.prefix) { renamesDisplaced = true }
    var directory = path.parent
    while !directory.isRoot, lookedAt.insert(directory).inserted {
      switch try view.find(path: directory.bytes) {
      case .directory?: return
      case .value(let entry)?: if !map.removes(MapPlace(entry)) { renamesDisplaced = true }
      case nil: break
      }
      directory = directory.parent
    }
  }

  /// Removes what a path shows; for a directory all below it, but not a value of its name.
  private mutating func remove(_ path: TreePath) throws(StoreError) {
    switch try view.find(path: path.bytes) {
    case nil: return
    case .value(let entry): map.remove(MapPlace(entry))
    case .directory(let entry):
      if let entry { map.remove(MapPlace(entry)) }
      var below = view.entries(below: path.bytes)
      while let (_, entry) = try below.next() { map.remove(MapPlace(entry)) }
      if try view.map.entry(at: KeyCoding.key(ofPath: path.bytes)) != nil {
        renamesDisplaced = true
      }
    }
    renamedIn.insert(path.parent)
  }

  /// Copies a moved directory from the predecessor, without names that changes decide.
  private mutating func copy(_ edit: PathEdit, _ puts: Set<TreePath>) throws(StoreError) {
    let (from, to) = (edit.source, edit.path)
    guard case .directory(let own)? = try view.find(path: from.bytes) else { return }
    renamedIn.formUnion([from.parent, to.parent])
    if own != nil || edit.node?.hasNewAttributes ?? false {
      let key = KeyCoding.key(ofPath: to.bytes)
      if edit.node?.hasNewAttributes ?? false {
        map.put(try maker.directory(edit, at: key, old: own))
      } else if let own {
        map.put(try maker.moved(own, to: key))
      }
    }
    let displaced = try view.displacedValues(below: from.bytes)
    if !displaced.isEmpty { renamesDisplaced = true }
    var below = view.entries(below: from.bytes)
    while let (relative, entry) = try below.next() {
      var shown = relative
      if !entry.isDirectory, displaced.contains(entry.key) {
        shown = Array(try view.path(of: entry.key).dropFirst(from.bytes.count + 1))
      }
      if isExcluded(from, shown) { continue }
      // A value displaced from a name that a file took keeps the name that shows it.
      let own = to.bytes + [0x2F] + relative
      let path = puts.contains(TreePath(own)) ? to.bytes + [0x2F] + shown : own
      map.put(try maker.moved(entry, to: KeyCoding.key(ofPath: path)))
    }
  }

  /// True if a change decides about a path or a directory above it.
  private func isExcluded(_ directory: TreePath, _ relative: [UInt8]) -> Bool {
    guard !excluded.isEmpty else { return false }
    let path = directory.bytes + [0x2F] + relative
    for end in (directory.bytes.count + 1)..<path.count where path[end] == 0x2F {
      if excluded.contains(TreePath(path[..<end])) { return true }
    }
    return excluded.contains(TreePath(path))
  }

  private mutating func setAttributes(_ edit: PathEdit) throws(StoreError) {
    let place = try directoryPlace(edit.path)
    let old = try current(place)
    let entry = try maker.directory(edit, at: place.key, old: old)
    if old == nil || old.map({ !$0.hasSameContent(as: entry) }) ?? false { map.put(entry) }
  }

  private func directoryPlace(_ path: TreePath) throws(StoreError) -> MapPlace {
    let found = try view.find(path: path.bytes)
    if case .directory(let entry?)? = found { return MapPlace(entry) }
    return MapPlace(key: KeyCoding.key(ofPath: path.bytes), isDirectory: true)
  }

  private func current(_ place: MapPlace) throws(StoreError) -> Entry? {
    switch map[place] {
    case .put(let entry)?: entry
    case .remove?: nil
    case nil: try view.map.entry(at: place.key, directory: place.isDirectory)
    }
  }

  /// A file with a directory's name takes the key of the displaced value, which keeps the name that shows it.
  private mutating func keepDisplaced(
    at path: TreePath, _ changed: Set<TreePath>
  ) throws(StoreError) {
    let key = KeyCoding.key(ofPath: path.bytes)
    guard let value = try view.map.entry(at: key), !map.removes(MapPlace(value)) else { return }
    let shown = TreePath(try view.path(of: key))
    guard shown != path, !changed.contains(shown) else { return }
    map.put(try maker.moved(value, to: KeyCoding.key(ofPath: shown.bytes)))
  }

  private mutating func put(
    _ edit: PathEdit, _ puts: Set<TreePath>, shown: Entry?, _ ready: ReadyValue?
  ) throws(StoreError) {
    var key = KeyCoding.key(ofPath: edit.path.bytes)
    var old: Entry?
    if let shown {
      let own = puts.isEmpty ? edit.path : TreePath(TreeView.ownPath(shown.key))
      // Another file takes the name that a displaced value would have had.
      if own == edit.path || !puts.contains(own) {
        key = shown.key
        old = shown
      }
    }
    let entry = try maker.file(edit, at: key, old: old, shown: shown, ready: ready)
    if old == nil { renamedIn.insert(edit.path.parent) }
    if let old, old.hasSameContent(as: entry), !maker.replacesDamaged {
      // Another pass may have removed the value.
      map.keep(MapPlace(old))
    } else {
      map.put(entry)
    }
  }

  /// Adds entries for directories that a removal would take with it.
  private mutating func keepDirectories() throws(StoreError) {
    guard edits.contains(where: \.takesName) else { return }
    var gone = Set(edits.filter { $0.kind == .remove }.map(\.path))
    let sources = Set(edits.filter { $0.kind == .move }.map(\.source))
    gone.formUnion(sources)
    let replaced = Set(edits.filter { $0.kind == .move || $0.kind == .make }.map(\.path))
    gone.subtract(replaced)
    // A file replaces a directory.
    gone.formUnion(edits.filter { $0.kind == .put }.map(\.path))
    for edit in edits {
      let above: TreePath
      switch edit.kind {
      case .remove, .leaveOut: above = edit.path.parent
      case .move:
        above = edit.source.parent
        // A moved directory leaves a name out at its new place.
        if Self.isAtOrBelow(above, sources) { continue }
        // Another directory has the place of the one that it was in.
        if Self.isAtOrBelow(above.parent, replaced) { continue }
      case .make, .put, .setAttributes: continue
      }
      if above.isRoot { continue }
      if try isDirectory(above) { continue }
      let wasThere = try view.find(path: above.bytes)?.isDirectory ?? false
      if edit.kind != .leaveOut, !wasThere { continue }
      if Self.isAtOrBelow(above, gone) { continue }
      let place = try directoryPlace(above)
      map.put(try maker.directory(Attributes(), at: place.key, old: nil))
      fill(above)
    }
  }

  private static func isAtOrBelow(_ path: TreePath, _ directories: Set<TreePath>) -> Bool {
    var path = path
    while !path.isRoot {
      if directories.contains(path) { return true }
      path = path.parent
    }
    return false
  }

  private mutating func isDirectory(_ path: TreePath) throws(StoreError) -> Bool {
    if filled == nil {
      filled = []
      var directories: [TreePath] = []
      try map.forEachPut { (entry) throws(StoreError) in
        let path = TreePath(TreeView.ownPath(entry.key))
        directories.append(entry.isDirectory ? path : path.parent)
      }
      for directory in directories { fill(directory) }
    }
    if filled?.contains(path) ?? false { return true }
    if try current(try directoryPlace(path)) != nil { return true }
    var below = view.entries(below: path.bytes)
    while let (_, entry) = try below.next() { if !map.removes(MapPlace(entry)) { return true } }
    return false
  }

  private mutating func fill(_ directory: TreePath) {
    var path = directory
    while !path.isRoot, filled?.insert(path).inserted ?? false { path = path.parent }
  }

  /// Removes recorded times of directories whose names changed, unless the time was set afterwards.
  private mutating func dropTimes() throws(StoreError) {
    for edit in edits where edit.node?.hasSetTime ?? false && edit.node?.isDirectory ?? false {
      renamedIn.remove(edit.path)
    }
    for path in renamedIn where !path.isRoot {
      guard let entry = try current(try directoryPlace(path)), entry.attributes.mtime != nil
      else { continue }
      var attributes = entry.attributes
      attributes.mtime = nil
      map.put(try maker.directory(attributes, at: entry.key, old: entry))
    }
  }
}

extension PathEdit {
  /// True if a name leaves its directory.
  fileprivate var takesName: Bool {
    switch kind {
    case .remove, .leaveOut, .move: true
    case .make, .put, .setAttributes: false
    }
  }
}
