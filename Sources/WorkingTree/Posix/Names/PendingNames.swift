import Inodes

/// The names of an overlay that differ from the recorded tree, with their paths.
struct PendingNames {
  /// A name that patterns can keep out of versions: no version has it, or the directory that it names.
  struct Unrecorded {
    var path: TreePath
    var isDirectory: Bool
  }

  struct Item {
    /// The change in a list of names.
    var path: PendingPath
    /// The change in a summary: a file with another name is changed.
    var counted: PendingPath.Change
    /// True below a directory of a version that has another name now.
    var isBrought: Bool
    /// The name and directories above it, where patterns can keep them out.
    var unrecorded: [Unrecorded]
  }

  private struct Directory {
    var path: TreePath
    var unrecorded: [Unrecorded]
    var isBrought: Bool
  }

  private(set) var items: [Item] = []
  private let overlay: Overlay
  private var directories: [InodeNumber: Directory?] = [
    .root: Directory(path: .root, unrecorded: [], isBrought: false)
  ]

  /// Finds the names, in O(*k*) for *k* pending names and nodes.
  init(_ overlay: Overlay) {
    self.overlay = overlay
    for (place, change) in overlay.changes { add(change, at: place) }
    for (_, node) in overlay.nodes where node.isPending {
      for place in node.names where overlay.changes[place] == nil {
        guard let above = directory(place.directory) else { continue }
        let path = PendingPath(
          change: .changed, path: above.path.appending(place.name), isDirectory: node.isDirectory)
        items.append(
          Item(
            path: path, counted: .changed, isBrought: above.isBrought,
            unrecorded: above.unrecorded))
      }
    }
  }

  /// The path of a name, and which of its names patterns can keep out; nil if the name is unreachable.
  mutating func stated(_ place: InodeName) -> (path: TreePath, unrecorded: [Unrecorded])? {
    guard let above = directory(place.directory) else { return nil }
    let path = above.path.appending(place.name)
    return (path, above.unrecorded + unrecorded(place, path))
  }

  private mutating func add(_ change: NameChange, at place: InodeName) {
    // No version has a directory that stays only for its contents.
    guard !change.isHeld, let above = directory(place.directory) else { return }
    let path = above.path.appending(place.name)
    guard let node = change.inode.flatMap({ overlay.nodes[$0] }) else {
      guard change.inode == nil, change.hidesRecorded else { return }
      items.append(
        Item(
          path: PendingPath(change: .gone, path: path, isDirectory: false), counted: .gone,
          isBrought: above.isBrought, unrecorded: above.unrecorded))
      return
    }
    let isElsewhere = !node.recordedNames.contains(place)
    guard isElsewhere || node.isPending else { return }
    let isNew = isElsewhere && (node.isDirectory || !change.hidesRecorded)
    let isUnknown = node.recordedNames.isEmpty && !change.hidesRecorded
    items.append(
      Item(
        path: PendingPath(
          change: isNew ? .new : .changed, path: path, isDirectory: node.isDirectory),
        counted: isUnknown ? .new : .changed, isBrought: above.isBrought,
        unrecorded: above.unrecorded + unrecorded(place, path)))
  }

  private mutating func directory(_ number: InodeNumber) -> Directory? {
    if let known = directories[number] { return known }
    // No recursion: directories can be thousands deep.
    var way = [number]
    while let last = way.last, let above = overlay.nodes.place(of: last)?.directory,
      directories[above] == nil, way.count <= overlay.nodes.count
    { way.append(above) }
    for number in way.reversed() { directories[number] = .some(below(number)) }
    return directories[number] ?? nil
  }

  /// Returns a directory below a known one; nil if it is unreachable.
  private func below(_ number: InodeNumber) -> Directory? {
    guard let node = overlay.nodes.node(number), let place = node.place,
      let above = directories[place.directory] ?? nil
    else { return nil }
    let path = above.path.appending(place.name)
    return Directory(
      path: path, unrecorded: above.unrecorded + unrecorded(place, path),
      isBrought: above.isBrought
        || !node.recordedNames.isEmpty && !node.recordedNames.contains(place))
  }

  private func unrecorded(_ place: InodeName, _ path: TreePath) -> [Unrecorded] {
    guard let change = overlay.changes[place], !change.hidesRecorded,
      let node = change.inode.flatMap({ overlay.nodes[$0] }),
      !node.isDirectory || node.recordedNames.isEmpty
    else { return [] }
    return [Unrecorded(path: path, isDirectory: node.isDirectory)]
  }
}
