import Foundation
import Platform
import TestSupport
import Testing

@testable import HistoryTree

/// One of two mounts that are worked in: only files whose names begin with its letter are its own.
final class WorkSide {
  /// What a file holds; several names and open files may share one.
  final class Content {
    var bytes: [UInt8] = []
    var mode: UInt32 = 0o644
    /// The mtime that somebody gave it; nil where it was written since.
    var modified: Int64?

    init() {}
    init(_ other: Content) { (bytes, mode, modified) = (other.bytes, other.mode, other.modified) }
  }

  let mount: MountedStore
  let letter: String
  /// Its own files, by their names.
  var files: [String: Content] = [:]
  var open: [(file: File, content: Content)] = []
  /// The targets of its symbolic links, by their names.
  var targets: [String: String] = [:]
  /// What its files held when they last went to the other.
  var sent: [String: Content] = [:]

  init(_ mount: MountedStore, _ letter: String) {
    self.mount = mount
    self.letter = letter
  }

  func path(_ name: String) -> String { "\(mount.path)/\(name)" }

  /// The name of a content, for what is said where it is wrong.
  func names(of content: Content) -> [String] {
    files.filter { $0.value === content }.keys.sorted()
  }
}

/// What one process does to files of two mounts at random, next to a model of what they hold, while their
/// daemons are killed now and then.
///
/// Between two exchanges it never changes one file on both sides, so nothing that a sync brings may be a conflict, and what is
/// under a name is what it last put there: in the mount, in the other one, and in versions.
struct RandomWork {
  struct Wrong: Error, CustomStringConvertible {
    let what: String
    let steps: [String]
    var description: String { "\(what), after\n\(steps.suffix(100).joined(separator: "\n"))" }
  }

  let sides: [WorkSide]
  var random: SeededRandom
  var steps: [String] = []
  var count = 0
  /// Small ones are inline in a version, long ones of several chunks.
  private let longest: Int
  var side: WorkSide

  init(_ mounts: [MountedStore], seed: UInt64) {
    sides = zip(mounts, ["a", "b"]).map { WorkSide($0, $1) }
    random = SeededRandom(seed: seed)
    longest = [70_000, 300_000, 1_500_000][Int(seed % 3)]
    side = sides[0]
  }

  func wrong(_ what: String) -> Wrong { Wrong(what: what, steps: steps) }

  mutating func say(_ step: String) { steps.append("\(side.letter): \(step)") }

  // MARK: - What is chosen

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  private mutating func place() -> Int {
    switch below(3) {
    case 0: below(9000)
    case 1: below(longest / 4096) * 4096
    default: below(longest)
    }
  }

  private mutating func length() -> Int {
    switch below(3) {
    case 0: 1 + below(5000)
    case 1: [1, 4095, 4096, 4097, 65_535, 65_536, 131_072, 524_289][below(8)]
    default: 1 + below(longest / 3)
    }
  }

  private mutating func data() -> [UInt8] {
    let count = length()
    switch below(6) {
    case 0: return [UInt8](repeating: 0, count: count)
    case 1: return [UInt8](repeating: UInt8(below(256)), count: count)
    default: return random.bytes(count)
    }
  }

  mutating func name() throws -> String {
    guard let name = side.files.keys.sorted().randomElement(using: &random),
      side.files.count > 7 || below(30) > 0
    else { return try make() }
    return name
  }

  private mutating func make() throws -> String {
    count += 1
    var name = "\(side.letter)\(count)"
    if below(2) == 0 {
      // Some directories are of both sides, and some go with their only file.
      let directory = below(3) == 0 ? "both" : "d\(name)"
      if try !FileSystem.exists(side.path(directory)) {
        try FileSystem.makeDirectory(side.path(directory))
      }
      name = "\(directory)/\(name)"
    }
    say("make \(name)")
    let content = WorkSide.Content()
    let file = try File(side.path(name), [.readWrite, .create, .exclusive])
    content.mode = try file.status().mode
    side.files[name] = content
    if side.open.count < 12, below(2) == 0 { side.open.append((file, content)) }
    return name
  }

  /// A file that is open for long, or one that is opened for what is done.
  private mutating func file() throws -> (File, WorkSide.Content) {
    if below(2) == 0, let one = side.open.randomElement(using: &random) { return one }
    let name = try name()
    guard let content = side.files[name] else { throw wrong("\(name) is unknown") }
    return (try File(side.path(name), .readWrite), content)
  }

  // MARK: - Steps

