import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import MountedTree

/// A node stands in few bytes where it is plain; what is seen of it is the same either way.
struct LiveNodeTests {
  /// What a node was told, kept plainly.
  private struct Plain {
    var entry: Entry?
    var attributes: Attributes
    var name: [UInt8]
    var ctime: Attributes.Time
    var born: Attributes.Time
    var atime: Attributes.Time?
    var zeroBytes: UInt64 = 0
    var handles: Int32 = 0
  }

  // Only read.
  private nonisolated(unsafe) static let top = LiveNode(
    inode: 1, kind: .directory, parent: nil, name: [], entry: nil, attributes: Attributes(),
    ctime: Attributes.Time(seconds: 0, nanoseconds: 0), directory: LiveDirectory(basePath: []))

  private static func name(_ random: inout SeededRandom) -> [UInt8] {
    let lengths = [1, 3, 21, 22, 23, 24, 255]
    let length = lengths[Int(random.next() % UInt64(lengths.count))]
    return (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next() % 250 + 1) }
  }

  private static func time(_ random: inout SeededRandom) -> Attributes.Time {
    Attributes.Time(
      seconds: Int64(bitPattern: random.next()) >> 8,
      nanoseconds: UInt32(random.next() % 1_000_000_000))
  }

  private static func attributes(_ random: inout SeededRandom) -> Attributes {
    var result = Attributes()
    if random.next() % 4 > 0 { result.mode = UInt32(random.next() % 0o10000) }
    if random.next() % 4 > 0 { result.mtime = time(&random) }
    if random.next() % 4 == 0 { result.uid = UInt32(truncatingIfNeeded: random.next()) }
    if random.next() % 4 == 0 { result.gid = [0, 1000, .max, .max - 1][Int(random.next() % 4)] }
    if random.next() % 8 == 0 { result.device = Attributes.Device(major: 8, minor: 1) }
    if random.next() % 8 == 0 { result.linkID = [UInt8](repeating: 7, count: 16) }
    if random.next() % 8 == 0 {
      result.extended = [Attributes.Extended(name: Array("user.a".utf8), value: [1, 2])]
    }
    return result
  }

  private static func entry(
    _ plain: Plain, above: [UInt8], _ random: inout SeededRandom
  ) -> Entry {
    let contents: [Content] = [
      .none, .inline([1, 2, 3]), .chunk(Location(segment: 3, offset: 1 << 40, length: 77)),
      .tree(Location(segment: .max, offset: .max, length: .max)),
      .chunk(Location(segment: .max - 1, offset: 1 << 40 - 1, length: .max)),
      .tree(Location(segment: 1, offset: 1 << 32 + 5, length: 6)),
    ]
    func number() -> UInt64 {
      [random.next(), random.next() >> 24, 1 << 40, 1 << 40 - 1, 9][Int(random.next() % 5)]
    }
    var path = above.isEmpty ? plain.name : above + [0x2F] + plain.name
    if random.next() % 4 == 0 { path = Array("%llvs%else".utf8) }
    return Entry(
      key: Key(bytes: path), kind: random.next() % 8 == 0 ? .symlink : .regular,
      attributes: random.next() % 3 == 0 ? attributes(&random) : plain.attributes,
      stored: StoredContent(
        length: number(), digest: Digest.of(path), content: contents[Int(random.next() % 6)]),
      storedVersion: VersionNumber(UInt32(truncatingIfNeeded: random.next())),
      inode: random.next() % 4 == 0 ? 99 : 42, revision: number())
  }

  @Test("whatever a node was told it tells again", arguments: 0..<40)
  func remembers(_ seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    for above in [[], Array("a/b".utf8)] as [[UInt8]] {
      let parent = LiveNode(
        inode: 2, kind: .directory, parent: Self.top, name: Array("p".utf8), entry: nil,
        attributes: Attributes(), ctime: Self.time(&random),
        directory: LiveDirectory(basePath: above))
      let start = Self.time(&random)
      var plain = Plain(
        attributes: Self.attributes(&random), name: Self.name(&random), ctime: start, born: start)
      plain.entry = Self.entry(plain, above: above, &random)
      let node = LiveNode(
        inode: 42, kind: .regular, parent: parent, name: plain.name, entry: plain.entry,
        attributes: plain.attributes, ctime: start, directory: nil)
      for _ in 0..<200 {
        switch random.next() % 10 {
        case 0:
          plain.attributes = Self.attributes(&random)
          node.attributes = plain.attributes
        case 1:
          plain.attributes.mtime = Self.time(&random)
          node.attributes.mtime = plain.attributes.mtime
        case 2, 3:
          plain.entry = random.next() % 5 == 0 ? nil : Self.entry(plain, above: above, &random)
          node.entry = plain.entry
        case 4:
          if let entry = plain.entry { plain.attributes = entry.attributes }
          node.attributes = plain.attributes
        case 5:
          plain.name = Self.name(&random)
          node.move(to: parent, as: plain.name)
        case 6:
          plain.ctime = Self.time(&random)
          node.ctime = plain.ctime
        case 7:
          plain.zeroBytes = random.next() % 2 == 0 ? 0 : random.next()
          node.zeroBytes = plain.zeroBytes
        default:
          plain.handles = plain.handles == 0 ? 3 : 0
          node.handles = plain.handles
        }
        if random.next() % 2 == 0 { node.compact() }
        // May be given up while a recorded mtime hides it.
        if plain.attributes.mtime != nil { plain.born = node.born }
        #expect(node.born == plain.born)
        #expect(node.entry == plain.entry)
        #expect(node.isInBase == (plain.entry != nil))
        #expect(node.stored == plain.entry?.stored)
        #expect(node.recordsTime == (plain.entry?.attributes.mtime != nil))
        #expect(node.size == plain.entry?.stored.length ?? 0)
        #expect(node.attributes == plain.attributes)
        #expect(node.name == plain.name && node.isNamed(plain.name))
        #expect(node.stands(at: plain.name, of: parent))
        #expect(node.path == Array("p/".utf8) + plain.name)
        #expect(node.ctime == plain.ctime)
        #expect(node.zeroBytes == plain.zeroBytes)
        #expect(node.handles == plain.handles)
      }
      #expect(parent.pins == 1)
    }
  }

  @Test("a name that does not fit is told from one that begins alike")
  func names() {
    for length in 0...40 {
      let bytes = (0..<length).map { UInt8($0 + 1) }
      let name = NameBytes(bytes)
      #expect(name.array == bytes && name.count == length && name == bytes)
      #expect(!(name == bytes + [0]))
      #expect(!(name == bytes + [1]))
      if length > 0 {
        #expect(!(name == Array(bytes.dropLast())))
        #expect(!(name == Array(bytes.dropLast()) + [99]))
      }
    }
  }

  @Test("a node of the common kind takes 168 bytes, also once it was open and changed")
  func size() {
    let time = Attributes.Time(seconds: 5, nanoseconds: 6)
    let attributes = Attributes(mode: 0o644, mtime: time, uid: 7)
    let node = LiveNode(
      inode: 42, kind: .regular, parent: Self.top, name: Array("notes.txt".utf8), entry: nil,
      attributes: attributes, ctime: time, directory: nil)
    let entry = Entry(
      key: Key("notes.txt"), kind: .regular, attributes: attributes,
      stored: StoredContent(
        length: 5, digest: Digest.of([]),
        content: .chunk(Location(segment: 1, offset: 2, length: 3))),
      storedVersion: VersionNumber(1), inode: 42, revision: 9)
    node.handles += 1
    node.ctime = Attributes.Time(seconds: 8, nanoseconds: 0)
    node.file = LiveFile(content: FileContent())
    node.stamp = 3
    #expect(!node.isPlain)
    node.file = nil
    node.entry = entry
    node.handles -= 1
    #expect(node.isPlain)
    #expect(node.entry == entry)
    #expect(SystemMemory.size(of: node) <= 168)
  }
}
