import Control
import Foundation
import Grammar
import KeyValueCRDT
import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing

@testable import SQLite
@testable import TreeSupport

/// The power is cut at any call of a whole exchange with a document, those of the store and those of the
/// document: the next exchange comes to what the one that was cut would have come to.
///
/// LLVS_TEST_FAULTS=all tries every call; a sample is the default.
@Suite("Power cuts while a document is synced", .timeLimit(.minutes(60)), .serialized)
struct DocumentSyncPowerTests {
  private static let isExhaustive =
    ProcessInfo.processInfo.environment["LLVS_TEST_FAULTS"] == "all"

  /// A store whose peer is a document beside it.
  private struct Place {
    let service: ControlService
    let document: String

    init(_ path: String) throws {
      document = "\(path)/notes.kvcrdt"
      service = try ControlService.open(try Store.open(path: "\(path)/store", create: true))
      try service.setPeer("app", address: Array("kvcrdt:\(document)#notes".utf8))
    }

    func run(_ line: String) throws {
      var script = try ControlScript(Array(line.utf8))
      _ = try service.run(try #require(try script.next()))
    }

    func app() throws -> KeyValueDatabase {
      try KeyValueDatabase(
        fileURL: URL(fileURLWithPath: document), authorDescription: "an app")
    }

    /// All that the document and the tree hold, a line for each value.
    func contents() throws -> [String] {
      let app = try app()
      let inDocument = try app.keys.flatMap { key in
        try app.read(key: key.key, scope: key.scope).map { "\(key): \($0.value)" }
      }
      let head = try #require(try service.store.state().head)
      let record = try #require(try service.store.version(head))
      let map = service.store.map(of: record)
      var inTree: [String] = []
      for key in try app.keys {
        let entry = try map.entry(at: Key("notes/\(key.key)"))
        let bytes = try entry.map { try service.store.contents.bytes($0.stored) } ?? []
        inTree.append("file \(key): \(String(decoding: bytes, as: UTF8.self))")
      }
      return inDocument.sorted() + inTree
    }
  }

  @Test("the next exchange comes to the same")
  func cut() throws {
    DatabaseFaults.install()
    let directory = try TemporaryDirectory()
    let world = directory.file("world")
    try FileSystem.makeDirectory(world)
    let place = try Place(world)
    var app: KeyValueDatabase? = try place.app()
    for index in 0..<6 { _ = try app?.writeText("one\ntwo\nthree\n", to: "note\(index)") }
    try place.run("sync")
    // A text that both change, one that each changes, a new one of each.
    _ = try app?.writeText("ONE\ntwo\nthree\n", to: "note0")
    _ = try app?.writeText("theirs", to: "note1")
    _ = try app?.writeText("new", to: "theirs")
    app = nil
    let edits = directory.file("edits")
    try FileSystem.makeDirectory(edits)
    for (name, text) in [
      ("note0", "one\ntwo\nTHREE\n"), ("note2", "ours"), ("ours", "new"),
    ] {
      try FileSystem.replace("\(edits)/\(name)", with: Array(text.utf8))
    }
    try place.run("import \(edits) into notes")
    let images = try Images.take(below: directory, of: world, isAll: Self.isExhaustive) {
      try place.run("sync")
    }
    let expected = try place.contents()
    #expect(expected.contains("note0: text(\"ONE\\ntwo\\nTHREE\\n\")"), "\(expected)")
    #expect(images.count > (Self.isExhaustive ? 100 : 10))
    for image in images {
      let cut = try Place(directory.file(image))
      try cut.run("sync")
      #expect(try cut.contents() == expected, "\(image)")
      #expect(try cut.service.store.verify().isSound, "\(image)")
      let bytes = try FileSystem.read(cut.document, atMost: 1 << 24)
      try cut.run("sync")
      #expect(try FileSystem.read(cut.document, atMost: 1 << 24) == bytes, "\(image)")
    }
  }
}

/// Images of what a disk has after power cuts.
private enum Images {
  /// Runs a body, and returns the names of images that were made of a directory while it ran.
  static func take(
    below directory: TemporaryDirectory, of world: String, isAll: Bool, _ body: () throws -> Void
  ) throws -> [String] {
    let taken = Mutex<(calls: Int, names: [String])>((0, []))
    let start = isAll ? 0 : Int.random(in: 0..<17)
    let disk = try PowerDisk(world) { disk, call, phase in
      let number = taken.withLock { taken in
        taken.calls += 1
        return taken.calls
      }
      guard isAll || number % 17 == start else { return }
      for rest in [PowerDisk.Rest.nothing, .everything, .some(seed: UInt64(number))] {
        let name = "image\(number)-\(rest)"
        do {
          try disk.image(at: directory.file(name), rest)
          taken.withLock { $0.names.append(name) }
        } catch { Issue.record("\(call) \(phase): \(error)") }
      }
    }
    try body()
    disk.stop()
    return taken.withLock { $0.names }
  }
}
