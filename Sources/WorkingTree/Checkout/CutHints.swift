import Inodes
import LLVSCore
import TreeNames

/// Finds the inode numbers and times that the working tree has for what a cut took.
struct CutHints {
  let record: TakingRecord
  let frozen: Overlay
  /// The version of the cut's epoch.
  let before: VersionNumber?
  let view: (VersionNumber?) throws(StoreError) -> TreeView

  /// - Throws: ``StoreError`` if a map cannot be read.
  /// - Complexity: O(*k* log *n*) for *k* changes that the cut took.
  func found() throws(StoreError) -> NumberHints {
    var hints = NumberHints()
    hints.frozen = frozen
    if record.isForeign { hints.own = try view(record.own ?? before) } else { hints.isOwn = true }
    let hasOthers = record.groups.contains { $0.epoch != nil }
    // A cut takes thousands of files to few versions.
    var trees: [TakenCut.Destination: TreeView] = [:]
    func tree(_ destination: TakenCut.Destination) throws(StoreError) -> TreeView {
      if let tree = trees[destination] { return tree }
      let tree = try self.tree(destination)
      trees[destination] = tree
      return tree
    }
    var directories = FrozenPaths(frozen)
    hints.files.reserveCapacity(record.taken.nodes.count)
    hints.times.reserveCapacity(record.taken.nodes.count)
    for number in record.taken.nodes.keys.sorted() {
      guard let taken = record.taken.nodes[number], let node = frozen.nodes.node(number) else {
        continue
      }
      let paths = node.names.compactMap { directories.path(of: $0) }
      let times = NumberHints.Times(modified: node.shownTime, changed: node.changed)
      if !node.isDirectory { for path in paths { hints.times[path] = times } }
      if hasOthers { for path in paths { hints.takers[path] = try tree(taken.destination) } }
      // The head does not have at the name what no version took.
      guard !node.isDirectory, taken.destination != .nowhere else { continue }
      // A name that went into another version may be another file here.
      let own = node.names.filter {
        record.taken.names[$0].map { $0.destination == taken.destination } ?? true
      }.compactMap { directories.path(of: $0) }
      var identity: FileIdentity?
      if !hints.isOwn || !node.recordedNames.isEmpty {
        guard let entry = try entry(at: own, in: try tree(taken.destination)) else { continue }
        identity = FileIdentity(entry)
      }
      hints.files.append(
        NumberHints.File(
          number: number, identity: identity, linkID: node.attributes.linkID, paths: own))
    }
    var noted: Set<InodeNumber> = []
    for (place, taken) in record.taken.names {
      if noted.insert(place.directory).inserted { noteDirectories(above: place, in: &hints) }
      if hasOthers, let path = directories.path(of: place) {
        let tree = try tree(taken.destination)
        hints.takers[path] = tree
        if case .beside = taken.destination { hints.above[path.parent] = tree }
      }
      guard taken.isThere, let change = frozen.changes[place], let number = change.inode,
        frozen.nodes.kind(of: number) == .directory, let path = directories.path(of: place)
      else { continue }
      hints.directories[path] = number
      if change.hidesRecorded { hints.replacing.insert(path) }
    }
    return hints
  }

  /// Ignored names are not in a tree.
  private func entry(at paths: [TreePath], in view: TreeView) throws(StoreError) -> Entry? {
    for path in paths {
      if case .value(let entry)? = try view.find(path: path.bytes) { return entry }
    }
    return nil
  }

  /// Notes the paths of directories whose names were taken.
  private func noteDirectories(above place: InodeName, in hints: inout NumberHints) {
    var number = place.directory
    while number != .root, let path = frozen.path(of: number), hints.directories[path] == nil {
      hints.directories[path] = number
      guard let above = frozen.nodes.place(of: number) else { return }
      number = above.directory
    }
  }

  private func tree(_ destination: TakenCut.Destination) throws(StoreError) -> TreeView {
    switch destination {
    case .head, .nowhere: return try view(record.own ?? before)
    case .beside(let epoch):
      let group = record.groups.first { $0.epoch == epoch }
      return try view(group.map { VersionNumber($0.version) } ?? before)
    }
  }
}

/// The paths of names in a frozen overlay, with each directory's path computed once.
private struct FrozenPaths {
  private static let limit = 50_000
  private let frozen: Overlay
  private var known: [InodeNumber: TreePath?] = [:]
  init(_ frozen: Overlay) { self.frozen = frozen }

  mutating func path(of place: InodeName) -> TreePath? {
    if let path = known[place.directory] { return path?.appending(place.name) }
    if known.count >= Self.limit { known.removeAll() }
    let path = frozen.path(of: place.directory)
    known[place.directory] = .some(path)
    return path?.appending(place.name)
  }
}

extension NumberHints {
  /// Adds directories that programs made and a head may have too: directories of one name are one.
  /// - Complexity: O(*p*) for *p* pending changes.
  mutating func addDirectories(of overlay: Overlay, over base: any Base) throws(StoreError) {
    for (place, change) in overlay.changes {
      guard let number = change.inode, overlay.nodes.kind(of: number) == .directory,
        let path = overlay.path(of: place.directory)?.appending(place.name),
        directories[path] == nil, try base.inode(number) == nil
      else { continue }
      directories[path] = number
    }
  }
}
