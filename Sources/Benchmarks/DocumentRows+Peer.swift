import Control
import Documents
import Foundation
import Grammar
import Inodes
import KeyValueCRDT
import LLVSCore
import LLVSTool
import Platform
import TreeNames
import WorkingTree

/// Rows of documents that are exchanged with a store.
extension DocumentRows {
  /// All of them.
  static func peer(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(10_000, 100_000)
    return try importing(context, count) + syncing(context, count) + large(context)
  }

  // MARK: The first exchange

  private static func importing(_ context: BenchContext, _ count: Int) throws -> [BenchFigure] {
    let place = try context.place.directory("import")
    let values = DocumentSample.values(count)
    let document = "\(place)/notes.kvcrdt"
    try DocumentSample.open(document).bulkWrite(values)
    let files = "\(place)/files"
    try DocumentSample.write(values, asFilesBelow: files)
    let taken = try BenchTimer.race(rounds: 3, 2) { runner, round in
      let path = "\(place)/store\(runner)-\(round)"
      if runner == 0 {
        let sample = try DocumentStore(path)
        return try BenchTimer.seconds { try sample.run("import kvcrdt:\(document)#notes") }
      }
      let store = try Store.open(path: path, create: true)
      return try BenchTimer.seconds {
        var source = TreeImport(directory: Array(files.utf8), prefix: Array("notes".utf8)) { _, _ in
        }
        _ = try source.run(in: store, message: nil)
      }
    }
    let written = try BenchTimer.race(rounds: 3, 2) { runner, round in
      let path = "\(place)/export\(runner)-\(round)"
      if runner == 1 {
        let plain = try PlainDocument(path)
        return try BenchTimer.seconds { try plain.write(values) }
      }
      // Opened again: nothing that an earlier round has computed is known.
      let store = try Store.open(path: "\(place)/store0-0")
      guard let head = try store.state().head else { throw BenchError.failed("no version") }
      let directory = try DocumentAddress.directory("notes")
      return try BenchTimer.seconds { _ = try Verb.write(head, store, directory, to: path) }
    }
    return [
      BenchFigure(
        work: "import a document of \(count) keys", taken, reference: 1,
        against: "import of files", goal: .times(atMost: 2, aim: 1.5)),
      BenchFigure(
        work: "export them into a new document", written, reference: 1, against: "SQLite",
        goal: .times(atMost: 1, aim: 0.5)),
    ]
  }

  // MARK: Later ones

  private static func syncing(_ context: BenchContext, _ count: Int) throws -> [BenchFigure] {
    let place = try context.place.directory("sync")
    let document = "\(place)/notes.kvcrdt"
    let app = try DocumentSample.open(document)
    try app.bulkWrite(DocumentSample.values(count))
    let sample = try DocumentStore("\(place)/store")
    try sample.service.setPeer("app", address: Array("kvcrdt:\(document)#notes".utf8))
    try sample.run("sync")
    let untouched = try BenchTimer.race(rounds: 15, 2) { runner, _ in
      try BenchTimer.seconds {
        if runner == 0 { try sample.run("sync") } else { _ = try FileSystem.status(document) }
      }
    }
    let plain = try PlainDocument(document)
    /// Changes one key, and exchanges it, next to a look through all keys by SQLite.
    func race(_ work: String, _ change: (Int) throws -> Void) throws -> BenchFigure {
      let times = try BenchTimer.race(rounds: rounds, 2) { runner, round in
        guard runner == 0 else { return try BenchTimer.seconds { _ = try plain.dots() } }
        try change(round)
        return try BenchTimer.seconds { try sample.run("sync") }
      }
      let seconds = 0.3 * Double(count) / 100_000
      return BenchFigure(
        work: work, times, reference: 1, against: "SQLite, all dots",
        goal: .within(atMost: 2 * seconds, aim: seconds))
    }
    let figures = [
      try race("sync, 1 of \(count) keys changed in the document") {
        try app.writeText("changed \($0)", to: "key \($0)", scope: "note 0")
      },
      try race("sync, 1 of \(count) files changed in the tree") {
        try sample.write("notes/note 1/key \(4 + $0 % 4)", Array("changed here \($0)".utf8))
      },
    ]
    guard try app.read(key: "key 4", scope: "note 1").text?.hasPrefix("changed here") == true else {
      throw BenchError.failed("the document has not what was written in the tree")
    }
    return [
      BenchFigure(
        work: "sync, \(count) keys, nothing changed", untouched, reference: 1, against: "stat(2)",
        goal: .within(atMost: 0.004, aim: 0.002))
    ] + figures
  }

