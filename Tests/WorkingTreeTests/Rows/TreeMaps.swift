import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeNames
import WorkingTree

@testable import TreeSupport

/// Maps in memory for tests, with keys that are hard to show as paths.
struct TreeMaps {
  private let empty: ValueMap
  var random: SeededRandom

  init(seed: UInt64) {
    empty = ValueMap(emptyIn: OverlayNodes(over: NoNodes()), cache: NodeCache(budget: 1 << 22))
    random = SeededRandom(seed: seed)
  }

  /// Names that stand in each other's way: keys of directories and of values, escapes, names like
  /// those of displaced values, and names that no file can have.
  static let pieces: [[UInt8]] =
    [
      "a", "b", "c", "a-b", "a0", "..", ".llvs", "", "é", "e\u{301}", "%llvs%", "%llvs%a",
      "%llvs%a%2Fb", "%llvs%a%~1", "%llvs%%FF", "%llvs%e%CC%81",
    ].map { Array($0.utf8) } + [[0xFF], long, DisplacedName.candidate(0, for: Key(bytes: long))]

  /// A name that is too long; a value of this key has an escaped name that does not hold the key.
  private static let long = [UInt8](repeating: 0x6C, count: 256)

  /// A map as a set of entries.
  typealias Entries = [MapPlace: Entry]

  struct MapPlace: Hashable {
    var key: Key
    var isDirectory: Bool
  }

  func map(_ entries: Entries) throws -> ValueMap {
    let edits = entries.values.map { MapEdit.put($0) }.sorted(by: MapEdit.precedes)
    return try empty.applying(edits: edits)
  }

  func view(_ entries: Entries) throws -> TreeView { TreeView(map: try map(entries)) }

  // MARK: - Random entries

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  mutating func key() -> Key? {
    let count = Int.random(in: 1...4, using: &random)
    // Most names are plain, so that paths meet.
    let names = (0..<count).map { _ in
      Self.pieces[
        chance(65)
          ? Int.random(in: 0..<3, using: &random)
          : Int.random(in: 0..<Self.pieces.count, using: &random)]
    }
    let path = Array(names.joined(separator: [0x2F]))
    let key = chance(50) ? KeyCoding.key(ofPath: path).bytes : path
    return String(validating: key, as: UTF8.self) == nil ? nil : Key(bytes: key)
  }

  mutating func entry(_ key: Key, isDirectory: Bool) -> Entry {
    let content = isDirectory ? [] : (chance(20) ? [] : [UInt8(random.next() % 5), 7])
    var attributes = Attributes()
    if chance(50) { attributes.mode = UInt32(random.next() % 3) }
    if !isDirectory, chance(25) {
      attributes.linkID = [UInt8](repeating: UInt8(random.next() % 2), count: 16)
    }
    return Entry(
      key: key, kind: isDirectory ? .directory : chance(10) ? .symlink : .regular,
      attributes: attributes,
      stored: StoredContent(
        length: UInt64(content.count), digest: Digest.of(content),
        content: content.isEmpty ? .none : .inline(content)),
      storedVersion: VersionNumber(UInt32(1 + random.next() % 2)), revision: random.next() % 100)
  }

  /// Changes some entries at random.
  mutating func mutate(_ entries: inout Entries, changes: Int) {
    for _ in 0..<changes {
      if chance(30), let place = entries.keys.sorted(by: precedes).randomElement(using: &random) {
        if chance(50) {
          entries[place] = nil
        } else {
          entries[place] = entry(place.key, isDirectory: place.isDirectory)
        }
        continue
      }
      if chance(8) {
        moveDirectory(&entries)
        continue
      }
      guard let key = key() else { continue }
      let isDirectory = chance(25) && !key.bytes.isEmpty
      entries[MapPlace(key: key, isDirectory: isDirectory)] = entry(key, isDirectory: isDirectory)
    }
  }

  /// Removes everything below a name, or gives it another name.
  private mutating func moveDirectory(_ entries: inout Entries) {
    let from = Self.pieces[Int.random(in: 0..<3, using: &random)] + [0x2F]
    let to = Self.pieces[Int.random(in: 0..<3, using: &random)] + [0x2F]
    let keepsNames = chance(60)
    for (place, entry) in entries.sorted(by: { precedes($0.key, $1.key) })
    where place.key.bytes.starts(with: from) {
      entries[place] = nil
      guard keepsNames else { continue }
      var moved = entry
      moved.key = Key(bytes: to + place.key.bytes[from.count...])
      entries[MapPlace(key: moved.key, isDirectory: place.isDirectory)] = moved
    }
  }

  private func precedes(_ a: MapPlace, _ b: MapPlace) -> Bool {
    a.key == b.key ? !a.isDirectory && b.isDirectory : a.key < b.key
  }

  // MARK: - What a tree shows

  /// Everything that a tree shows, found by listing every directory.
  static func shown(_ view: TreeView) throws -> [TreePath: TreeView.Found] {
    var shown: [TreePath: TreeView.Found] = [:]
    var open: [TreePath] = [.root]
    while let directory = open.popLast() {
      var listing = view.list(directory.bytes)
      while let item = try listing.next() {
        let path = directory.appending(FileName(item.name))
        if item.kind == .directory {
          shown[path] = .directory(item.entry)
          open.append(path)
        } else if let entry = item.entry {
          shown[path] = .value(entry)
        }
      }
    }
    return shown
  }
}

/// Storage below an overlay that holds every node.
private final class NoNodes: NodeStorage {
  func writeNode(
    _ bytes: UnsafeRawBufferPointer, after prior: Location?
  ) throws(StoreError) -> Location {
    throw .readOnly
  }

  func readNode(at location: Location) throws(StoreError) -> [UInt8] {
    throw .corrupt("no node there")
  }
}

extension NumberSource {
  /// Hands out the numbers from one on.
  convenience init(from first: UInt64) {
    let next = Monitor(first)
    self.init { count in
      next.withLock { next in
        defer { next += count }
        return next
      }
    }
  }
}
