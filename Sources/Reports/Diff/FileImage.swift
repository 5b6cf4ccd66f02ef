import Inodes
package import LLVSCore
package import Platform
import TreeNames
package import WorkingTree

/// A file on one side of a difference.
package struct FileImage {
  private enum Source {
    case stored(StoredContent, Store)
    case live([UInt8])
    /// A file of the working tree of a store that is not mounted, by its number.
    case unmounted(InodeNumber, TreeSession)
  }

  var kind: EntryKind
  var mode: UInt32
  var owner: (uid: UInt32?, gid: UInt32?)
  var mtime: Attributes.Time?
  var device: Attributes.Device?
  var extended: [Attributes.Extended]
  let length: UInt64
  private let source: Source

  package init(_ entry: Entry, in store: Store) {
    kind = entry.kind
    let attributes = entry.attributes
    mode = attributes.mode ?? (entry.isDirectory ? 0o755 : 0o644)
    owner = (attributes.uid, attributes.gid)
    mtime = attributes.mtime
    device = attributes.device
    extended = attributes.extended
    length = entry.isDirectory ? 0 : entry.stored.length
    source = .stored(entry.stored, store)
  }

  package init?(live path: [UInt8]) throws(SystemError) {
    let status: FileStatus
    do throws(SystemError) {
      status = try FileSystem.status(path)
    } catch {
      guard error.isAbsence else { throw error }
      return nil
    }
    kind = EntryKind(status.kind) ?? .regular
    mode = status.mode
    owner = (nil, nil)
    var extended: [Attributes.Extended] = []
    for name in try FileSystem.extendedNames(path) {
      guard let value = try FileSystem.extended(path, name) else { continue }
      extended.append(Attributes.Extended(name: name, value: value))
    }
    self.extended = extended.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    length = kind == .directory ? 0 : status.size
    source = .live(path)
  }

  package init(_ status: InodeStatus, of tree: TreeSession) throws(StoreError) {
    kind = status.kind
    mode = status.mode
    owner = (nil, nil)
    length = kind == .directory ? 0 : status.size
    source = .unmounted(status.number, tree)
    extended = try StoreError.wrapping { () throws(FSError) in
      var extended: [Attributes.Extended] = []
      for name in try tree.files.listxattr(status.number).split(separator: 0).map({ Array($0) }) {
        extended.append(
          Attributes.Extended(name: name, value: try tree.files.getxattr(status.number, name)))
      }
      return extended.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }
  }

  package var isDirectory: Bool { kind == .directory }

  /// True if the store has forgotten or never got the bytes.
  package func lacksBytes() throws(StoreError) -> Bool {
    guard case .stored(let stored, let store) = source else { return false }
    return try !store.canRead(stored)
  }

  /// True if times and owners come from stat(2), not from a version.
  var isLive: Bool {
    switch source {
    case .stored: false
    case .live, .unmounted: true
    }
  }

  /// True if it has bytes that can be compared: those of a regular file, or the target of a link.
  var hasBytes: Bool { kind == .regular || kind == .symlink }

  /// Returns all bytes; nil if there are more than `bound`, or more than when its status was read.
  func bytes(atMost bound: UInt64) throws -> [UInt8]? {
    guard length <= bound else { return nil }
    switch source {
    case .stored(let stored, let store): return try store.contents.bytes(stored, atMost: bound)
    case .live(let path):
      if kind == .symlink { return try FileSystem.readlink(path) }
      let bytes = try File(bytes: path, .read).read(Int(length) + 1, at: 0)
      // The file grew after its status was read.
      return bytes.count > Int(length) ? nil : bytes
    case .unmounted(let number, let tree):
      return try Self.read(number, of: tree, at: 0, Int(length))
    }
  }

  /// True if the bytes are equal: O(1) if both are in versions, else both are read in bounded memory.
  func hasSameBytes(as other: FileImage) throws -> Bool {
    guard kind == other.kind, length == other.length else { return false }
    guard hasBytes, length > 0 else { return true }
    if case .stored(let a, _) = source, case .stored(let b, _) = other.source {
      return a.digest == b.digest
    }
    let piece: UInt64 = 1 << 20
    var offset: UInt64 = 0
    while offset < length {
      let one = try part(at: offset, piece)
      guard try one == other.part(at: offset, piece), !one.isEmpty else { return false }
      offset += UInt64(one.count)
    }
    return true
  }

  func digest() throws -> Digest {
    var hasher = SHA256Hasher()
    try forEachPart { hasher.update($0) }
    return hasher.finish()
  }

  func gitID() throws -> String {
    var blob = GitBlob(length: length)
    try forEachPart { blob.update($0) }
    return blob.id()
  }

  private func forEachPart(_ body: ([UInt8]) -> Void) throws {
    var offset: UInt64 = 0
    while offset < length {
      let part = try part(at: offset, min(1 << 20, length - offset))
      guard !part.isEmpty else { break }
      body(part)
      offset += UInt64(part.count)
    }
  }

  private func part(at offset: UInt64, _ count: UInt64) throws -> [UInt8] {
    switch source {
    case .stored(let stored, let store):
      return try store.contents.bytes(stored, from: offset, count: Int(count))
    case .live(let path):
      if kind == .symlink { return Array(try FileSystem.readlink(path).dropFirst(Int(offset))) }
      return try File(bytes: path, .read).read(Int(count), at: offset)
    case .unmounted(let number, let tree):
      let rest = length - min(offset, length)
      return try Self.read(number, of: tree, at: offset, Int(min(count, rest)))
    }
  }

  private static func read(
    _ number: InodeNumber, of tree: TreeSession, at offset: UInt64, _ count: Int
  ) throws -> [UInt8] {
    try StoreError.wrapping { () throws(FSError) in
      try [UInt8](count: count) { (out) throws(FSError) in
        try tree.files.read(number, at: offset, into: out)
      }
    }
  }

  /// True if a version would record no change from the other file, apart from times and owners.
  package func isLike(_ other: FileImage) throws -> Bool {
    guard kind == other.kind, kind == .symlink || mode == other.mode, extended == other.extended
    else { return false }
    return try hasSameBytes(as: other)
  }

  /// The mode in git's form, which includes the kind.
  var gitMode: String {
    let (kind, bits): (UInt32, UInt32) = self.kind == .symlink ? (0o120000, 0) : (0o100000, mode)
    return String(kind | bits, radix: 8)
  }
}
