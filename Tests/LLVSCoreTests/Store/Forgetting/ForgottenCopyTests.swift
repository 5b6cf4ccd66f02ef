import Platform
import SQLite
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// What copies of a store and damaged rows do with bytes that are gone.
@Suite(.timeLimit(.minutes(1)))
struct ForgottenCopyTests {
  let directory: TemporaryDirectory
  private let key = Value.ID("k")
  private var path: String { directory.file("s") }
  private var target: String { directory.file("copy") }

  init() throws { directory = try TemporaryDirectory() }

  private func text(_ index: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(index + 1))
    return random.bytes(100_000)
  }

  private func fill() throws -> (store: Store, ids: [Version.ID]) {
    let store = try Store.open(path: path, create: true)
    var ids: [Version.ID] = []
    for index in 0..<4 {
      ids.append(
        try store.makeVersion(
          basedOnPredecessor: ids.last, storing: [.insert(Value(id: key, data: text(index)))]
        ).id)
    }
    return (store, ids)
  }

  private func forget(_ store: Store) throws {
    try store.forget(try ForgetTests.least(), at: ForgetTests.later())
  }

  private func allocated(_ store: String) throws -> UInt64 {
    try FileSystem.status("\(store)/segments/00000001.seg").allocated
  }

  @Test("a backup of a store that has forgotten takes as little room, also over an earlier one")
  func backup() throws {
    let (store, ids) = try fill()
    try store.backup(to: target)
    let before = try allocated(target)
    try forget(store)
    for (place, isOld) in [(target, true), (directory.file("fresh"), false)] {
      let written = try store.backup(to: place)
      #expect(isOld ? written == 0 : written < 150_000, "\(written)")
      #expect(try allocated(place) < before / 2)
      let copy = try Store.open(path: place, mode: .reader)
      #expect(try copy.value(id: key, at: ids[3])?.data == text(3))
      #expect(try ForgetTests.read(key, at: ids[1], in: copy) == .forgotten)
      let report = try copy.verify()
      #expect(report.isSound && report.forgotten == 3, "\(report.damage)")
    }
    // The copies are equal to the store now.
    #expect(try store.backup(to: target) == 0)
  }

  @Test("versions that are forgotten during a backup are damage in no copy", arguments: 0...3)
  func concurrent(calls: Int) throws {
    let (store, ids) = try fill()
    store.limitSegments(to: 1)
    try store.makeVersion(basedOnPredecessor: ids[3], removing: [Value.ID("none")])
    var count = 0
    try store.backup(
      to: target,
      progress: { _, _ in
        if count == calls { try? forget(store) }
        count += 1
        return true
      })
    let copy = try Store.open(path: target, mode: .reader)
    let report = try copy.verify()
    #expect(report.isSound, "\(report.damage)")
    #expect(try copy.value(id: key, at: ids[3])?.data == text(3))
  }

  @Test(
    "a damaged row of what is gone is repaired from its copy; without both no record is used again",
    arguments: [1, 2])
  func damagedRows(rows: Int) throws {
    let ids: [Version.ID]
    do {
      let store: Store
      (store, ids) = try fill()
      try forget(store)
    }
    do {
      let catalog = try StoreDatabase(path: "\(path)/store.sqlite", mode: .readWrite)
      let names = ["gone 1", "gone 1~"].prefix(rows)
      for name in names {
        try catalog.prepared("UPDATE properties SET value = x'4405' WHERE name = ?").bind(1, name)
          .run()
      }
    }
    let store = try Store.open(path: path)
    #expect(try store.state().mended.isEmpty == false)
    if rows == 1 {
      #expect(try ForgetTests.read(key, at: ids[1], in: store) == .forgotten)
      #expect(try store.verify().damage == store.state().mended)
    } else {
      // Nothing says any more that the bytes were forgotten.
      #expect(throws: StoreError.self) { try ForgetTests.read(key, at: ids[1], in: store) }
    }
    // Equal bytes are never found at the old place.
    let again = try store.makeVersion(
      basedOnPredecessor: ids[3], storing: [.insert(Value(id: key, data: text(1)))])
    #expect(try store.value(id: key, at: again.id)?.data == text(1))
    #expect(try store.value(id: key, at: ids[3])?.data == text(3))
    try forget(store)
    #expect(try store.value(id: key, at: again.id)?.data == text(1))
  }

  @Test("an earlier program refuses a store that has forgotten, and any other store is as before")
  func format() throws {
    let (store, _) = try fill()
    func format() throws -> Int64? {
      try store.catalog.read { (database) throws(StoreError) in
        try database.integer("PRAGMA user_version")
      }
    }
    #expect(try format() == Catalog.formatVersion)
    try store.forget(.everything, at: ForgetTests.later())
    #expect(try format() == Catalog.formatVersion)
    try forget(store)
    #expect(try format() == Catalog.forgettingVersion)
  }
}
