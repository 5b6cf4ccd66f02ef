import Platform
import SQLite
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

@Suite("Connections that read the index", .timeLimit(.minutes(1)))
final class IndexReadersTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private func bytes(_ seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(5000)
  }

  @Test("While transactions are kept, chunks that were written meanwhile are found")
  func newChunks() throws {
    let store = try Store.open(path: directory.file("store"), create: true)
    var last: Version.ID?
    try store.contents.handlingMany { () throws(StoreError) in
      for round in 0..<5 {
        let bytes = bytes(UInt64(round))
        let unknown = try store.contents.prepare(BytesSource(bytes))?.known
        last = try store.makeVersion(
          basedOnPredecessor: last, inserting: [Value(id: Key("key\(round)"), data: bytes)]
        ).id
        store.index.flush()
        let known = try store.contents.prepare(BytesSource(bytes))?.known
        guard unknown == nil, known != nil else { throw .invalid("round \(round)") }
      }
    }
  }

  @Test("When the last one is done, the log can be emptied")
  func ending() throws {
    let path = directory.file("store")
    let store = try Store.open(path: path, create: true)
    try store.contents.handlingMany { () throws(StoreError) in
      try store.contents.handlingMany { () throws(StoreError) in
        _ = try store.contents.prepare(BytesSource(bytes(1)))
      }
      _ = try store.contents.prepare(BytesSource(bytes(2)))
    }
    let database = try StoreDatabase(path: path + "/index.sqlite", mode: .readWrite)
    #expect(try FileSystem.status(path + "/index.sqlite-wal").size != 0)
    // A connection that has read nothing knows of no log.
    _ = try database.integer("SELECT count(*) FROM chunks")
    database.emptyLog()
    #expect(try FileSystem.status(path + "/index.sqlite-wal").size == 0)
  }
}
