import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct StoreVerifyTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  func fill(_ store: Store) throws -> Version {
    var random = SeededRandom(seed: 11)
    let first = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: (0..<300).map {
        Value(id: Value.ID("dir/\($0)"), data: random.bytes($0 * 20))
      })
    return try store.makeVersion(
      basedOnPredecessor: first.id,
      inserting: [
        Value(id: Value.ID("long"), data: random.bytes(1_500_000)),
        Value(id: Value.ID("zeros"), data: [UInt8](repeating: 0, count: 200_000)),
      ])
  }

  @Test("a sound store verifies, each shared thing once, and progress reaches its end")
  func sound() throws {
    let store = try Store.open(path: directory.file("s"), create: true)
    _ = try fill(store)
    var steps: [UInt64] = []
    let length = try store.statistics().segmentBytes
    let report = try store.verify { done, total in
      #expect(total == length && done <= total)
      steps.append(done)
      return true
    }
    #expect(report.isSound, "\(report.damage)")
    #expect(report.versions == 2)
    #expect(report.bytes > 1_500_000)
    // A long value is many steps.
    #expect(steps == steps.sorted() && Set(steps).count > 5 && steps.last == length, "\(steps)")
    for last in steps.indices.dropLast() {
      var count = 0
      #expect(throws: StoreError.self) {
        try store.verify { _, _ in
          defer { count += 1 }
          return count < last
        }
      }
    }
  }

  @Test("whichever byte of a segment is changed, verify names damage and opening does not fail")
  func damaged() throws {
    do { _ = try fill(try Store.open(path: directory.file("s"), create: true)) }
    let segment = directory.file("s/segments/00000001.seg")
    let size = try FileSystem.status(segment).size
    var random = SeededRandom(seed: 5)
    for _ in 0..<12 {
      let offset = UInt64.random(in: 40..<size, using: &random)
      let file = try File(segment, .readWrite)
      let old = try file.read(1, at: offset)
      try file.write([old[0] ^ 1], at: offset)
      let report = try Store.open(path: directory.file("s")).verify()
      #expect(report.damage.contains { $0.contains("00000001.seg") }, "offset \(offset)")
      try file.write(old, at: offset)
    }
    let file = try File(segment, .readWrite)
    try file.truncate(to: size / 2)
    #expect(try !Store.open(path: directory.file("s")).verify().isSound)
    try FileSystem.unlink(segment)
    #expect(try !Store.open(path: directory.file("s")).verify().isSound)
  }

  @Test(
    "a backup has segments that a power failure left without a header", arguments: [0, 7, 4096])
  func backupOfEmptySegment(size: Int) throws {
    let store = try Store.open(path: directory.file("s"), create: true)
    let value = Value(id: Value.ID("a"), data: [1])
    let version = try store.makeVersion(basedOnPredecessor: nil, inserting: [value])
    let name = "segments/00000009.seg"
    try File("\(directory.file("s"))/\(name)", [.readWrite, .create]).truncate(to: UInt64(size))
    for _ in 0..<2 { try store.backup(to: directory.file("b")) }
    #expect(try FileSystem.status("\(directory.file("b"))/\(name)").size == UInt64(size))
    let copy = try Store.open(path: directory.file("b"), mode: .reader, isForced: true)
    #expect(try copy.value(id: value.id, at: version.id)?.data == [1])
  }

  @Test("a backup of a store in use holds what was committed and has a replica id of its own")
  func backup() throws {
    let store = try Store.open(path: directory.file("s"), create: true)
    let second = try fill(store)
    try store.backup(to: directory.file("b"))
    try store.makeVersion(basedOnPredecessor: second.id, removing: [Value.ID("long")])
    let copy = try Store.open(path: directory.file("b"))
    #expect(try copy.state().lastNumber == 2)
    #expect(copy.replicaID != store.replicaID)
    #expect(copy.storeID == store.storeID)
    let report = try copy.verify()
    #expect(report.isSound, "\(report.damage)")
    try copy.makeVersion(basedOnPredecessor: second.id, removing: [Value.ID("zeros")])
    #expect(throws: StoreError.self) { try store.backup(to: directory.file("b")) }
    #expect(try store.statistics().versions == 3)
  }
}
