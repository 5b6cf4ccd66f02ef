import Foundation
import KeyValueCRDT
import Platform
import SQLite
import Synchronization
import TestSupport

// As a program of the original has them, which imports GRDB and Combine.
typealias AnyCancellable = KeyValueDatabase.AnyCancellable
typealias DatabaseError = KeyValueDatabase.DatabaseError
typealias DatabasePool = KeyValueDatabase.DatabasePool
typealias DatabaseQueue = KeyValueDatabase.DatabaseQueue

/// A directory of a test's own, with databases in it.
struct Folder {
  let directory: TemporaryDirectory

  init(inMemory: Bool = false) throws { directory = try TemporaryDirectory(inMemory: inMemory) }

  func path(_ name: String) -> String { directory.file(name) }

  func url(_ name: String) -> URL { URL(fileURLWithPath: path(name)) }

  func database(_ name: String, _ author: String = "test") throws -> KeyValueDatabase {
    try KeyValueDatabase(fileURL: url(name), authorDescription: author)
  }

  func bytes(_ name: String) throws -> [UInt8] {
    try FileSystem.read(path(name), atMost: 1 << 30)
  }

  /// Runs SQL on a file, past the library.
  func sql(_ name: String, _ statements: String) throws {
    try SQLite.Database(path: path(name), mode: .create).execute(statements)
  }

  /// The rows of a query, each as its columns in words, past the library.
  func rows(_ name: String, _ query: String) throws -> [[String]] {
    try Folder.rows(path(name), query)
  }

  static func rows(_ path: String, _ query: String) throws -> [[String]] {
    var rows: [[String]] = []
    try SQLite.Database(path: path, mode: .readOnly).rows(query) { row in
      rows.append(
        (0..<row.columnCount).map {
          switch row.kind($0) {
          case .null: "null"
          case .blob: row.bytes($0).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
          default: row.text($0)
          }
        })
    }
    return rows
  }
}

/// Something that happens on another thread.
final class Signal: Sendable {
  private let value = Atomic<Bool>(false)

  func set() { value.store(true, ordering: .sequentiallyConsistent) }

  /// Waits until it has happened; false if it does not within ten seconds.
  func isSet() async -> Bool {
    for _ in 0..<2000 {
      if value.load(ordering: .sequentiallyConsistent) { return true }
      try? await Task.sleep(nanoseconds: 5_000_000)
    }
    return false
  }
}

/// What comes on another thread.
final class Collected<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  func add(_ element: Element) { elements.withLock { $0.append(element) } }

  var all: [Element] { elements.withLock { $0 } }

  /// Waits for so many, and a little for more of them that should not come.
  func wait(for count: Int) async -> [Element] {
    for _ in 0..<2000 {
      if all.count >= count { break }
      try? await Task.sleep(nanoseconds: 5_000_000)
    }
    try? await Task.sleep(nanoseconds: 20_000_000)
    return all
  }
}
