import CShims
import Glibc

// A small tree under calls at random, beside what it must be: which call is refused and how, what every name leads
// to, and which times move, those and no others. What is asked twice is mostly answered from caches of the kernel's.

/// Something in the tree, or out of it and still open.
final class ModelNode {
  let kind: Kind
  var mode: UInt32
  var number: UInt = 0
  /// Names of what is no directory.
  var names = 0
  var text: [UInt8] = []
  var attributes: [String: [UInt8]] = [:]
  /// What a directory holds.
  var children: [String: ModelNode] = [:]
  weak var parent: ModelNode?
  /// Open for reading and writing.
  var fd: Int?
  var times = ModelTimes()
  /// Its mtime is one that was asked for.
  var isTimeSet = false

  init(_ kind: Kind, mode: UInt32) {
    self.kind = kind
    self.mode = mode
  }

  var isDirectory: Bool { kind == .directory }

  /// As stat(2) tells it.
  var links: Int {
    isDirectory ? 2 + children.values.count { $0.isDirectory } : names
  }

  /// True if a directory is this or above it.
  func isBelow(_ other: ModelNode) -> Bool {
    var one: ModelNode? = self
    while let node = one {
      if node === other { return true }
      one = node.parent
    }
    return false
  }
}

/// A name as a version has it.
struct ShownNode {
  var kind: Kind
  var text: [UInt8]
  var attributes: [String: [UInt8]]
  var mode: UInt32
  /// Nothing where it may be that of the version before.
  var modified: Int?
}

/// When the bytes and when anything of a node changed, in nanoseconds.
struct ModelTimes: Equatable {
  var changed = 0
  var modified = 0

  init() {}

  init(_ status: stat) {
    changed = status.st_ctim.tv_sec * 1_000_000_000 + status.st_ctim.tv_nsec
    modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
  }
}

/// A directory and a name in it, which may lead to nothing.
struct ModelEntry {
  var directory: ModelNode
  var name: String
  var node: ModelNode? { directory.children[name] }
}

/// The calls, and what they must have done.
final class RandomNames {
  let place: Place
  var dice: Dice
  let mount: String?
  let top = ModelNode(.directory, mode: 0o755)
  /// What has no name any more and is still open.
  var nameless: [ModelNode] = []
  /// Whose times a call must move.
  var touched: [(node: ModelNode, modified: Bool)] = []
  /// What versions that were made must hold.
  var versions: [String: [String: ShownNode]] = [:]
  private var trail: [String] = []

  static let names = [
    "a", "b", "c", "d", "\u{e9}\n", String(repeating: "n", count: 255),
  ]

  init(_ place: Place, seed: Int, mount: String?) throws {
    self.place = place
    self.mount = mount
    dice = Dice(seed: seed)
    let status = try place.status(".")
    top.number = status.st_ino
    top.times = ModelTimes(status)
  }

  deinit {
    for node in everything() { if let fd = node.fd { Sys.close(fd) } }
  }

  func run(_ count: Int) throws {
    do {
      for _ in 0..<count {
        // Times that move must be seen to: some file systems count them in ticks.
        let isTimed = dice.oneIn(12)
        if isTimed { place.tick() }
        touched = []
        try act()
        try checkAll(isTimed: isTimed)
      }
      try checkVersions()
    } catch let failed as Failed {
      let last = trail.suffix(16).joined(separator: "; ")
      throw Failed(description: "\(failed) after \(trail.count) calls, the last: \(last)")
    }
  }

  func note(_ deed: String) { trail.append(deed) }

  func touch(_ node: ModelNode?, modified: Bool = false) {
    guard let node else { return }
    touched.append((node, modified))
    if modified { node.isTimeSet = false }
  }

  // MARK: - The tree

  func path(of directory: ModelNode) -> String {
    var parts: [String] = []
    var one = directory
    while let parent = one.parent {
      guard let entry = parent.children.first(where: { $0.value === one }) else { break }
      parts.append(entry.key)
      one = parent
    }
    return ([place.path] + parts.reversed()).joined(separator: "/")
  }

  func path(_ entry: ModelEntry) -> String { path(of: entry.directory) + "/" + entry.name }

  func short(_ entry: ModelEntry) -> String {
    String(path(entry).dropFirst(place.path.count + 1)).replacing(Self.names[5], with: "n..n")
  }

