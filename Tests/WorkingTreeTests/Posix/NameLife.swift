import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs that make, move and remove names at random in a working tree and in a ``PlainTree``.
struct NameLife {
  let fixture: FileFixture
  private var random: SeededRandom
  private var plain = PlainTree()
  private var handles: [(handle: HandleNumber, number: InodeNumber)] = []
  /// The mtimes of directories as they were shown last.
  private var times: [InodeNumber: Attributes.Time] = [:]
  private(set) var log: [String] = []

  private let caller = Caller(uid: 1000, gid: 1000, umask: 0o022)
  private static let names = ["a", "b", "c", "d", "e"]
  private static let recorded = [
    "a/a/a", "a/a/b", "a/b", "b/a/c/d/e", "b/a/c/a", "c", "d/d", "e/e/e",
  ]

  init(seed: UInt64, over kind: JournalKind) throws {
    random = SeededRandom(seed: seed)
    let files = Self.recorded.map { ($0, Array($0.utf8)) }
    fixture = try FileFixture(Dictionary(uniqueKeysWithValues: files), over: kind)
    for path in Self.recorded {
      var directory = InodeNumber.root
      for name in path.split(separator: "/").map(String.init) {
        let place = PlainTree.Place(directory: directory, name: name)
        let status = try fixture.tree.lookup(directory, Self.name(name))
        if plain.at(place) == nil { plain.make(status.kind, status.number, at: place) }
        plain.hold(status.number, lookups: 1)
        directory = status.number
      }
    }
  }

  private static func name(_ text: String) -> FileName { FileName(Array(text.utf8)) }

  private static func inodeName(_ place: PlainTree.Place) -> InodeName {
    InodeName(directory: place.directory, name: name(place.name))
  }

  // MARK: - Choices

  private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

  private mutating func number() -> InodeNumber {
    let numbers = plain.numbers
    return numbers[below(numbers.count)]
  }

  /// A directory that is in the tree as a rule, seldom a removed one or a file.
  private mutating func directory() -> InodeNumber {
    let isAny = below(30) == 0
    let numbers = plain.numbers.filter {
      isAny || plain[$0]?.isDirectory ?? false && plain[$0]?.names != 0
    }
    return numbers[below(numbers.count)]
  }

  private mutating func place() -> PlainTree.Place {
    PlainTree.Place(directory: directory(), name: Self.names[below(Self.names.count)])
  }

  /// A place where something stands, as a rule.
  private mutating func usedPlace() -> PlainTree.Place {
    for _ in 0..<4 {
      let place = place()
      if plain.at(place) != nil { return place }
    }
    return place()
  }

  // MARK: - Calls

  mutating func act() throws {
    switch below(100) {
    case ..<14: try create()
    case ..<26: try makeOther()
    case ..<38: try unlink()
    case ..<46: try removeDirectory()
    case ..<54: try link()
    case ..<78: try rename()
    case ..<84: try open()
    case ..<90: try release()
    case ..<94: forget()
    default: try lookup()
    }
  }

  /// Runs a call in both trees, and expects that both fail alike or succeed.
  private mutating func both<R>(
    _ text: String, _ model: (inout PlainTree) throws(FSError) -> Void,
    _ call: () throws(FSError) -> R
  ) throws -> R? {
    log.append(text)
    var expected: FSError?
    do throws(FSError) { try model(&plain) } catch { expected = error }
    do throws(FSError) {
      let result = try call()
      #expect(expected == nil, "\(text) succeeds")
      return result
    } catch {
      #expect(expected.map { "\($0)" } == "\(error)", "\(text)")
      return nil
    }
  }

  private func text(_ place: PlainTree.Place) -> String {
    "\(place.name) in \(place.directory.rawValue)"
  }

  private mutating func create() throws {
    let (place, tree, caller) = (place(), fixture.tree, caller)
    let made = try both("create \(text(place))") { (plain) throws(FSError) in
      try plain.checkMake(place)
    } _: { () throws(FSError) in
      try tree.create(
        place.directory, Self.name(place.name), mode: 0o644, open: [.read, .write],
        caller: caller)
    }
    guard let made else { return }
    try note(made.status, .regular, at: place)
    plain.hold(made.status.number, handles: 1)
    handles.append((made.handle, made.status.number))
  }

  private mutating func makeOther() throws {
    let (place, tree, caller) = (place(), fixture.tree, caller)
    let kind: EntryKind = [.directory, .directory, .directory, .symlink, .fifo][below(5)]
    let made = try both("make \(kind) \(text(place))") { (plain) throws(FSError) in
      try plain.checkMake(place)
    } _: { () throws(FSError) in
      let name = Self.name(place.name)
      switch kind {
      case .directory:
        return try tree.makeDirectory(place.directory, name, mode: 0o755, caller: caller)
      case .symlink:
        return try tree.makeSymlink(place.directory, name, target: [0x61], caller: caller)
      default:
        return try tree.makeNode(place.directory, name, kind: kind, mode: 0o644, caller: caller)
      }
    }
    if let made { try note(made, kind, at: place) }
  }

  private mutating func note(
    _ status: InodeStatus, _ kind: EntryKind, at place: PlainTree.Place
  ) throws {
    #expect(plain[status.number] == nil, "a number is used again")
    #expect(status.kind == kind)
    plain.make(kind, status.number, at: place)
    plain.hold(status.number, lookups: 1)
    try checkMoved([place.directory], at: status.ctime)
  }

