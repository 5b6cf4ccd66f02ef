import Foundation
import LLVS
import LLVSModel
import LLVSProjection
import LLVSSQLite
import Synchronization
import TestSupport
import Testing

/// The names of the original's files, tools, closures and newest version, as programs use them.
@Suite("The original's names: closures, tools and the newest", .timeLimit(.minutes(1)))
struct LaterNamesTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private struct OtherError: Error {}

  private func url(_ name: String) -> URL { URL(fileURLWithPath: directory.file(name)) }

  private func result<Value: Sendable>(
    _ body: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      body { continuation.resume(with: $0) }
    }
  }

  @Test("an exchange and a snapshot, with closures")
  func closures() async throws {
    let first = try StoreCoordinator(withStoreDirectoryAt: url("a"), snapshotPolicy: .auto)
    let exchange = FileSystemExchange(
      rootDirectoryURL: url("folder"), store: first.store, usesFileCoordination: false)
    #expect(!exchange.usesFileCoordination)
    for made in [exchange.versionsDirectory, exchange.changesDirectory] {
      #expect(FileManager.default.fileExists(atPath: made.path))
    }
    #expect(exchange.snapshotsDirectory.lastPathComponent == "snapshots")
    let saved = try first.save(inserting: [Value(idString: "k", data: Data([1]))])
    first.exchange = exchange
    try await first.exchange()
    try await result { exchange.prepareToRetrieve(executingUponCompletion: $0) }
    try await result { exchange.prepareToSend(executingUponCompletion: $0) }
    let ids = try await result {
      exchange.retrieveAllVersionIdentifiers(executingUponCompletion: $0)
    }
    #expect(Set(ids) == Set(first.store.queryHistory { $0.allVersionIdentifiers }))
    let versions = try await result {
      exchange.retrieveVersions(identifiedBy: [saved.id], executingUponCompletion: $0)
    }
    let changes = try await result {
      exchange.retrieveValueChanges(
        forVersionsIdentifiedBy: [saved.id], executingUponCompletion: $0)
    }
    #expect(versions.ids == [saved.id] && changes[saved.id]?.valueIds == [Value.ID("k")])
    let other = MemoryExchange(store: first.store)
    try await result {
      other.send(
        versionChanges: versions.map { ($0, changes[$0.id] ?? []) }, executingUponCompletion: $0)
    }
    #expect(try await other.retrieveAllVersionIdentifiers() == [saved.id])
    let found: SnapshotManifest? = try await result {
      exchange.retrieveSnapshotManifest(completionHandler: $0)
    }
    let manifest = try #require(found)
    let chunk: Data = try await result {
      exchange.retrieveSnapshotChunk(index: 0, completionHandler: $0)
    }
    #expect(
      try await exchange.retrieveSnapshotChunk(snapshotId: manifest.snapshotId, index: 0) == chunk)
    await #expect(throws: FileSystemExchange.Error.snapshotChunkMissing(7)) {
      try await exchange.retrieveSnapshotChunk(snapshotId: manifest.snapshotId, index: 7)
    }
    try await result {
      exchange.sendSnapshot(
        manifest: manifest, chunkProvider: { _ in chunk }, completionHandler: $0)
    }
    let second = try StoreCoordinator(withStoreDirectoryAt: url("b"))
    second.exchange = FileSystemExchange(rootDirectoryURL: url("folder"), store: second.store)
    let error: (any Error)? = await withCheckedContinuation { continuation in
      second.bootstrapFromSnapshot { error in continuation.resume(returning: error) }
    }
    #expect(error == nil && second.currentVersion == saved.id)
    // Through the protocol, as a program has it that does not know the type.
    let any = try #require(second.exchange)
    #expect(try await result { any.retrieve(executingUponCompletion: $0) }.count == ids.count)
    #expect(try await result { any.send(executingUponCompletion: $0) } == [])
  }

  /// An exchange of a program for the newest original: its chunks have the snapshot's id.
  private final class NewestChunks: SnapshotExchange, Sendable {
    func retrieveSnapshotManifest() async throws -> SnapshotManifest? {
      SnapshotManifest(
        snapshotId: "one", format: "zip-v1", latestVersionId: Version.ID(), versionCount: 1,
        chunkCount: 1, totalSize: 3)
    }

    func retrieveSnapshotChunk(snapshotId: String, index: Int) async throws -> Data {
      Data(snapshotId.utf8)
    }

    func sendSnapshot(
      manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data
    ) async throws {}
  }

  /// An exchange of a program for an older one.
  private final class OlderChunks: SnapshotExchange, Sendable {
    func retrieveSnapshotManifest() async throws -> SnapshotManifest? { nil }
    func retrieveSnapshotChunk(index: Int) async throws -> Data { Data([UInt8(index)]) }

    func sendSnapshot(
      manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data
    ) async throws {}
  }

  @Test("an exchange of a program has either of the functions that return a part of a snapshot")
  func chunks() async throws {
    #expect(try await NewestChunks().retrieveSnapshotChunk(index: 0) == Data("one".utf8))
    #expect(
      try await OlderChunks().retrieveSnapshotChunk(snapshotId: "any", index: 3) == Data([3]))
  }

  private final class Steps: Sendable {
    let all = Mutex<[Int]>([])
    func add(_ number: Int) { all.withLock { $0.append(number) } }
  }

  private final class Counting: AsynchronousOperation, @unchecked Sendable {
    let steps = Steps()
    override func main() { steps.add(0) }
  }

  @Test("operations end when they are told to, in order")
  func operations() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let steps = Steps()
    for number in 0..<3 {
      queue.addAsynchronousOperation { finish in
        nonisolated(unsafe) let finish = finish
        steps.add(number)
        DispatchQueue.global().async {
          steps.add(number)
          finish()
        }
      }
    }
    let last = Counting()
    await withCheckedContinuation { continuation in
      last.endBlock = { continuation.resume() }
      queue.addOperation(last)
    }
    #expect(steps.all.withLock { $0 } == [0, 0, 1, 1, 2, 2])
    #expect(last.steps.all.withLock { $0 } == [0])
    let single = AsynchronousOperation()
    let ended = Steps()
    single.beginBlock = { [unowned single] in
      ended.add(1)
      single.end()
    }
    single.endBlock = { ended.add(2) }
    single.start()
    #expect(single.isFinished && !single.isExecuting && single.isAsynchronous)
    #expect(ended.all.withLock { $0 } == [1, 2])
  }

  @Test("the history's errors and its iterator, differences of given changes, the log")
  func history() throws {
    let store = try Store(rootDirectoryURL: url("s"))
    let version = try store.makeVersion(basedOnPredecessor: nil, storing: [])
    store.queryHistory { history in
      var iterator: History.TopologicalIterator = history.makeIterator()
      #expect(iterator.next()?.id == version.id && iterator.next() == nil)
      #expect(iterator.history.headIdentifiers == [version.id])
      #expect(throws: History.Error.nonExistentVersionEncountered(identifier: "none")) {
        try history.greatestCommonAncestor(
          ofVersionsIdentifiedBy: (version.id, Version.ID("none")))
      }
    }
    let diff = ArrayDiff(withChanges: [
      .delete(originalIndex: 0, value: "a"), .insert(finalIndex: 1, value: "c"),
    ])
    #expect(["a", "b"].applying(diff) == ["b", "c"])
    Log.append("a line of a test", level: .trace, path: #fileID, function: #function)
  }

  @Test("a database tells its file, what failed and with which code")
  func database() throws {
    let file = url("d.sqlite")
    let database = try SQLiteDatabase(fileURL: file)
    #expect(database.fileURL == file && database.errorMessage == nil)
    try database.execute(statement: "CREATE TABLE t (n INTEGER, d BLOB)")
    try database.execute(
      statement: "INSERT INTO t VALUES (?, ?)", withBindingsList: [[Int32(7), Data([1])]])
    try database.forEach(
      matchingQuery: "SELECT n FROM t", withBindings: [],
      rowHandler: { row in
        #expect(row.value(inColumnAtIndex: 0) == Int32(7))
      })
    func failure(_ body: () throws -> Void) -> SQLiteDatabase.Error? {
      #expect(throws: SQLiteDatabase.Error.self) { try body() }
    }
    guard
      case .statementFailed(let statement, 1)? = failure({ try database.execute(statement: "x") })
    else {
      throw OtherError()
    }
    #expect(statement == "x" && database.errorMessage?.contains("syntax") == true)
    guard
      case .queryFailed("SELECT 1 FROM none", 1)? = failure({
        try database.forEach(matchingQuery: "SELECT 1 FROM none") { _ in }
      }),
      case .bindingFailed(bindingIndex: 1, value: _, code: 20)? = failure({
        try database.execute(
          statement: "INSERT INTO t VALUES (?, NULL)", withBindingsList: [[Date()]])
      }),
      case .openFailed(code: 14)? = failure({
        _ = try SQLiteDatabase(fileURL: url("none/d.sqlite"))
      })
    else { throw OtherError() }
    try database.close()
    guard case .statementFailed(_, 21)? = failure({ try database.execute(statement: "SELECT 1") })
    else { throw OtherError() }
  }

  @Test("tables follow a coordinator, and are read between two updates")
  func follower() async throws {
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url("s"))
    let notes = ProjectedType(
      typeIdentifier: "Note", tableName: "notes",
      columns: [ProjectedColumn(name: "text", declaration: "TEXT")],
      extract: { ["text": .text(String(decoding: $0.data, as: UTF8.self))] })
    let follower = try ProjectionFollower(
      databaseURL: url("notes.sqlite"), coordinator: coordinator, types: [notes], schemaVersion: 1)
    func texts() async throws -> [String] {
      try await follower.query { database in
        var texts: [String] = []
        try database.forEach(matchingQuery: "SELECT text FROM notes ORDER BY text") { row in
          if let text: String = row.value(inColumnAtIndex: 0) { texts.append(text) }
        }
        return texts
      }
    }
    try coordinator.save(inserting: [Value(idString: "1/Note", data: Data("one".utf8))])
    #expect(await follower.projectCurrentVersion().value?.appliedCount == 1)
    #expect(try await texts() == ["one"])
    let (results, continuation) = AsyncStream<Bool>.makeStream()
    let following = Task {
      await follower.followUpdates { result in continuation.yield(result.isSuccess) }
    }
    defer { following.cancel() }
    var iterator = results.makeAsyncIterator()
    #expect(await iterator.next() == true)
    try coordinator.save(inserting: [Value(idString: "2/Note", data: Data("two".utf8))])
    #expect(await iterator.next() == true)
    #expect(try await texts() == ["one", "two"])
  }

  @Test("a WebDAV folder by its URL and a password")
  func webDAV() async throws {
    let serverURL = try #require(URL(string: "https://127.0.0.1:1/dav"))
    let webDAV = WebDAVFileSystem(baseURL: serverURL, username: "drew", password: "secret")
    #expect(webDAV.address == "https+webdav://127.0.0.1:1/dav")
    let exchange = CloudFileSystemExchange(
      cloudFileSystem: webDAV, store: try Store(rootDirectoryURL: url("s")), basePath: "MyApp")
    #expect(exchange.basePath == "MyApp")
    // What is no address of a server is found at the first use.
    let other = WebDAVFileSystem(baseURL: url("folder"))
    await #expect(throws: Store.Error.self) { try await other.contentsOfDirectory(at: "/") }
  }
}
