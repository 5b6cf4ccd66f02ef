import Inodes
import LLVSCore
import Synchronization
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Listing directories over a recorded tree of a real store, while names come, go and become versions.
@Suite("Listings", .timeLimit(.minutes(3)))
struct ListingTests {
  private func name(_ text: String) -> FileName { FileName(Array(text.utf8)) }

  private func names(_ fixture: FileFixture, _ directory: InodeNumber = .root) throws -> [String] {
    let listing = try fixture.tree.openDirectory(directory)
    return try all(fixture, listing).map { String(decoding: $0.name.bytes, as: UTF8.self) }
  }

  /// All names of a listing from a cookie on.
  private func all(
    _ fixture: FileFixture, _ listing: DirectoryListing, after start: EntryCookie = .start
  ) throws -> [ListedName] {
    var (found, cookie) = ([ListedName](), start)
    while true {
      let page = try fixture.tree.list(listing, after: cookie)
      guard let last = page.last else { return found }
      #expect(page.map(\.cookie) == page.map(\.cookie).sorted())
      found += page
      cookie = last.cookie
    }
  }

  @Test("a listing shows what is pending in place of what is recorded")
  func overlay() throws {
    let fixture = try FileFixture(["a": [1], "b": [2], "c/x": [3]])
    let tree = fixture.tree
    try tree.unlink(.root, name("a"))
    let made = try fixture.create("new").number
    try tree.rename(FileFixture.place("new"), to: FileFixture.place("b"), mode: .replacing)
    let directory = try fixture.number("c")
    let listed = try all(fixture, try tree.openDirectory(.root))
    #expect(listed.map(\.name) == [name("b"), name("c")])
    #expect(listed.map(\.number) == [made, directory])
    #expect(listed.map(\.kind) == [.regular, .directory])
    #expect(try names(fixture, directory) == ["x"])
    #expect(try tree.parent(of: directory) == .root)
    expect(.notDirectory) { try tree.openDirectory(made) }
    expect(.stale) { try tree.openDirectory(InodeNumber(1 << 39)) }
  }

  @Test("a listing that begins again shows what came meanwhile, and recorded names take no memory")
  func rewind() throws {
    let files = Dictionary(uniqueKeysWithValues: (0..<1500).map { ("file\($0)", [UInt8]()) })
    let fixture = try FileFixture(files)
    let listing = try fixture.tree.openDirectory(.root)
    #expect(try all(fixture, listing).count == 1500)
    #expect(listing.pending.withLock { $0?.names.count } == 0)
    _ = try fixture.create("late")
    for number in 0..<1400 { try fixture.tree.unlink(.root, name("file\(number)")) }
    let again = try all(fixture, listing)
    #expect(again.count == 101)
    #expect(again.contains { $0.name == name("late") })
    #expect(listing.pending.withLock { $0?.names.count } == 1401)
  }

  @Test("a directory that was removed while it is open has no names")
  func removed() throws {
    let fixture = try FileFixture(["d/x": [1]])
    let directory = try fixture.number("d")
    let listing = try fixture.tree.openDirectory(directory)
    try fixture.tree.unlink(directory, name("x"))
    try fixture.tree.removeDirectory(.root, name("d"))
    #expect(try fixture.tree.list(listing, after: .start) == [])
  }

  @Test("names of one hash have cookies of their own, which stay when a version has them")
  func collisions() throws {
    let fixture = try FileFixture(["other": [1]])
    let hash = CookieHash(key: fixture.recorded.state.hashKey)
    var seen: [EntryCookie: FileName] = [:]
    var pairs: [[FileName]] = []
    var number = 0
    while pairs.count < 4 {
      let name = self.name("file\(number)")
      if let twin = seen.updateValue(name, forKey: hash.first(of: name)) {
        pairs.append([twin, name])
      }
      number += 1
    }
    for pair in pairs {
      for name in pair.reversed() {
        let text = String(decoding: name.bytes, as: UTF8.self)
        let (_, handle) = try fixture.create(text)
        try fixture.write(handle, [1])
        try fixture.tree.release(handle)
        // Which of the two was listed first decides.
        _ = try names(fixture)
      }
    }
    let listing = try fixture.tree.openDirectory(.root)
    let before = try all(fixture, listing)
    #expect(Set(before.map(\.cookie)).count == 9)
    #expect(Set(before.map(\.name)).isSuperset(of: pairs.joined()))
    let texts = pairs.joined().map { String(decoding: $0.bytes, as: UTF8.self) }
    try fixture.take(Array(texts.prefix(5)))
    #expect(try all(fixture, listing) == before)
    try fixture.take(Array(texts.dropFirst(5)))
    #expect(try all(fixture, listing) == before)
    try fixture.check()
  }

  @Test(
    "what nobody touches is met exactly once, whatever comes, goes and becomes a version",
    arguments: 0..<12 as Range<UInt64>)
  func exactlyOnce(seed: UInt64) throws {
    var life = try ListingLife(seed: seed)
    try life.run()
  }
}