  // MARK: A large document

  /// Changes one of many blobs, next to a copy of the whole file.
  private static func large(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(128, 1024)
    let size = 1 << 20
    let place = try context.place.directory("large")
    let document = "\(place)/large.kvcrdt"
    let app = try DocumentSample.open(document)
    var random = BenchRandom(1)
    for blob in 0..<count {
      try app.writeBlob(Data(random.bytes(size)), to: "blob \(blob)")
    }
    let sample = try DocumentStore("\(place)/store")
    try sample.service.setPeer("app", address: Array("kvcrdt:\(document)#large".utf8))
    try sample.run("sync")
    var most = 0.0
    func race(_ work: String, _ change: (Int) throws -> Void) throws -> BenchFigure {
      let times = try BenchTimer.race(rounds: rounds, 2) { runner, round in
        if runner == 1 {
          let copy = "\(place)/copy"
          try? FileSystem.unlink(copy)
          return try BenchTimer.seconds { try File(document, .read).copy(to: copy) }
        }
        try change(round)
        let before = try DocumentMemoryUse.start()
        let seconds = try BenchTimer.seconds { try sample.run("sync") }
        most = max(most, try DocumentMemoryUse.peak() - before)
        return seconds
      }
      return BenchFigure(
        work: work, times, reference: 1, against: "copy, fsync",
        goal: .times(atMost: 2, aim: 1.5))
    }
    let title = "\(count) MiB, 1 blob of 1 MiB changed"
    let figures = [
      try race("\(title) in the document") {
        try app.writeBlob(Data(random.bytes(size)), to: "blob \($0)")
      },
      try race("\(title) in the tree") { try sample.write("large/blob \($0)", random.bytes(size)) },
    ]
    return figures + [
      BenchFigure(
        work: "\(title): memory on top", ours: most, unit: .bytes,
        goal: .within(atMost: 134_217_728, aim: 67_108_864))
    ]
  }
}

/// A store with a tree that is not mounted, for exchanges with documents.
final class DocumentStore {
  let service: ControlService

  init(_ path: String) throws {
    service = try ControlService.open(try Store.open(path: path, create: true))
  }

  /// Runs a line of the control file.
  func run(_ line: String) throws {
    var script = try ControlScript(Array(line.utf8))
    guard let command = try script.next() else { throw BenchError.failed("no command: \(line)") }
    _ = try service.run(command)
  }

  /// Replaces a file's bytes, as a program does.
  func write(_ path: String, _ bytes: [UInt8]) throws {
    let tree = service.tree.files
    var number = InodeNumber.root
    var passed: [InodeNumber] = []
    for name in path.split(separator: "/") {
      number = try tree.lookup(number, FileName(name.utf8)).number
      passed.append(number)
    }
    let handle = try tree.open(number, mode: [.write, .truncate]).handle
    try bytes.withUnsafeBytes { try tree.write(handle, at: 0, $0, mapped: false) }
    try tree.flush(handle)
    try tree.release(handle)
    for number in passed { tree.forget(number, count: 1) }
  }
}

/// The most memory that this process has had since a moment.
enum DocumentMemoryUse {
  /// Begins, and returns the memory in use now, in bytes.
  static func start() throws -> Double {
    // Freed memory counts as used until it is given back, and would hide memory that is used again.
    SystemMemory.trim()
    // Linux sets the greatest resident size back to the present one.
    try File("/proc/self/clear_refs", .write).write(Array("5\n".utf8), at: 0)
    return try bytes("VmRSS:")
  }

  /// Returns the most since it began, in bytes.
  static func peak() throws -> Double { try bytes("VmHWM:") }

  private static func bytes(_ name: String) throws -> Double {
    let text = String(
      decoding: try FileSystem.read("/proc/self/status", atMost: 65_536), as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    let words = line?.split { $0 == " " || $0 == "\t" } ?? []
    return (words.count > 1 ? Double(words[1]) ?? 0 : 0) * 1024
  }
}
