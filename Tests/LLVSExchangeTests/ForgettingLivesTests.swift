import LLVSCore
import Platform
import TestSupport
import Testing

@testable import LLVSExchange
@testable import StoreSupport

/// Random lives of replicas that forget different versions, and exchange the others through a folder.
@Suite(.timeLimit(.minutes(5)))
struct ForgettingLivesTests {
  private final class Member {
    let store: Store
    let forgets: Bool
    var head: VersionNumber?

    init(_ store: Store, forgets: Bool) { (self.store, self.forgets) = (store, forgets) }
  }

  private struct Life {
    let folder: String
    let format: FolderFormat
    var random: SeededRandom
    var members: [Member] = []
    private let keys = ["a", "b", "c"].map { Value.ID($0) }

    init(_ place: ExchangePlace, _ format: FolderFormat, seed: UInt64) throws {
      folder = place.folder
      self.format = format
      random = SeededRandom(seed: seed)
      for (name, forgets) in [("s0", true), ("s1", false), ("s2", true)] {
        members.append(Member(try place.store(name), forgets: forgets))
      }
    }

    mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    /// Changes some lines of a text, or all of them. A text fills several blocks of the disk, so that forgotten ones
    /// cannot be read.
    mutating func edit(_ member: Member) throws {
      let store = member.store
      let record = try store.version(member.head)
      let key = keys[pick(3)]
      var lines: [String] = []
      if let record, let text = try store.value(id: key, at: record.id) {
        lines = String(decoding: text.data, as: UTF8.self).split(separator: "\n").map(String.init)
      }
      if lines.isEmpty || pick(4) == 0 {
        lines = (0..<60).map { _ in line() }
      } else {
        for _ in 0..<(1 + pick(2)) { lines[pick(lines.count)] = line() }
      }
      let text = Array((lines.joined(separator: "\n") + "\n").utf8)
      let version = try store.makeVersion(
        basedOnPredecessor: record?.id, storing: [.insert(Value(id: key, data: text))])
      member.head = try store.version(version.id)?.number
    }

    private mutating func line() -> String {
      (0..<20).map { _ in String(random.next(), radix: 36) }.joined()
    }

    func send(_ member: Member) throws {
      let report = try format.send(member.store, folder)
      #expect(report.refused.isEmpty, "\(report.refused)")
    }

    func retrieve(_ member: Member) throws {
      let report = try format.retrieve(into: member.store, folder)
      #expect(report.refused.isEmpty, "\(report.refused)")
    }

    func merge(_ member: Member) throws {
      let store = member.store
      member.head = try store.write { (transaction) throws(StoreError) in
        try transaction.mergeHeads(ofLine: nil, live: member.head) {
          ContentArbiter(.automatic, $0, store.contents)
        }.outcome
      }
    }

    /// Forgets all but what is needed, and what the others do not have.
    func forget(_ member: Member) throws {
      guard member.forgets else { return }
      let store = member.store
      var roots = OutsideRoots(versions: Set([member.head].compactMap(\.self)))
      for id in try store.allVersionIDs {
        let isEverywhere = try members.allSatisfy { try $0.store.version(id) != nil }
        if !isEverywhere, let number = try store.version(id)?.number {
          roots.versions.insert(number)
        }
      }
      let needed = roots
      try store.forget(
        try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000,
        besides: { () throws(StoreError) in needed })
      let report = try store.verify()
      #expect(report.isSound, "\(report.damage)")
    }

    func digests() throws -> Set<Digest> {
      Set(
        try members.map { member in
          try #require(try member.store.version(member.head)).map.digest
        })
    }
  }

  @Test(
    "replicas that forget different versions have the same tree in the end",
    arguments: FolderFormat.allCases, 1...5)
  func lives(format: FolderFormat, seed: UInt64) throws {
    let place = try ExchangePlace()
    var life = try Life(place, format, seed: seed)
    try life.edit(life.members[0])
    try life.send(life.members[0])
    for member in life.members {
      try life.retrieve(member)
      try life.merge(member)
    }
    for _ in 0..<60 {
      let member = life.members[life.pick(3)]
      switch life.pick(6) {
      case 0, 1: try life.edit(member)
      case 2: try life.send(member)
      case 3: try life.retrieve(member)
      case 4: try life.merge(member)
      default: try life.forget(member)
      }
    }
    for _ in 0..<8 {
      for member in life.members {
        try life.retrieve(member)
        try life.merge(member)
        try life.send(member)
      }
    }
    #expect(try life.digests().count == 1)
    for member in life.members {
      let report = try member.store.verify()
      #expect(report.isSound, "\(report.damage)")
      // Everything that a head shows can be read.
      let id = try #require(try member.store.version(member.head)).id
      for reference in try member.store.valueReferences(at: id) {
        #expect(try member.store.value(id: reference.valueId, at: id) != nil)
      }
    }
  }