/// A directory that is listed while programs and heads change other names in it.
private struct ListingLife {
  private let fixture: FileFixture
  private var random: SeededRandom
  /// Names that nobody touches while the listing goes on.
  private var untouched: Set<String> = []
  /// The names among them that are pending and saved: versions take them.
  private var takeable: [String] = []
  /// The names among them with unsaved bytes; other heads take these names.
  private var written: [String] = []
  /// Other names that are there.
  private var others: Set<String> = []
  private var made = 0

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    let recorded = Int.random(in: 200..<900, using: &random)
    let names = (0..<recorded).map { "file\($0)" }
    fixture = try FileFixture(
      Dictionary(uniqueKeysWithValues: names.map { ($0, Array($0.utf8)) }))
    for name in names {
      if Bool.random(using: &random) { untouched.insert(name) } else { others.insert(name) }
    }
    for name in names.prefix(12) where untouched.contains(name) {
      let handle = try fixture.tree.open(try fixture.number(name), mode: .write).handle
      try fixture.write(handle, [9])
      written.append(name)
    }
    for number in 0..<Int.random(in: 50..<400, using: &random) {
      let name = "new\(number)"
      try make(name)
      if Bool.random(using: &random) {
        untouched.insert(name)
        takeable.append(name)
      } else {
        others.insert(name)
      }
    }
  }

  private func make(_ name: String) throws {
    let (number, handle) = try fixture.create(name)
    try fixture.write(handle, Array(name.utf8))
    try fixture.tree.release(handle)
    fixture.tree.forget(number, count: 1)
  }

  mutating func run() throws {
    var met: [String: Int] = [:]
    var cookies: [String: EntryCookie] = [:]
    let listings = try (0..<2).map { _ in try fixture.tree.openDirectory(.root) }
    var cookie = EntryCookie.start
    while true {
      let listing = listings[Int.random(in: 0..<2, using: &random)]
      let limit = Int.random(in: 1...600, using: &random)
      let page = try fixture.tree.list(listing, after: cookie, atMost: limit)
      guard !page.isEmpty else { break }
      #expect(page.count <= limit)
      // A buffer has room for some of them.
      for entry in page.prefix(Int.random(in: 1...150, using: &random)) {
        let name = String(decoding: entry.name.bytes, as: UTF8.self)
        #expect(entry.cookie > cookie)
        cookie = entry.cookie
        met[name, default: 0] += 1
        cookies[name] = cookie
      }
      for _ in 0..<Int.random(in: 0..<20, using: &random) { try change() }
      if Int.random(in: 0..<3, using: &random) == 0 { try head() }
    }
    for name in untouched {
      #expect(met[name] == 1, "\(name), seed \(random.seed)")
      try goOn(from: cookies[name], in: listings[0], name)
    }
    try fixture.check()
  }

  /// Goes on behind a cookie that a listing gave, as seekdir(3) does: the first that follows is behind it.
  private mutating func goOn(
    from cookie: EntryCookie?, in listing: DirectoryListing, _ name: String
  ) throws {
    guard let cookie, Int.random(in: 0..<40, using: &random) == 0 else { return }
    let before = EntryCookie(cookie.rawValue - 1)
    let next = try fixture.tree.list(listing, after: before).first
    #expect(next.map { String(decoding: $0.name.bytes, as: UTF8.self) } == name)
  }

  /// A program changes a name that is not among those which nobody touches.
  private mutating func change() throws {
    made += 1
    let name = others.sorted().randomElement(using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      try make("come\(made)")
      others.insert("come\(made)")
    case 1:
      guard let name else { return }
      try fixture.tree.unlink(.root, FileFixture.place(name).name)
      others.remove(name)
    case 2:
      guard let name else { return }
      let target = Bool.random(using: &random) ? others.sorted().randomElement(using: &random) : nil
      let to = target ?? "file\(made)-moved"
      guard to != name else { return }
      try fixture.tree.rename(
        FileFixture.place(name), to: FileFixture.place(to), mode: .replacing)
      others.remove(name)
      others.insert(to)
    default:
      guard let name, let other = others.sorted().randomElement(using: &random), name != other
      else { return }
      try fixture.tree.rename(
        FileFixture.place(name), to: FileFixture.place(other), mode: .exchange)
    }
  }

  /// Another head comes: by a version of what is pending, or from elsewhere.
  private mutating func head() throws {
    if Bool.random(using: &random) {
      takeable.shuffle(using: &random)
      let taken = Array(takeable.prefix(Int.random(in: 0...60, using: &random)))
      takeable.removeFirst(taken.count)
      return try fixture.take(taken)
    }
    made += 1
    var files: [String: [UInt8]?] = ["merged\(made)": [UInt8(made & 0xFF)]]
    if let name = written.popLast() { files[name] = .some(nil) }
    try fixture.follow(files)
    others.insert("merged\(made)")
  }
}