  private static let kinds: [(weight: Int, step: @Sendable (inout RandomWork) throws -> Void)] = [
    (28, { try $0.write() }), (10, { try $0.read() }), (8, { try $0.resize() }),
    (6, { try $0.punch() }), (5, { try $0.append() }), (4, { try $0.rewrite() }),
    (4, { try $0.replace() }), (4, { try $0.rename() }), (3, { try $0.link() }),
    (2, { try $0.unlink() }), (4, { try $0.open() }), (4, { $0.close() }),
    (3, { try $0.sync() }), (2, { try $0.check() }), (1, { try $0.commit() }),
    (1, { try $0.exchange() }), (2, { try $0.swap() }), (2, { try $0.setMode() }),
    (2, { try $0.setTime() }), (1, { try $0.renameDirectory() }), (3, { try $0.point() }),
    (1, { try $0.kill() }),
  ]

  /// Does something in one of the mounts.
  mutating func step() throws {
    if below(5) == 0 { side = sides[below(2)] }
    var left = below(Self.kinds.reduce(0) { $0 + $1.weight })
    for (weight, step) in Self.kinds {
      left -= weight
      if left < 0 { return try step(&self) }
    }
  }

  private mutating func write() throws {
    let (file, content) = try file()
    let (at, bytes) = (place(), data())
    say("write \(bytes.count) at \(at) of \(side.names(of: content))")
    try file.write(bytes, at: UInt64(at))
    Self.put(bytes, in: content, at: at)
  }

  private static func put(_ bytes: [UInt8], in content: WorkSide.Content, at place: Int) {
    let end = place + bytes.count
    content.modified = nil
    if content.bytes.count < end {
      content.bytes += [UInt8](repeating: 0, count: end - content.bytes.count)
    }
    content.bytes.replaceSubrange(place..<end, with: bytes)
  }

  private mutating func read() throws {
    let (file, content) = try file()
    let at = min(place(), content.bytes.count)
    let end = min(at + length(), content.bytes.count)
    guard try file.read(end - at, at: UInt64(at)) == Array(content.bytes[at..<end]) else {
      throw wrong("\(side.names(of: content)) reads otherwise between \(at) and \(end)")
    }
  }

  private mutating func resize() throws {
    let (file, content) = try file()
    let size = below(3) == 0 ? 0 : place()
    say("resize \(side.names(of: content)) from \(content.bytes.count) to \(size)")
    try file.truncate(to: UInt64(size))
    content.modified = nil
    if size < content.bytes.count {
      content.bytes.removeLast(content.bytes.count - size)
    } else {
      content.bytes += [UInt8](repeating: 0, count: size - content.bytes.count)
    }
  }

  private mutating func punch() throws {
    let (file, content) = try file()
    let at = place()
    let end = at + length()
    say("punch \(at) to \(end) of \(side.names(of: content))")
    try file.punchHole(UInt64(at)..<UInt64(end))
    content.modified = nil
    let last = min(end, content.bytes.count)
    if at < last {
      content.bytes.replaceSubrange(at..<last, with: [UInt8](repeating: 0, count: last - at))
    }
  }

  private mutating func append() throws {
    let name = try name()
    guard let content = side.files[name], content.bytes.count < longest else { return }
    let bytes = random.bytes(1 + below(9000))
    say("append \(bytes.count) to \(name)")
    try File(side.path(name), [.write, .append]).write(bytes, at: 0)
    content.bytes += bytes
    content.modified = nil
  }

  private mutating func rewrite() throws {
    let (name, bytes) = (try name(), data())
    say("rewrite \(name) with \(bytes.count)")
    try File(side.path(name), [.write, .truncate]).write(bytes, at: 0)
    side.files[name]?.bytes = bytes
    side.files[name]?.modified = nil
  }

  private mutating func replace() throws {
    let (name, bytes, other) = (try name(), data(), side.path("\(side.letter).new"))
    say("replace \(name) with \(bytes.count)")
    do {
      let file = try File(other, [.write, .create, .truncate], permissions: 0o755)
      try file.write(bytes, at: 0)
      if below(3) == 0 { try file.sync() }
    }
    try FileSystem.rename(other, to: side.path(name))
    let content = WorkSide.Content()
    content.bytes = bytes
    content.mode = 0o755
    side.files[name] = content
  }

  private mutating func rename() throws {
    let from = try name()
    let to = below(2) == 0 ? "\(side.letter)r\(below(5))" : try name()
    guard let content = side.files[from], !isOthers(to) else { return }
    say("rename \(from) to \(to)")
    try FileSystem.rename(side.path(from), to: side.path(to))
    // Two names of one file stay, as rename(2) has it.
    guard side.files[to] !== content else { return }
    side.files[from] = nil
    side.files[to] = content
  }

