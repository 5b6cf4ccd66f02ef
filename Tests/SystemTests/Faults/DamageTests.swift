import Events
import Foundation
import HistoryTree
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing
import TreeNames
import WorkingTree

@testable import TreeSupport

/// Invariant S3 over every kind of file of a store: whichever bit is flipped, what is shown is what was
/// stored or an error; a difference is named; and what does not depend on the bit goes on.
///
/// `LLVS_TEST_DAMAGE=50` flips so many bits a file instead of a few.
@Suite(.timeLimit(.minutes(20)))
struct DamageTests {
  static let turns = Int(ProcessInfo.processInfo.environment["LLVS_TEST_DAMAGE"] ?? "") ?? 6

  /// A kind of file of a store, and what must come of a flipped bit in it.
  enum Kind: String, CaseIterable, CustomTestStringConvertible {
    case segment, catalog, index, journal, staging, root

    var testDescription: String { rawValue }

    /// True if a file below the store is of the kind.
    func matches(_ path: String) -> Bool {
      switch self {
      case .segment: path.hasPrefix("segments/")
      case .catalog: path == "store.sqlite"
      case .index: path.hasPrefix("index.sqlite")
      case .journal: path.hasSuffix(".journal")
      case .staging: path.hasSuffix(".stage")
      case .root: path == "log" || path == "lock"
      }
    }
  }

  /// Everything that a store shows, by what it is called; an error where it cannot be shown.
  struct Shown: Equatable {
    var values: [String: String] = [:]
    /// What was said of damage: refusals, losses, what `verify` names.
    var told: [String] = []

    /// What differs from another store.
    func differences(from other: Shown) -> [String] {
      Set(values.keys).union(other.values.keys).filter { values[$0] != other.values[$0] }.sorted()
    }
  }

  static func text(_ bytes: [UInt8]) -> String { Digest.of(bytes).hex }

  /// A store with versions, merged and tagged, conflicts, settings, peers, and pending changes of each kind.
  static func fill(_ directory: String) throws {
    var random = SeededRandom(seed: 31)
    let mount = try MountedTree(directory)
    try mount.makeDirectory("d")
    for index in 0..<40 { try mount.save("d/f\(index)", random.bytes(40 + index * 37)) }
    try mount.save("long", random.bytes(200_000))
    try mount.cut()
    for index in 0..<6 {
      try mount.save("d/f\(index)", "changed \(index)")
      try mount.cut()
    }
    try mount.store.write { (transaction) throws(StoreError) in
      transaction.set("author", to: Array("somebody".utf8))
      transaction.set("mergetool", to: Array("meld".utf8))
      transaction.setPeer(Peer(name: "usb", address: Array("/media/usb/store".utf8)))
    }
    try mount.save("pending", random.bytes(3000))
    try mount.save("staged", random.bytes(200_000))
    try mount.rename("d/f1", "moved")
    try mount.unlink("d/f2")
    try mount.save("d/f3", "pending too")
    try mount.tree.sync()
    try mount.save("last", "last")
  }

  /// Looks at all of a store; nothing here may trap or hang.
  static func look(_ directory: String) -> Shown {
    var shown = Shown()
    let mount: MountedTree
    do {
      mount = try MountedTree(directory)
    } catch {
      shown.told.append("refused: \(error)")
      return shown
    }
    shown.told += mount.recovery.losses
    func note(_ name: String, _ body: () throws -> String) {
      do { shown.values[name] = try body() } catch { shown.values[name] = "error" }
    }
    note("names") { try mount.names().sorted().joined(separator: " ") }
    note("names of d") { try mount.names("d").sorted().joined(separator: " ") }
    for name in ["long", "pending", "staged", "moved", "last"] + (0..<40).map({ "d/f\($0)" }) {
      note(name) {
        do { return text(try mount.bytes(name)) } catch FSError.noEntry { return "absent" }
      }
    }
    note("settings") {
      let state = try mount.store.state()
      shown.told += state.damagedSettings.map { "setting \($0)" }
      return state.settings.filter { !$0.key.hasPrefix("live.") }
        .map { "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))" }.sorted()
        .joined(separator: " ")
    }
    note("peers") {
      try mount.store.peers().map { "\($0.name) \(String(decoding: $0.address, as: UTF8.self))" }
        .joined()
    }
    note("log of heads") {
      try mount.store.headLog(limit: 100).map { "\($0.time) \($0.reason.text)" }.joined(
        separator: ";")
    }
    for number in 1...7 {
      note("version \(number)") {
        guard let record = try mount.store.version(VersionNumber(UInt32(number))) else { return "" }
        return "\(record.name) \(record.id.rawValue) \(record.timestamp) \(record.predecessors) "
          + "\(record.storedAt) \(record.line)"
      }
      note("files of version \(number)") {
        let record = try mount.store.version(VersionNumber(UInt32(number)))
        guard let record else { return "" }
        var walk = TreeView(map: mount.store.map(record.map)).entries(below: [])
        var all: [UInt8] = []
        while let (path, entry) = try walk.next() {
          all += path + Digest.of(try mount.store.bytes(entry.stored)).hex.utf8
        }
        return text(all)
      }
    }
    do { shown.told += try mount.store.verify().damage } catch {
      shown.told.append("verify: \(error)")
    }
    shown.told += EventLog(directory: mount.path).lastLines(100).filter { $0.contains(" error ") }
    return shown
  }

  static func files(below root: String, _ path: String = "") throws -> [String] {
    try FileSystem.list(root + "/" + path).flatMap { (name) throws -> [String] in
      let inner = path.isEmpty ? name : "\(path)/\(name)"
      let isDirectory =
        try FileSystem.status("\(root)/\(inner)", following: false).kind == .directory
      return isDirectory ? try files(below: root, inner) : [inner]
    }
  }

