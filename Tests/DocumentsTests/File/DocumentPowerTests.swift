import Documents
import Foundation
import KeyValueCRDT
import LLVSCore
import Platform
import SQLite
import Synchronization
import TestSupport
import Testing

/// The power is cut at every call that writes a document: it is as it was before or as it is after, and the
/// next exchange makes of it what the one that was cut would have made.
@Suite("Power cuts while a document is written", .timeLimit(.minutes(5)), .serialized)
struct DocumentPowerTests {
  @Test("the document is whole, and exchanged again", arguments: [false, true])
  func cut(isOpen: Bool) throws {
    DatabaseFaults.install()
    let place = try DocumentPlace()
    try FileSystem.makeDirectory(place.path("docs"))
    var app: KeyValueDatabase? = try place.database("docs/a.kvcrdt")
    for index in 0..<20 { _ = try app?.writeText("one", to: "note\(index)") }
    if !isOpen { app = nil }
    try place.retrieve("docs/a.kvcrdt")
    for index in 0..<10 { try place.write("note\(index)", index < 5 ? nil : "two") }
    let old = try place.rows("docs/a.kvcrdt")
    let inode = try FileSystem.status(place.path("docs/a.kvcrdt")).inode
    let taken = Mutex<[String]>([])
    let directory = place.directory
    let disk = try PowerDisk(place.path("docs")) { disk, call, phase in
      let number = taken.withLock { $0.count }
      for rest in [PowerDisk.Rest.nothing, .everything, .some(seed: UInt64(number))] {
        let name = "image\(taken.withLock { $0.count })"
        do {
          try disk.image(at: directory.file(name), rest)
          taken.withLock { $0.append(name) }
        } catch { Issue.record("\(call) \(phase): \(error)") }
      }
    }
    try place.send("docs/a.kvcrdt")
    disk.stop()
    let new = try place.rows("docs/a.kvcrdt")
    #expect(old != new)
    #expect((try FileSystem.status(place.path("docs/a.kvcrdt")).inode == inode) == isOpen)
    var seen: Set<[String]> = []
    let head = place.head
    for name in taken.withLock({ $0 }) {
      // Opening rolls back what the cut left half done.
      try DocumentFile.open(place.path("\(name)/a.kvcrdt"))?.close()
      seen.insert(try place.rows("\(name)/a.kvcrdt"))
      try place.retrieve("\(name)/a.kvcrdt")
      #expect(place.head == head)
      try place.send("\(name)/a.kvcrdt")
      #expect(try place.rows("\(name)/a.kvcrdt") == new, "\(name)")
      try FileSystem.removeTree(place.path(name))
    }
    #expect(taken.withLock { $0.count } > 20)
    #expect(seen.isSubset(of: [old, new]))
    #expect(seen.contains(old))
    _ = app
  }

  @Test("what a program wrote into a log beside the document is read, and the log is written to")
  func log() throws {
    let place = try DocumentPlace()
    _ = try place.database("a.kvcrdt").writeText("one", to: "note")
    let app = try SQLite.Database(
      path: place.path("a.kvcrdt"), mode: .readWrite, options: .document(patience: 1000))
    try app.execute("PRAGMA journal_mode = WAL")
    try app.execute("UPDATE entry SET text = 'two'")
    #expect(try FileSystem.exists(place.path("a.kvcrdt-wal")))
    try place.retrieve("a.kvcrdt")
    let head = try #require(try place.head.flatMap { try place.store.version($0) })
    let entry = try #require(try place.store.map(of: head).entry(at: Key("notes/note")))
    #expect(try place.store.contents.bytes(entry.stored) == Array("two".utf8))
    try place.write("note", "three")
    try place.send("a.kvcrdt")
    var texts: [String] = []
    try app.rows("SELECT text FROM entry") { texts.append($0.text(0)) }
    #expect(texts == ["three"])
  }
}
