import Inodes
import LLVSCore
import TreeNames

/// Makes the rows of a tree from a map alone, in empty tables.
struct TreeBuild {
  /// The most names of one directory that are sorted in memory and written together.
  private static let batch = 32_768
  let rows: TreeRows
  let view: TreeView
  let numbers: NumberSource
  /// The time at which a version was made here: the ctime of what it stored.
  let time: (VersionNumber?) -> Attributes.Time
  private(set) var values: Int64 = 0
  private(set) var directories: Int64 = 0
  private var linked: [LinkedFile: InodeNumber] = [:]
  private var open: [(path: TreePath, number: InodeNumber)] = []

  private struct LinkedFile: Hashable {
    var id: [UInt8]
    var content: Digest
  }

  private struct Name {
    var name: FileName
    var first: EntryCookie
    var entry: Entry?
    var isDirectory: Bool
  }

  init(
    rows: TreeRows, view: TreeView, numbers: NumberSource,
    time: @escaping (VersionNumber?) -> Attributes.Time
  ) {
    self.rows = rows
    self.view = view
    self.numbers = numbers
    self.time = time
  }

  /// Writes all rows but the state's, in the order of their keys within a batch. Takes O(*n*) time, and memory for
  /// a batch and the paths of later directories.
  mutating func run() throws {
    try rows.insert(InodeRecord(nil, changed: time(nil)), at: .root)
    open = [(.root, .root)]
    var done = 0
    while done < open.count {
      let (path, number) = open[done]
      done += 1
      try list(path, number)
      if done == Self.batch {
        open.removeFirst(done)
        done = 0
      }
    }
  }

  private mutating func list(_ path: TreePath, _ number: InodeNumber) throws {
    var listing = view.list(path.bytes)
    var names: [Name] = []
    var subdirectories: Int64 = 0
    var isFirst = true
    while let item = try listing.next() {
      let name = FileName(item.name)
      let isDirectory = item.kind == .directory
      if isDirectory { subdirectories += 1 }
      names.append(
        Name(
          name: name, first: rows.cookies.first(of: name), entry: item.entry,
          isDirectory: isDirectory))
      guard names.count == Self.batch else { continue }
      try write(&names, of: path, number, isFirst: isFirst)
      isFirst = false
    }
    try write(&names, of: path, number, isFirst: isFirst)
    if subdirectories > 0 { try rows.addSubdirectories(subdirectories, to: number) }
  }

  private mutating func write(
    _ names: inout [Name], of path: TreePath, _ directory: InodeNumber, isFirst: Bool
  ) throws {
    names.sort { $0.first < $1.first }
    var last: EntryCookie?
    for name in names {
      // Only each other's cookies can conflict with the first names of a directory.
      let isFree = isFirst && last != name.first
      last = name.first
      let place =
        isFree
        ? InodePlace(parent: directory, cookie: name.first)
        : try rows.freePlace(for: name.name, in: directory)
      let child = path.appending(name.name)
      let key = name.entry?.key(besides: child)
      if let known = name.entry.flatMap({ linkedFile($0) }).flatMap({ linked[$0] }) {
        try rows.addEntry(name.name, at: place, for: known, key: key)
      } else {
        let number = try self.numbers.number()
        try rows.insert(
          InodeRecord(name.entry, changed: time(name.entry?.storedVersion)), at: number,
          links: name.isDirectory ? 0 : 1, place: place)
        try rows.insertEntry(name.name, at: place, for: number, key: key)
        if let file = name.entry.flatMap({ linkedFile($0) }) { linked[file] = number }
        if name.isDirectory { open.append((child, number)) }
      }
      if name.isDirectory { directories += 1 } else { values += 1 }
    }
    names.removeAll(keepingCapacity: true)
  }

  private func linkedFile(_ entry: Entry) -> LinkedFile? {
    guard let id = entry.attributes.linkID, !entry.isDirectory else { return nil }
    var content = entry
    content.key = Key(bytes: [])
    return LinkedFile(id: id, content: content.contentDigest)
  }
}