  private mutating func link() throws {
    let (from, to) = (try name(), "\(side.letter)l\(below(6))")
    guard side.files[to] == nil, !isOthers(to), let content = side.files[from] else { return }
    say("link \(from) to \(to)")
    try FileSystem.link(side.path(from), to: side.path(to))
    side.files[to] = content
  }

  private mutating func unlink() throws {
    let name = try name()
    guard side.files.count > 2 else { return }
    say("unlink \(name)")
    try FileSystem.unlink(side.path(name))
    side.files[name] = nil
  }

  private mutating func open() throws {
    let name = try name()
    guard side.open.count < 12, let content = side.files[name] else { return }
    say("open \(name)")
    side.open.append((try File(side.path(name), .readWrite), content))
  }

  private mutating func close() {
    guard !side.open.isEmpty else { return }
    let one = side.open.remove(at: below(side.open.count))
    say("close \(side.names(of: one.content))")
  }

  private mutating func sync() throws {
    let (file, content) = try file()
    say("fsync \(side.names(of: content))")
    try file.sync()
  }

  // MARK: - What must be so

  /// What stands at each name, the number of its names, and which of them are one file.
  mutating func check() throws {
    for side in sides {
      var numbers: [ObjectIdentifier: UInt64] = [:]
      for (name, content) in side.files {
        try compare(side.path(name), content.bytes)
        let status = try FileSystem.status(side.path(name))
        try compare(status, content, name)
        let names = side.names(of: content)
        guard status.links == names.count,
          numbers[ObjectIdentifier(content), default: status.inode] == status.inode
        else { throw wrong("\(name) has \(status.links) links, not \(names)") }
        numbers[ObjectIdentifier(content)] = status.inode
      }
      try compareTargets(of: side, in: side)
    }
  }

  private func compare(_ path: String, _ bytes: [UInt8]) throws {
    let found = try FileSystem.read(path, atMost: 16 << 20)
    guard found == bytes else {
      let at = zip(found, bytes).enumerated().first { $1.0 != $1.1 }?.offset
      throw wrong("\(path) has \(found.count) bytes of \(bytes.count), other ones at \(at ?? -1)")
    }
  }

  private func compare(_ status: FileStatus, _ content: WorkSide.Content, _ name: String) throws {
    guard status.mode == content.mode else {
      throw wrong("\(name) has mode \(String(status.mode, radix: 8))")
    }
    guard content.modified == nil || content.modified == status.modifiedSeconds else {
      throw wrong("\(name) has mtime \(status.modifiedSeconds), not \(content.modified ?? 0)")
    }
  }

  /// True if a name is one of the other's files, or was when it last came from there.
  private func isOthers(_ name: String) -> Bool {
    sides.contains { $0 !== side && ($0.files[name] != nil || $0.sent[name] != nil) }
  }

  mutating func saved(_ side: WorkSide) throws {
    for (file, _) in side.open { try file.sync() }
    if below(3) == 0 { side.open = [] }
  }

  private mutating func commit() throws {
    try saved(side)
    say(try side.mount.run("echo commit > .llvs/control; readlink .llvs/head"))
    let head = side.path(".llvs/\(try FileSystem.readlink(side.path(".llvs/head")))")
    for (name, content) in side.files { try compare("\(head)/\(name)", content.bytes) }
  }

  /// Syncs until both have what the other had.
  mutating func exchange() throws {
    for side in sides { try saved(side) }
    for side in [sides[0], sides[1], sides[0]] {
      say(try side.mount.run("{ echo sync >&3; cat <&3; } 3<>.llvs/control"))
    }
    for side in sides { side.sent = side.files.mapValues(WorkSide.Content.init) }
    try check()
    for (side, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
      for (name, content) in other.sent {
        try compare(side.path(name), content.bytes)
        try compare(FileSystem.status(side.path(name)), content, name)
      }
      try compareTargets(of: other, in: side)
      let found = try side.mount.run("find . -name .llvs -prune -o -type f -print | wc -l")
      guard Int(found.dropLast()) == side.files.count + other.sent.count else {
        throw wrong("there are \(found) files, not \(side.files.count) and \(other.sent.count)")
      }
      let clashes = try side.mount.run("ls .llvs/conflicts")
      guard clashes.isEmpty else { throw wrong("conflicts of nobody: \(clashes)") }
    }
    handOver()
  }
}
