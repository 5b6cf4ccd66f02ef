package import Inodes
package import LLVSCore

/// A recorded tree in memory: inodes, entries and names as plain tables.
package final class ModelTree: Base, @unchecked Sendable {
  package struct Inode: Hashable {
    package var isDirectory = false
    package var marks: Set<Int> = []
    package var link: Int?

    package init(isDirectory: Bool = false, marks: Set<Int> = [], link: Int? = nil) {
      (self.isDirectory, self.marks, self.link) = (isDirectory, marks, link)
    }
  }

  package struct Child: Hashable {
    package var number: InodeNumber
    /// The key where it is not the path.
    package var key: String?

    package init(number: InodeNumber, key: String?) {
      (self.number, self.key) = (number, key)
    }
  }

  package let batch: UInt64 = 0
  private(set) var inodes: [InodeNumber: Inode] = [.root: Inode(isDirectory: true)]
  private(set) var entries: [InodeNumber: [FileName: Child]] = [.root: [:]]
  private var names: [InodeNumber: Set<InodeName>] = [:]

  package init() {}

  package init(copying other: ModelTree) {
    (inodes, entries, names) = (other.inodes, other.entries, other.names)
  }

  package subscript(number: InodeNumber) -> Inode? { inodes[number] }

  package func child(_ directory: InodeNumber, _ name: FileName) -> Child? {
    entries[directory]?[name]
  }

  package func places(_ number: InodeNumber) -> [InodeName] {
    (names[number] ?? []).sorted { ($0.directory, $0.name) < ($1.directory, $1.name) }
  }

  /// The inodes whose records or names differ from those of another tree.
  package func numbers(differingFrom other: ModelTree) -> Set<InodeNumber> {
    Set(inodes.keys).union(other.inodes.keys).filter {
      inodes[$0] != other.inodes[$0] || places($0) != other.places($0)
    }
  }

  package func put(_ inode: Inode, _ number: InodeNumber) {
    inodes[number] = inode
    if inode.isDirectory, entries[number] == nil { entries[number] = [:] }
  }

  package func set(_ place: InodeName, _ number: InodeNumber, key: String? = nil) {
    remove(place)
    entries[place.directory, default: [:]][place.name] = Child(number: number, key: key)
    names[number, default: []].insert(place)
  }

  @discardableResult
  package func remove(_ place: InodeName) -> Child? {
    guard let child = entries[place.directory]?.removeValue(forKey: place.name) else { return nil }
    names[child.number]?.remove(place)
    return child
  }

  /// Gives what is under a number another, at all its names.
  package func renumber(_ number: InodeNumber, to new: InodeNumber) {
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

  package func path(of directory: InodeNumber) -> String? {
    var path = ""
    var number = directory
    while number != .root {
      guard let place = places(number).first else { return nil }
      path = path.isEmpty ? place.name.text : place.name.text + "/" + path
      number = place.directory
    }
    return path
  }

  package func number(at path: String) -> InodeNumber? {
    path.split(separator: "/").reduce(.root as InodeNumber?) { directory, name in
      directory.flatMap { child($0, FileName(name.utf8))?.number }
    }
  }

  package var tree: [String: ModelShown] {
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
  package func collect() {
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

  package func count(of directory: InodeNumber, atMost limit: Int) throws(StoreError) -> Int {
    min(limit, entries[directory]?.count ?? 0)
  }

  package func inode(_ number: InodeNumber) throws(StoreError) -> BaseInode? {
    inodes[number].map {
      BaseInode(number: number, record: record($0), links: places(number).count)
    }
  }

  package func child(of directory: InodeNumber, named name: FileName) throws(StoreError)
    -> BaseEntry?
  {
    guard let child = child(directory, name), let inode = try inode(child.number) else {
      return nil
    }
    return BaseEntry(name: name, cookie: .start, inode: inode, key: nil)
  }

  package func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(StoreError) -> [BaseEntry] {
    var page: [BaseEntry] = []
    for name in (entries[directory] ?? [:]).keys.sorted() {
      if let entry = try child(of: directory, named: name) { page.append(entry) }
    }
    return page
  }

  package func names(of number: InodeNumber) throws(StoreError) -> [InodeName] { places(number) }
}

/// Link ids of 16 bytes for numbers.
package enum ModelLink {
  package static func id(_ number: Int) -> [UInt8] {
    [UInt8](repeating: 1, count: 14) + [UInt8(number >> 8), UInt8(number & 0xFF)]
  }

  package static func number(_ id: [UInt8]) -> Int { Int(id[14]) << 8 | Int(id[15]) }
}

extension FileName {
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package init(_ text: String) { self.init(Array(text.utf8)) }
}

extension Attributes.Time {
  package static let zero = Attributes.Time(seconds: 0, nanoseconds: 0)
}

/// Marks stand for the bytes of files: each is a line of its own, so that merges of text keep those of both sides.
package enum Mark {
  /// The bytes of a line.
  package static let length: UInt64 = 4

  /// The line of a mark below 46,656.
  package static func bytes(_ mark: Int) -> [UInt8] {
    let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    return [digits[mark / 1296 % 36], digits[mark / 36 % 36], digits[mark % 36], 0x0A]
  }

  /// The marks of lines.
  package static func marks(in bytes: [UInt8]) -> Set<Int> {
    Set(
      bytes.split(separator: 0x0A).compactMap {
        Int(String(decoding: $0, as: UTF8.self), radix: 36)
      })
  }
}

extension StoredContent {
  /// Bytes that say the marks of a file.
  static func marks(_ marks: Set<Int>) -> StoredContent {
    let bytes = marks.sorted().flatMap { Mark.bytes($0) }
    return StoredContent(
      length: UInt64(bytes.count), digest: Digest.of(bytes),
      content: bytes.isEmpty ? .none : .inline(bytes))
  }

  /// The bytes of a value that has them itself.
  package var inlineBytes: [UInt8] {
    if case .inline(let bytes) = content { return bytes }
    return []
  }
}

extension FileContent {
  /// The marks: those of the stored bytes that are shown, and those that were written.
  package func marks(_ read: (StoredContent) -> [UInt8]) -> Set<Int> {
    var marks: Set<Int> = []
    extents.forEach { extent in
      if extent.source == Extent.base {
        if let base { marks.formUnion(Mark.marks(in: read(base))) }
      } else {
        marks.insert(Int(extent.source))
      }
    }
    return marks
  }
}