  private mutating func unlink() throws {
    let (place, tree) = (usedPlace(), fixture.tree)
    let done: Void? = try both("unlink \(text(place))") { (plain) throws(FSError) in
      try plain.unlink(place)
    } _: { () throws(FSError) in
      try tree.unlink(place.directory, Self.name(place.name))
    }
    if done != nil { try checkMoved([place.directory]) }
  }

  private mutating func removeDirectory() throws {
    let (place, tree) = (usedPlace(), fixture.tree)
    let done: Void? = try both("rmdir \(text(place))") { (plain) throws(FSError) in
      try plain.removeDirectory(place)
    } _: { () throws(FSError) in
      try tree.removeDirectory(place.directory, Self.name(place.name))
    }
    if done != nil { try checkMoved([place.directory]) }
  }

  private mutating func link() throws {
    let (number, place, tree) = (number(), place(), fixture.tree)
    let status = try both("link \(number.rawValue) \(text(place))") { (plain) throws(FSError) in
      try plain.link(number, at: place)
    } _: { () throws(FSError) in
      try tree.link(number, place.directory, Self.name(place.name))
    }
    guard let status else { return }
    plain.hold(number, lookups: 1)
    try checkMoved([place.directory], at: status.ctime)
  }

  private mutating func rename() throws {
    let mode: RenameMode = [.replacing, .replacing, .replacing, .noReplace, .exchange][below(5)]
    let (from, to, tree) = (usedPlace(), below(3) == 0 ? usedPlace() : place(), fixture.tree)
    let before = (plain.at(from), plain.at(to))
    let done: Void? = try both("rename \(text(from)) to \(text(to)), \(mode)") {
      (plain) throws(FSError) in
      try plain.rename(from, to: to, mode)
    } _: { () throws(FSError) in
      try tree.rename(Self.inodeName(from), to: Self.inodeName(to), mode: mode)
    }
    guard done != nil, before.0 != before.1, let number = before.0 else { return }
    let time = try tree.status(of: number).ctime
    try checkMoved([from.directory, to.directory], at: time)
  }

  private mutating func open() throws {
    let number = number()
    guard let node = plain[number], node.kind == .regular else { return }
    let mode: OpenMode = below(2) == 0 ? .read : [.read, .write]
    log.append("open \(number.rawValue)")
    handles.append((try fixture.tree.open(number, mode: mode).handle, number))
    plain.hold(number, handles: 1)
  }

  private mutating func release() throws {
    guard !handles.isEmpty else { return }
    let (handle, number) = handles.remove(at: below(handles.count))
    log.append("release \(number.rawValue)")
    try fixture.tree.release(handle)
    plain.hold(number, handles: -1)
  }

  private mutating func forget() {
    let number = number()
    guard let lookups = plain[number]?.lookups, lookups > 0 else { return }
    let count = 1 + below(lookups)
    log.append("forget \(number.rawValue) \(count)")
    fixture.tree.forget(number, count: UInt64(count))
    plain.hold(number, lookups: -count)
    if plain[number] == nil { expect(.stale) { try fixture.tree.status(of: number) } }
  }

  private mutating func lookup() throws {
    let (place, tree) = (usedPlace(), fixture.tree)
    let status = try both("lookup \(text(place))") { (plain) throws(FSError) in
      _ = try plain.present(place)
    } _: { () throws(FSError) in
      try tree.lookup(place.directory, Self.name(place.name))
    }
    guard let status else { return }
    #expect(plain.at(place) == status.number)
    plain.hold(status.number, lookups: 1)
  }

  // MARK: - Checks

  /// Expects that the times of directories moved, to that of the call if it is known.
  private mutating func checkMoved(
    _ directories: Set<InodeNumber>, at time: Attributes.Time? = nil
  ) throws {
    for directory in directories {
      let status = try fixture.tree.status(of: directory)
      #expect(status.mtime == status.ctime)
      if let time { #expect(status.mtime == time) }
      if let before = times[directory] { #expect(status.mtime >= before) }
      times[directory] = status.mtime
    }
  }

  /// Compares all that both trees show.
  func check() throws {
    for number in plain.numbers {
      guard let node = plain[number] else { continue }
      let status = try fixture.tree.status(of: number)
      #expect(status.kind == node.kind)
      guard node.isDirectory else {
        #expect(status.links == UInt32(node.names), "links of \(number.rawValue)")
        continue
      }
      let links = node.names == 0 ? 0 : plain.subdirectories(of: number) + 2
      #expect(status.links == UInt32(links), "links of the directory \(number.rawValue)")
      if let time = times[number] { #expect(status.mtime == time) }
      try checkListing(of: number, node)
    }
    try fixture.check()
  }

  private func checkListing(of number: InodeNumber, _ node: PlainTree.Node) throws {
    let tree = fixture.tree
    #expect(try tree.parent(of: number) == node.parent ?? .root)
    let listing = try tree.openDirectory(number)
    var (found, cookie) = ([ListedName](), EntryCookie.start)
    while let last = try nextNames(listing, after: cookie, &found) { cookie = last }
    let listed = found.map { (String(decoding: $0.name.bytes, as: UTF8.self), $0.number) }
    #expect(listed.count == node.entries.count, "names in \(number.rawValue)")
    #expect(Dictionary(listed) { $1 } == node.entries, "names in \(number.rawValue)")
    for entry in found { #expect(entry.kind == plain[entry.number]?.kind) }
  }

  private func nextNames(
    _ listing: DirectoryListing, after cookie: EntryCookie, _ found: inout [ListedName]
  ) throws -> EntryCookie? {
    let names = try fixture.tree.list(listing, after: cookie)
    found += names
    return names.last?.cookie
  }
}