  @Test(
    "replicas agree if one merged without forgotten bytes, one with them, and one got them from a peer"
  )
  func converging() throws {
    let place = try ExchangePlace()
    let stores = try ["a", "b", "c"].map { try place.store($0) }
    let (a, b, c) = (stores[0], stores[1], stores[2])
    let key = Value.ID("k")
    var random = SeededRandom(seed: 4)
    func lines() -> [String] {
      (0..<300).map { _ in (0..<10).map { _ in String(random.next(), radix: 36) }.joined() }
    }
    func change(_ store: Store, _ lines: some Sequence<String>, on version: Version.ID?) throws
      -> Version.ID
    {
      let text = Array((lines.joined(separator: "\n") + "\n").utf8)
      return try store.makeVersion(
        basedOnPredecessor: version, storing: [.insert(Value(id: key, data: text))]
      ).id
    }
    func exchange() throws {
      for store in stores + stores {
        try FolderFormat.bundles.retrieve(into: store, place.folder)
        try FolderFormat.bundles.send(store, place.folder)
      }
    }
    func merge(_ store: Store, _ lacked: LackedBytes = LackedBytes()) throws -> Version.ID {
      let number = try store.write { (transaction) throws(StoreError) in
        let outcome = try transaction.mergeHeads(ofLine: nil, live: nil) {
          ContentArbiter(.automatic, $0, store.contents, lacked: lacked)
        }.outcome
        return outcome
      }
      return try #require(try store.version(number)).id
    }
    let (base, other) = (lines(), lines())
    let first = try change(a, base, on: nil)
    try exchange()
    _ = try change(a, base[..<150] + other[150...], on: first)
    _ = try change(b, other[..<150] + base[150...], on: first)
    for store in [a, c] {
      // The version after it, so that the base is no head.
      if store === c { _ = try FolderFormat.bundles.send(a, place.folder) }
      try FolderFormat.bundles.retrieve(into: store, place.folder)
      try store.forget(try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
      #expect(throws: StoreError.self) { try store.value(id: key, at: first) }
    }
    try exchange()
    let without = try merge(a)
    let with = try merge(b)
    #expect(without != with)
    // The first attempt finds out what is lacking, and commits nothing.
    let lacked = LackedBytes()
    #expect(throws: StoreError.self) {
      try c.write { (transaction) throws(StoreError) in
        _ = try transaction.mergeHeads(ofLine: nil, live: nil) {
          ContentArbiter(.automatic, $0, c.contents, lacked: lacked)
        }
        try lacked.check()
      }
    }
    let wanted = lacked.takeWanted()
    #expect(wanted.map(\.key) == [key])
    let found = try FolderFormat.bundles.bytes(of: wanted, for: c, place.folder)
    for (digest, bytes) in found { lacked.supply(bytes, for: digest) }
    #expect(try merge(c, lacked) == with)
    #expect(lacked.missed.isEmpty)
    try exchange()
    let heads = try stores.map { try merge($0) }
    #expect(Set(heads).count == 1)
    try exchange()
    #expect(Set(try stores.map { try merge($0) }) == Set(heads))
  }

  @Test("a merge over a forgotten base takes the newer change, and lists the other as a conflict")
  func forgottenBase() throws {
    let place = try ExchangePlace()
    let (a, b) = (try place.store("a"), try place.store("b"))
    let key = Value.ID("k")
    var random = SeededRandom(seed: 3)
    func text() -> [UInt8] {
      let lines = (0..<300).map { _ in
        (0..<10).map { _ in String(random.next(), radix: 36) }.joined()
      }
      return Array((lines.joined(separator: "\n") + "\n").utf8)
    }
    func change(_ store: Store, _ text: [UInt8], on version: Version.ID?) throws -> Version.ID {
      try store.makeVersion(
        basedOnPredecessor: version, storing: [.insert(Value(id: key, data: text))]
      ).id
    }
    let base = text()
    let first = try change(a, base, on: nil)
    try FolderFormat.bundles.send(a, place.folder)
    try FolderFormat.bundles.retrieve(into: b, place.folder)
    // One line of the base is changed here, and all of them there.
    let line = try change(b, Array("changed ".utf8) + base, on: first)
    let newer = try change(a, text(), on: first)
    try a.forget(try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
    #expect(throws: StoreError.self) { try a.value(id: key, at: first) }
    try FolderFormat.bundles.send(b, place.folder)
    try FolderFormat.bundles.retrieve(into: a, place.folder)
    let merged = try a.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: nil) {
        ContentArbiter(.automatic, $0, a.contents)
      }.outcome
    }
    let head = try #require(try a.version(merged))
    #expect(
      try a.value(id: key, at: head.id)?.data == a.value(id: key, at: newer)?.data)
    let conflicts = try a.openConflicts(at: head.number)
    #expect(conflicts.map(\.key) == [key] && conflicts[0].theirs.map(\.version.id) == [line])
    // Both sides stay while the conflict is open.
    try a.forget(try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
    #expect(try a.value(id: key, at: line)?.data == Array("changed ".utf8) + base)
  }
}