  func directories() -> [ModelNode] {
    var found = [top]
    var index = 0
    while index < found.count {
      let inner = found[index].children.sorted { $0.key < $1.key }.map(\.value)
      found += inner.filter(\.isDirectory)
      index += 1
    }
    return found
  }

  func entries() -> [ModelEntry] {
    directories().flatMap { directory in
      directory.children.keys.sorted().map { ModelEntry(directory: directory, name: $0) }
    }
  }

  func everything() -> [ModelNode] {
    var seen: Set<ObjectIdentifier> = []
    let all = [top] + entries().compactMap(\.node) + nameless
    return all.filter { seen.insert(ObjectIdentifier($0)).inserted }
  }

  /// Any name in any directory; mostly one that leads somewhere.
  func anyEntry() -> ModelEntry {
    let there = entries()
    if !there.isEmpty, dice.below(3) > 0 { return dice.one(of: there) }
    return ModelEntry(directory: dice.one(of: directories()), name: dice.one(of: Self.names))
  }

  /// A name is another node's, or nobody's.
  func set(_ entry: ModelEntry, _ node: ModelNode?) {
    if let old = entry.node, !old.isDirectory {
      old.names -= 1
      if old.names == 0, old.fd != nil { nameless.append(old) }
    }
    entry.directory.children[entry.name] = node
    if let node {
      if node.isDirectory { node.parent = entry.directory } else { node.names += 1 }
    }
  }

  // MARK: - Checks

  private func checkAll(isTimed: Bool) throws {
    var seen: Set<ObjectIdentifier> = []
    for entry in [nil] + entries().map(Optional.some) {
      let node = entry?.node ?? top
      var status = stat()
      let name = entry.map(short) ?? "the top"
      try ok(Sys.stat(entry.map(path) ?? place.path, &status, follow: false), "stat \(name)")
      try check(node, status, name)
      if seen.insert(ObjectIdentifier(node)).inserted {
        try checkTimes(node, status, name, isTimed: isTimed)
      }
    }
    for node in nameless {
      guard let fd = node.fd else { continue }
      let status = try place.status(fd)
      try check(node, status, "a nameless one")
      try checkTimes(node, status, "a nameless one", isTimed: isTimed)
    }
    for _ in 0..<3 {
      let absent = ModelEntry(
        directory: dice.one(of: directories()), name: dice.one(of: Self.names))
      if absent.node != nil { continue }
      var status = stat()
      try fails(ENOENT, Sys.stat(path(absent), &status, follow: false))
    }
    if dice.oneIn(6) { for directory in directories() { try checkListing(directory) } }
  }

  func check(_ node: ModelNode, _ status: stat, _ name: String) throws {
    try equal(status.st_mode & 0o170000, node.kind.typeBits)
    try require(status.st_ino == node.number, "\(name) is another node")
    try require(
      Int(status.st_nlink) == node.links, "\(name) has \(status.st_nlink) links, not \(node.links)")
    if node.kind != .symlink { try equal(status.st_mode & 0o7777, node.mode) }
    if !node.isDirectory { try equal(Int(status.st_size), node.text.count) }
  }

  private func checkTimes(_ node: ModelNode, _ status: stat, _ name: String, isTimed: Bool) throws {
    let times = ModelTimes(status)
    let wanted = touched.filter { $0.node === node }
    let moved = (
      changed: times.changed != node.times.changed, modified: times.modified != node.times.modified
    )
    let mayModify = wanted.contains { $0.modified }
    try require(!moved.changed || !wanted.isEmpty, "ctime of \(name) moved")
    try require(!moved.modified || mayModify, "mtime of \(name) moved")
    if isTimed {
      try require(moved.changed || wanted.isEmpty, "ctime of \(name) did not move")
      try require(moved.modified || !mayModify, "mtime of \(name) did not move")
    }
    node.times = times
  }

  func checkListing(_ directory: ModelNode) throws {
    let listed = try Place.names(Path(path(of: directory))) ?? { throw failure("opendir") }()
    let wanted = Set(directory.children.keys.map { Array($0.utf8) } + [[0x2E], [0x2E, 0x2E]])
    try equal(listed.count, wanted.count)
    try require(
      Set(listed) == wanted, "a listing: \(listed.map { String(decoding: $0, as: UTF8.self) })")
  }
}
