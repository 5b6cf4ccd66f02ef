import LLVSCore
import TestSupport
import Testing

@testable import HistoryTree
@testable import TreeNames

@Suite("Keys shown as a tree of names", .timeLimit(.minutes(2)))
struct TreeViewTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func view(values: [[UInt8]], directories: [[UInt8]] = []) throws -> TreeView {
    let nodes = OverlayNodes(over: NoNodes())
    let empty = ValueMap(emptyIn: nodes, cache: NodeCache(budget: 1 << 20))
    var edits: [MapEdit] = []
    for key in Set(values) { edits.append(.put(entry(key, .regular))) }
    for key in Set(directories) { edits.append(.put(entry(key, .directory))) }
    edits.sort(by: MapEdit.precedes)
    return TreeView(map: try empty.applying(edits: edits))
  }

  private func entry(_ key: [UInt8], _ kind: EntryKind) -> Entry {
    Entry(
      key: Key(bytes: key), kind: kind, attributes: Attributes(),
      stored: StoredContent(length: 0, digest: .ofNothing, content: .none),
      storedVersion: VersionNumber(1), revision: 1)
  }

  private struct Shown {
    var values: [(path: [UInt8], entry: Entry)] = []
    var directories: [(path: [UInt8], entry: Entry?)] = []
  }

  /// Everything that the listings show, checked for legal and unique names on the way.
  private func walk(_ view: TreeView, _ note: String) throws -> Shown {
    var shown = Shown()
    var open: [[UInt8]] = [[]]
    while let directory = open.popLast() {
      var names: Set<[UInt8]> = []
      var listing = view.list(directory)
      while let item = try listing.next() {
        let name = item.name
        #expect(names.insert(name).inserted, "\(text(name)) twice, \(note)")
        #expect(
          !name.isEmpty && name.count <= 255 && !name.contains(0) && !name.contains(0x2F)
            && ![bytes("."), bytes(".."), bytes(".llvs")].contains(name), "\(name), \(note)")
        let path = directory.isEmpty ? name : directory + [0x2F] + name
        let found = try view.find(path: path)
        if item.kind == .directory {
          #expect(found == .directory(item.entry), "\(text(path)), \(note)")
          shown.directories.append((path, item.entry))
          open.append(path)
        } else {
          let entry = try #require(item.entry)
          #expect(found == .value(entry), "\(text(path)), \(note)")
          shown.values.append((path, entry))
        }
      }
      if !directory.isEmpty {
        #expect(try view.hasChildren(directory) == !names.isEmpty, "\(text(directory)), \(note)")
      }
    }
    return shown
  }

  private func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  @Test("any set of keys is shown whole, each key once, under names that find it again")
  func nasty() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let pieces: [[UInt8]] =
      [
        "a", "b", "a-b", "a.c", "a0", "..", ".", ".llvs", "", "é", "e\u{301}", "%llvs%", "%llvs%a",
        "%llvs%a%2Fb", "%llvs%a%~1", "%llvs%%FF", "%llvs%e%CC%81", "x\u{0}y",
        String(repeating: "l", count: 256), String(repeating: "é", count: 127),
        "%llvs%" + String(repeating: "m", count: 300),
      ].map(bytes) + [[0xFF], [0x61, 0xFE]]
    var before: TreeView?
    for round in 0..<150 {
      func path() -> [UInt8] {
        let count = Int.random(in: 1...4, using: &random)
        return Array(
          (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }
            .joined(separator: [0x2F]))
      }
      func key() -> [UInt8]? {
        let path = path()
        let isEscaped = Bool.random(using: &random)
        let key = isEscaped ? KeyCoding.key(ofPath: path).bytes : path
        return String(validating: key, as: UTF8.self) == nil ? nil : key
      }
      let values = (0..<Int.random(in: 1...25, using: &random)).compactMap { _ in key() }
      let directories = (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in key() }
        .filter { !$0.isEmpty }
      let view = try view(values: values, directories: directories)
      let note = "round \(round), seed \(seed)"
      let shown = try walk(view, note)
      let keys = shown.values.map(\.entry.key.bytes)
      #expect(keys.count == Set(keys).count && Set(keys) == Set(values), "\(note)")
      for (path, entry) in shown.values {
        #expect(try view.path(of: entry.key) == path, "\(text(entry.key.bytes)), \(note)")
        #expect(try view.key(forNewPath: path) == entry.key, "\(text(path)), \(note)")
      }
      let behind = try behindDirectories(shown)
      let found = try view.valuesBehindDirectories()
      #expect(
        found.map(\.rawValue) == behind.map(\.rawValue), "\(note)")
      for directory in shown.directories where !directory.path.isEmpty {
        let below = behind.filter { TreeView.ownPath($0).starts(with: directory.path + [0x2F]) }
        #expect(
          try view.displacedValues(below: directory.path) == Set(below),
          "\(text(directory.path)), \(note)")
      }
      if let before {
        let known = try before.valuesBehindDirectories()
        #expect(
          try view.valuesBehindDirectories(knowing: known, of: before.map) == behind, "\(note)")
      }
      before = view
      let taken = Set(shown.values.map(\.path) + shown.directories.map(\.path))
      for _ in 0..<20 {
        let free = path()
        let isLegal = free.split(separator: 0x2F, omittingEmptySubsequences: false).allSatisfy {
          !$0.isEmpty && $0.count < 256 && !$0.contains(0)
            && ![bytes("."), bytes(".."), bytes(".llvs")].contains(Array($0))
        }
        guard isLegal, !taken.contains(free) else { continue }
        #expect(try view.find(path: free) == nil, "\(text(free)), \(note)")
        let new = try view.key(forNewPath: free)
        #expect(try view.map.entry(at: new) == nil, "\(text(free)), \(note)")
        #expect(KeyCoding.path(of: new) == free, "\(text(free)), \(note)")
      }
    }
  }

  /// The values that are not shown at their own path because a directory is, by what is shown.
  private func behindDirectories(_ shown: Shown) throws -> [Key] {
    let directories = Set(shown.directories.map(\.path))
    return shown.values.compactMap { path, entry in
      let own = KeyCoding.path(of: entry.key) ?? entry.key.bytes
      return path != own && directories.contains(own) ? entry.key : nil
    }.sorted()
  }

  @Test("a directory keeps the name that a value wants too")
  func valueAndDirectory() throws {
    let view = try view(values: ["a", "a-b", "a/b", "a/b/c", "z"].map(bytes))
    let shown = try walk(view, "")
    #expect(
      Set(shown.values.map { text($0.path) }) == [
        "%llvs%a", "a-b", "a/%llvs%a%2Fb", "a/b/c", "z",
      ])
    #expect(Set(shown.directories.map { text($0.path) }) == ["a", "a/b"])
  }

  @Test("names beyond the limit are shown escaped where it is reached", arguments: [false, true])
  func tooDeep(isEscaped: Bool) throws {
    let limit = PathLimit.names
    func path(_ count: Int, _ name: String = "a") -> [UInt8] {
      let path = bytes([String](repeating: name, count: count).joined(separator: "/"))
      // Composed differently, so that its key is escaped.
      return isEscaped ? bytes("e\u{301}/") + path[(path.count > 1 ? 2 : 1)...] : path
    }
    func key(_ path: [UInt8]) -> [UInt8] { isEscaped ? KeyCoding.escaped(path) : path }
    let deep = [limit + 1, limit + 40].map { key(path($0)) }
    let values = deep + [key(path(limit / 8, "b"))]
    let view = try view(values: values, directories: [key(path(limit + 7))])
    let shown = try walk(view, "")
    #expect(Set(shown.values.map(\.entry.key.bytes)) == Set(values))
    #expect(shown.values.count == values.count)
    let home = path(limit) + [0x2F]
    for (path, entry) in shown.values {
      #expect(try view.path(of: entry.key) == path)
      #expect(try view.key(forNewPath: path) == entry.key)
      let isDeep = deep.contains(entry.key.bytes)
      #expect(isDeep == path.starts(with: home + bytes("%llvs%")))
    }
    #expect(shown.directories.map(\.path.count).max() == path(limit).count)
    #expect(try view.find(path: path(limit + 1)) == nil)
    #expect(try view.valuesBehindDirectories() == [])
  }

  @Test("what is no name is shown escaped in the deepest directory that can be named")
  func escaped() throws {
    let view = try view(values: ["", ".", "a//b", "a/../b", "/abs", "a/.llvs/x/y"].map(bytes))
    let shown = try walk(view, "")
    #expect(
      Set(shown.values.map { text($0.path) }) == [
        "%llvs%", "%llvs%.", "a/%llvs%a%2F%2Fb", "a/%llvs%a%2F..%2Fb", "%llvs%%2Fabs",
        "a/%llvs%a%2F.llvs%2Fx%2Fy",
      ])
  }

  @Test("a literal key has the name before an escaped one of the same path")
  func literalFirst() throws {
    let literal = bytes("e\u{301}")
    let view = try view(values: [literal, KeyCoding.key(ofPath: literal).bytes])
    #expect(try view.find(path: literal).map { $0 == .value(entry(literal, .regular)) } == true)
    let shown = try walk(view, "")
    #expect(shown.values.count == 2)
  }

  @Test("a directory of many names is listed without reading what is below its subdirectories")
  func wide() throws {
    var values: [[UInt8]] = []
    for number in 0..<2000 {
      values.append(bytes("d/f\(number)"))
      values.append(bytes("d/s\(number % 50)/\(number)"))
    }
    let view = try view(values: values)
    var listing = view.list(bytes("d"))
    var count = 0
    while try listing.next() != nil { count += 1 }
    #expect(count == 2050)
  }
}

/// Below an overlay that holds every node.
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