  @Test("a flipped bit is found, named and contained", arguments: Kind.allCases)
  func flipped(_ kind: Kind) throws {
    let sound = try TemporaryDirectory()
    do { try Self.fill(sound.path) }
    // The sound store is looked at as a copy too: opening makes a new generation of the journal.
    let first = try TemporaryDirectory()
    try copyTree(sound.file("s"), to: first.file("s"))
    let expected = Self.look(first.path)
    #expect(expected.told == [] && !expected.values.values.contains("error"))
    var random = SeededRandom(seed: UInt64(kind.rawValue.utf8.reduce(7) { $0 &* 31 &+ Int($1) }))
    var differing = 0
    for file in try Self.files(below: sound.file("s")).filter(kind.matches).sorted() {
      let bytes = try FileSystem.read("\(sound.file("s"))/\(file)", atMost: 1 << 30)
      // What is allotted ahead of the journal's end is no part of it.
      guard let last = bytes.lastIndex(where: { $0 != 0 }) else { continue }
      let size = UInt64(last + 1)
      for turn in 0..<Self.turns {
        let at =
          turn == 0
          ? UInt64.random(in: 0..<min(size, 40), using: &random)
          : UInt64.random(in: 0..<size, using: &random)
        let bit = UInt8.random(in: 0..<8, using: &random)
        let copy = try TemporaryDirectory()
        try copyTree(sound.file("s"), to: copy.file("s"))
        let path = "\(copy.file("s"))/\(file)"
        let byte = try #require(try FileSystem.read(path, atMost: 1 << 30)[Int(at)] as UInt8?)
        try File(path, .readWrite).write([byte ^ (1 << bit)], at: at)
        let found = Self.look(copy.path)
        let context: Comment = "\(file), byte \(at), bit \(bit): \(found.told)"
        if found.values.isEmpty {
          // Refused as a whole, in a sentence that says what is damaged.
          differing += 1
          #expect(found.told.contains { $0.contains("corrupt") || $0.contains("Future") }, context)
          continue
        }
        let differences = found.differences(from: expected)
        if !differences.isEmpty {
          differing += 1
          #expect(!found.told.isEmpty, "\(differences), and nothing said: \(context)")
        }
        try check(kind, differences, found, expected, context, copy.path)
      }
    }
    switch kind {
    case .index, .root: #expect(differing == 0)
    default: #expect(differing > 0)
    }
  }

  /// What holds of a kind of file beyond that nothing differs in silence.
  private func check(
    _ kind: Kind, _ differences: [String], _ found: Shown, _ expected: Shown, _ context: Comment,
    _ directory: String
  ) throws {
    switch kind {
    case .segment:
      #expect(!found.told.isEmpty, context)
      // Wrong bytes never: a difference is an error.
      for name in differences { #expect(found.values[name] == "error", "\(name): \(context)") }
    case .staging:
      #expect(Set(differences).isSubset(of: ["staged"]), context)
      for name in differences { #expect(found.values[name] == "error", context) }
      let mount = try MountedTree(directory)
      try mount.save("new", "new")
      #expect(try mount.cut().damagedPaths == differences.map { Array($0.utf8) }, context)
      #expect(try mount.entry("new") != nil && mount.entry("pending") != nil, context)
    case .journal:
      // What is in versions does not hang on it.
      let versions = differences.filter { $0.contains("version") || $0 == "long" }
      #expect(versions == [], context)
      let mount = try MountedTree(directory)
      try mount.save("new", "new")
      try mount.cut()
      #expect(try mount.entry("new") != nil, context)
    case .catalog: break
    case .index, .root: #expect(differences == [] && found.told == [], context)
    }
  }

  @Test("a flipped bit in a bundle of a peer's folder: its versions stay out, or come as they were")
  func bundle() throws {
    let place = try TemporaryDirectory()
    let source = try Store.open(path: place.file("a"), create: true)
    var random = SeededRandom(seed: 41)
    var last: Version.ID?
    for number in 0..<6 {
      last =
        try source.makeVersion(
          basedOnPredecessor: last,
          updating: [Value(id: Value.ID("k\(number)"), data: random.bytes(3000 * number + 10))]
        ).id
    }
    let folder = place.file("folder")
    try FileSystem.makeDirectory(folder)
    try FolderFormat.bundles.send(source, folder)
    let name = try #require(try FileSystem.list(folder + "/bundles").first)
    let path = "\(folder)/bundles/\(name)"
    let bytes = try FileSystem.read(path, atMost: 1 << 24)
    var isHit = false
    for turn in 0..<Self.turns * 4 {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      try File(path, .readWrite).write(
        [bytes[at] ^ (1 << UInt8.random(in: 0..<8, using: &random))], at: UInt64(at))
      let other = try Store.open(path: place.file("b\(turn)"), create: true)
      var said: [String] = []
      do {
        let report = try FolderFormat.bundles.retrieve(into: other, folder)
        said = (report.refused + report.waiting).map(\.reason)
        for id in report.taken {
          #expect(try other.version(id)?.map.digest == source.version(id)?.map.digest, "byte \(at)")
        }
        isHit = isHit || report.taken.count < 6
      } catch {
        said = ["\(error)"]
        isHit = true
      }
      // Written by somebody who has them, what is missing comes all the same.
      try File(path, .readWrite).write(bytes, at: 0)
      let mended = try FolderFormat.bundles.retrieve(into: other, folder)
      #expect(
        try last.map { try other.version($0) != nil } == true, "byte \(at): \(said) \(mended)")
      #expect(try other.verify().isSound)
    }
    #expect(isHit)
  }
}
