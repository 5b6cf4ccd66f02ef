import Foundation
import Platform
import SQLite
import Synchronization
import TestSupport
import Testing

@testable import KeyValueCRDT

/// The power is cut at every call of the operations that write a file: it holds what it held before, or
/// what it holds after, and is sound.
@Suite("Power cuts", .timeLimit(.minutes(5)), .serialized)
struct PowerCutTests {
  private static let before: [ScopedKey: Value] = ["a": "first", "b": "first", "c": .null]
  private static let after: [ScopedKey: Value] = ["a": "second", "b": .json("2"), "d": "new"]

  /// Every value of a file in one line, or that there is no file.
  private static func state(_ path: String) throws -> String {
    guard try FileSystem.exists(path) else { return "no file" }
    let database = try KeyValueDatabase(
      fileURL: URL(fileURLWithPath: path), authorDescription: "reader")
    let faults = try database.verify()
    guard faults.isEmpty else { return "\(faults)" }
    return try database.bulkRead().sorted { $0.key < $1.key }
      .map { "\($0.key)=\($0.value.map(\.value))" }.joined(separator: ", ")
  }

  /// Cuts the power at each call of a body that writes `a.kvcrdt` in a directory.
  private static func cut(
    _ name: String, _ prepare: (Folder) throws -> Void, _ body: (Folder) throws -> Void
  ) throws {
    DatabaseFaults.install()
    let folder = try Folder(inMemory: true)
    try prepare(folder)
    let old = try state(folder.path(name))
    let images = try TemporaryDirectory(inMemory: true)
    let taken = Mutex<[String]>([])
    let disk = try PowerDisk(folder.directory.path) { disk, call, phase in
      let number = taken.withLock { $0.count }
      for rest in [PowerDisk.Rest.nothing, .everything, .some(seed: UInt64(number))] {
        let path = images.file("\(taken.withLock { $0.count })")
        do {
          try disk.image(at: path, rest)
          taken.withLock { $0.append(path) }
        } catch { Issue.record("\(call) \(phase): \(error)") }
      }
    }
    try body(folder)
    try disk.image(at: images.file("last"), .everything)
    taken.withLock { $0.append(images.file("last")) }
    disk.stop()
    let new = try state(folder.path(name))
    #expect(old != new)
    var seen: Set<String> = []
    for path in taken.withLock({ $0 }) {
      let found = try state("\(path)/\(name)")
      let isWhole = found == old || found == new
      #expect(isWhole, "\(path): \(found.prefix(500))")
      seen.insert(found)
    }
    #expect(taken.withLock { $0.count } > 20)
    let sawBoth = seen == [old, new]
    #expect(sawBoth, "the power was cut before and after the transaction")
  }

  @Test("in bulkWrite")
  func bulkWrite() throws {
    try Self.cut("a.kvcrdt") { folder in
      try folder.database("a.kvcrdt").bulkWrite(Self.before)
    } _: { folder in
      try folder.database("a.kvcrdt").bulkWrite(Self.after)
    }
  }

  @Test("in a bulkWrite that makes the text index anew")
  func largeBulkWrite() throws {
    let many = Dictionary(
      uniqueKeysWithValues: (0..<300).map { (ScopedKey(key: "k\($0)"), Value.text("text \($0)")) })
    try Self.cut("a.kvcrdt") { folder in
      try folder.database("a.kvcrdt").bulkWrite(Self.before)
    } _: { folder in
      try folder.database("a.kvcrdt").bulkWrite(many)
    }
  }

  @Test("in merge")
  func merge() throws {
    let source = try KeyValueDatabase(fileURL: nil, authorDescription: "source")
    try source.bulkWrite(Self.after)
    try Self.cut("a.kvcrdt") { folder in
      try folder.database("a.kvcrdt").bulkWrite(Self.before)
    } _: { folder in
      try folder.database("a.kvcrdt").merge(source: source)
    }
  }

  @Test("in eraseVersionHistory")
  func erase() throws {
    let folder = try Folder(inMemory: true)
    try folder.database("b.kvcrdt").bulkWrite(Self.after)
    let authors = try folder.database("b.kvcrdt").authors
    // What it changes is the authors, so that the values alone tell nothing: each run is checked by itself.
    DatabaseFaults.install()
    for nth in 1... {
      let token = Faults.arm(
        Faults.Plan(
          calls: [.write, .sync], below: folder.directory.path, nth: nth, times: 1,
          action: .fail(Errno.inputOutput)))
      let isDone = (try? folder.database("b.kvcrdt").eraseVersionHistory()) != nil
      let seen = Faults.disarm(token)
      let database = try folder.database("b.kvcrdt")
      #expect(try database.verify() == [])
      #expect(
        try database.bulkRead().mapValues { $0.map(\.value) } == Self.after.mapValues { [$0] })
      if isDone {
        #expect(seen < nth)
        break
      }
      #expect(try database.authors == authors)
    }
  }

  @Test("in save: the new file is there whole or not at all")
  func save() throws {
    let source = try KeyValueDatabase(fileURL: nil, authorDescription: "source")
    try source.bulkWrite(Self.after)
    try Self.cut("a.kvcrdt") { _ in
    } _: { folder in
      try source.save(to: folder.url("a.kvcrdt"))
    }
  }

  @Test("a full disk leaves the file, the numbers and the observers as they were")
  func fullDisk() async throws {
    DatabaseFaults.install()
    let folder = try Folder(inMemory: true)
    let database = try folder.database("a.kvcrdt")
    try database.bulkWrite(Self.before)
    let seen = Collected<String>()
    let subscription = database.updatedValuesPublisher.sink { key, _ in seen.add(key.key) }
    defer { subscription.cancel() }
    let token = Faults.arm(
      Faults.Plan(
        calls: [.write], below: folder.directory.path, action: .fail(Errno.noSpace)))
    do {
      try database.bulkWrite(Self.after)
      Issue.record("it must throw")
    } catch let error as KeyValueCRDT.DatabaseError {
      #expect(error.resultCode == .full || error.errno == Errno.noSpace)
    }
    #expect(throws: KeyValueCRDT.DatabaseError.self) {
      try database.save(to: folder.url("copy.kvcrdt"))
    }
    Faults.disarm(token)
    #expect(try database.read(key: "a").text == "first")
    let files = try FileSystem.list(folder.directory.path)
    #expect(files.filter { !$0.hasSuffix("-journal") } == ["a.kvcrdt"])
    #expect(try database.bulkWrite(Self.after) == 2)
    #expect(await seen.wait(for: 3) == ["a", "b", "d"])
  }
}
