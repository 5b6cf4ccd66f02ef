import Inodes
import LLVSCore

/// A recorded tree in memory: inodes, entries and names as plain tables.
final class ModelTree: Base, @unchecked Sendable {
  struct Inode: Hashable {
    var isDirectory = false
    var marks: Set<Int> = []
    var link: Int?
  }

  struct Child: Hashable {
    var number: InodeNumber
    /// The key where it is not the path.
    var key: String?
  }

  let batch: UInt64 = 0
  private(set) var inodes: [InodeNumber: Inode] = [.root: Inode(isDirectory: true)]
  private(set) var entries: [InodeNumber: [FileName: Child]] = [.root: [:]]
  private var names: [InodeNumber: Set<InodeName>] = [:]

  init() {}

  init(copying other: ModelTree) {
    (inodes, entries, names) = (other.inodes, other.entries, other.names)
  }

  subscript(number: InodeNumber) -> Inode? { inodes[number] }

  func child(_ directory: InodeNumber, _ name: FileName) -> Child? { entries[directory]?[name] }

  func places(_ number: InodeNumber) -> [InodeName] {
    (names[number] ?? []).sorted { ($0.directory, $0.name) < ($1.directory, $1.name) }
  }

  func put(_ inode: Inode, _ number: InodeNumber) {
    inodes[number] = inode
    if inode.isDirectory, entries[number] == nil { entries[number] = [:] }
  }

  func set(_ place: InodeName, _ number: InodeNumber, key: String? = nil) {
    remove(place)
    entries[place.directory, default: [:]][place.name] = Child(number: number, key: key)
    names[number, default: []].insert(place)
  }

  @discardableResult
  func remove(_ place: InodeName) -> Child? {
    guard let child = entries[place.directory]?.removeValue(forKey: place.name) else { return nil }
    names[child.number]?.remove(place)
    return child
  }

  /// Gives what is under a number another, at all its names.
  func renumber(_ number: InodeNumber, to new: InodeNumber) {
    inodes[new] = inodes[number]
    for (name, child) in entries[number] ?? [:] {
      remove(InodeName(directory: number, name: name))
      set(InodeName(directory: new, name: name), child.number, key: child.key)
    }
    for place in places(number) {
      set(place, new, key: entries[place.directory]?[place.name]?.key)
    }
    collect()
  }

  func path(of directory: InodeNumber) -> String? {
    var path = ""
    var number = directory
    while number != .root {
      guard let place = places(number).first else { return nil }
      path = path.isEmpty ? place.name.text : place.name.text + "/" + path
      number = place.directory
    }
    return path
  }

  func number(at path: String) -> InodeNumber? {
    path.split(separator: "/").reduce(.root as InodeNumber?) { directory, name in
      directory.flatMap { child($0, FileName(name.utf8))?.number }
    }
  }

  var tree: [String: ModelShown] {
    var tree: [String: ModelShown] = [:]
    func list(_ directory: InodeNumber, _ path: String) {
      for (name, child) in entries[directory] ?? [:] {
        let below = ModelPath.join(path, name.text)
        guard let inode = inodes[child.number] else { continue }
        if inode.isDirectory {
          tree[below] = ModelShown()
          list(child.number, below)
        } else {
          tree[below] = ModelShown(
            key: child.key ?? below, marks: inode.marks, link: inode.link)
        }
      }
    }
    list(.root, "")
    return tree
  }

  /// Removes what no name leads to.
  func collect() {
    var reached: Set<InodeNumber> = [.root]
    var open: [InodeNumber] = [.root]
    while let directory = open.popLast() {
      for child in (entries[directory] ?? [:]).values where reached.insert(child.number).inserted {
        if inodes[child.number]?.isDirectory ?? false { open.append(child.number) }
      }
    }
    for number in Array(inodes.keys) where !reached.contains(number) {
      for name in Array((entries[number] ?? [:]).keys) {
        remove(InodeName(directory: number, name: name))
      }
      (entries[number], inodes[number], names[number]) = (nil, nil, nil)
    }
  }

  // MARK: - Base

  private func record(_ inode: Inode) -> InodeRecord {
    InodeRecord(
      kind: inode.isDirectory ? .directory : .regular,
      attributes: Attributes(linkID: inode.link.map { ModelLink.id($0) }),
      stored: inode.isDirectory ? .none : .marks(inode.marks), origin: VersionNumber(1),
      changed: .zero)
  }

  func inode(_ number: InodeNumber) throws(BaseError) -> BaseInode? {
    inodes[number].map {
      BaseInode(number: number, record: record($0), links: places(number).count)
    }
  }

  func child(of directory: InodeNumber, named name: FileName) throws(BaseError) -> BaseEntry? {
    guard let child = child(directory, name), let inode = try inode(child.number) else {
      return nil
    }
    return BaseEntry(name: name, cookie: .start, inode: inode, key: nil)
  }

  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(BaseError) -> [BaseEntry] {
    var page: [BaseEntry] = []
    for name in (entries[directory] ?? [:]).keys.sorted() {
      if let entry = try child(of: directory, named: name) { page.append(entry) }
    }
    return page
  }

  func names(of number: InodeNumber) throws(BaseError) -> [InodeName] { places(number) }
}

/// Link ids of 16 bytes for numbers.
enum ModelLink {
  static func id(_ number: Int) -> [UInt8] {
    [UInt8](repeating: 1, count: 14) + [UInt8(number >> 8), UInt8(number & 0xFF)]
  }

  static func number(_ id: [UInt8]) -> Int { Int(id[14]) << 8 | Int(id[15]) }
}

extension FileName {
  var text: String { String(decoding: bytes, as: UTF8.self) }

  init(_ text: String) { self.init(Array(text.utf8)) }
}

extension Attributes.Time {
  static let zero = Attributes.Time(seconds: 0, nanoseconds: 0)
}

extension StoredContent {
  /// Bytes that say the marks of a file.
  static func marks(_ marks: Set<Int>) -> StoredContent {
    let bytes = marks.sorted().flatMap { mark in
      [UInt8(mark >> 16), UInt8(mark >> 8 & 0xFF), UInt8(mark & 0xFF)]
    }
    return StoredContent(
      length: UInt64(bytes.count), digest: Digest.of(bytes),
      content: bytes.isEmpty ? .none : .inline(bytes))
  }
}

extension FileContent {
  /// The marks: those of the stored bytes that are shown, and those that were written.
  var marks: Set<Int> {
    var marks: Set<Int> = []
    extents.forEach { extent in
      guard extent.source == Extent.base else {
        marks.insert(Int(extent.source))
        return
      }
      guard case .inline(let bytes)? = base?.content else { return }
      for at in stride(from: 0, to: bytes.count, by: 3) {
        marks.insert(Int(bytes[at]) << 16 | Int(bytes[at + 1]) << 8 | Int(bytes[at + 2]))
      }
    }
    return marks
  }
}
