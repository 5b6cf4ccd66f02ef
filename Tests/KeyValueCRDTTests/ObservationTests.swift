import Foundation
import KeyValueCRDT
import TestSupport
import Testing

@Suite("Observation", .timeLimit(.minutes(1)))
struct ObservationTests {
  private func memory() throws -> KeyValueDatabase {
    try KeyValueDatabase(fileURL: nil, authorDescription: "test")
  }

  @Test("for await gives the state of now and of after each change")
  func forAwait() async throws {
    let database = try memory()
    try database.writeText("first", to: "k")
    var seen: [String] = []
    for try await values in database.readPublisher(key: "k").values {
      let text = try #require(try values["k"]?.text)
      seen.append(text)
      if text == "first" { try database.writeText("second", to: "k") }
      if text == "second" { break }
    }
    #expect(seen == ["first", "second"])
  }

  @Test("for await of updated values cannot fail, and gives each change in its order")
  func forAwaitUpdates() async throws {
    let database = try memory()
    let ready = Signal()
    let task = Task {
      var seen: [String] = []
      let iterator = database.updatedValuesPublisher.makeAsyncIterator()
      ready.set()
      var copy = iterator
      while let (key, versions) = await copy.next() {
        seen.append("\(key)=\((try? versions.text) ?? "?")")
        if seen.count == 100 { break }
      }
      return seen
    }
    #expect(await ready.isSet())
    for count in 0..<100 { try database.writeText("\(count)", to: "k") }
    #expect(await task.value == (0..<100).map { "k=\($0)" })
  }

  @Test("an iteration ends when its task is cancelled")
  func cancelledTask() async throws {
    let database = try memory()
    let task = Task {
      for await _ in database.updatedValuesPublisher {}
      return true
    }
    try await Task.sleep(nanoseconds: 20_000_000)
    task.cancel()
    #expect(await task.value)
  }

  @Test("only what matches is published")
  func matching() async throws {
    let database = try memory()
    let seen = Collected<Int>()
    let changes = Collected<Int>()
    let values = database.readPublisher(scope: "s", key: "k").sink(
      receiveCompletion: { _ in }, receiveValue: { seen.add($0.count) })
    let signals = database.didChangePublisher(scope: "s").sink(
      receiveCompletion: { _ in },
      receiveValue: { database in
        changes.add((try? database.rows(sql: "SELECT 1 FROM entry").count) ?? -1)
      })
    #expect(await seen.wait(for: 1) == [0])
    try database.writeText("v", to: "k")
    try database.writeText("v", to: "other", scope: "s")
    try database.writeText("v", to: "k", scope: "s")
    #expect(await seen.wait(for: 2) == [0, 1])
    #expect(await changes.wait(for: 2).count == 2)
    values.cancel()
    signals.cancel()
    try database.writeText("w", to: "k", scope: "s")
    #expect(await seen.wait(for: 2) == [0, 1])
  }

  @Test("a subscription ends when nobody holds it")
  func ended() async throws {
    let database = try memory()
    let seen = Collected<Int>()
    var kept: Set<AnyCancellable> = []
    do {
      let subscription = database.updatedValuesPublisher.sink { _ in seen.add(1) }
      subscription.store(in: &kept)
    }
    try database.writeText("v", to: "k")
    #expect(await seen.wait(for: 1) == [1])
    kept = []
    try database.writeText("w", to: "k")
    #expect(await seen.wait(for: 1) == [1])
  }

  @Test("raw writes, bulk writes in a block and deletions by SQL are published, after the commit")
  func rawWrites() async throws {
    let database = try memory()
    try database.bulkWrite(["a": "1", "b": "2", "c": "3"])
    let seen = Collected<String>()
    let subscription = database.updatedValuesPublisher.sink { key, versions in
      seen.add("\(key)=\(versions.compactMap(\.value.text))")
    }
    defer { subscription.cancel() }
    try database.write { block in
      try block.execute(sql: "UPDATE entry SET usn = 1, type = 0, text = NULL WHERE key = 'a'")
      try block.execute(sql: "DELETE FROM entry WHERE key = ?", arguments: ["b"])
      try database.bulkWrite(database: block, values: ["d": "4"])
      #expect(seen.all.isEmpty)
    }
    #expect(await seen.wait(for: 3) == ["a=[]", "b=[]", #"d=["4"]"#])
  }

  @Test("what is undone is not published")
  func undone() async throws {
    struct Stop: Error {}
    let database = try memory()
    let seen = Collected<String>()
    let subscription = database.updatedValuesPublisher.sink { key, _ in seen.add(key.key) }
    defer { subscription.cancel() }
    #expect(throws: Stop.self) {
      try database.write { block in
        try database.bulkWrite(database: block, values: ["undone": "1"])
        throw Stop()
      }
    }
    try database.write { block in
      try database.writeText("1", to: "done")
      try? database.write { _ in
        try database.writeText("2", to: "partly")
        throw Stop()
      }
    }
    #expect(await seen.wait(for: 1) == ["done"])
    #expect(try database.keys == ["done"])
  }

  @Test("observers of the target of a backup are told")
  func backup() async throws {
    let database = try memory()
    try database.writeText("v", to: "k")
    let target = try memory()
    try target.writeText("w", to: "old")
    let seen = Collected<String>()
    let subscription = target.updatedValuesPublisher.sink { key, versions in
      seen.add("\(key)=\(versions.count)")
    }
    defer { subscription.cancel() }
    try database.backup(to: target)
    #expect(await seen.wait(for: 2) == ["k=1", "old=0"])
  }

  @Test("changes through another opening of the file are published within a second")
  func otherProcess() async throws {
    let folder = try Folder()
    let database = try folder.database("shared.kvcrdt")
    try database.writeText("v", to: "k")
    let seen = Collected<String>()
    let first = database.updatedValuesPublisher.sink { key, versions in
      seen.add("\(key)=\((try? versions.text) ?? "?")")
    }
    let all = Signal()
    let second = database.readPublisher().sink { _ in
    } receiveValue: { values in
      if values.count == 2 { all.set() }
    }
    defer {
      first.cancel()
      second.cancel()
    }
    // The file is looked at once before the other writes.
    try await Task.sleep(nanoseconds: 100_000_000)
    try folder.database("shared.kvcrdt").bulkWrite(["k": "w", "l": "new"])
    #expect(await seen.wait(for: 2) == ["k=w", "l=new"])
    #expect(await all.isSet())
  }

  @Test("a query over tables of the application's own is published when anything changes")
  func values() async throws {
    let database = try memory()
    try database.write { try $0.execute(sql: "CREATE TABLE own (number INTEGER)") }
    let seen = Collected<Int64>()
    let subscription = database.valuePublisher {
      try $0.rows(sql: "SELECT SUM(number) AS total FROM own").first?["total"].integer ?? 0
    }.sink(receiveCompletion: { _ in }, receiveValue: { seen.add($0) })
    defer { subscription.cancel() }
    #expect(await seen.wait(for: 1) == [0])
    try database.write {
      try $0.execute(sql: "INSERT INTO own VALUES (?), (?)", arguments: [20, 22])
    }
    #expect(await seen.wait(for: 2) == [0, 42])
  }

  @Test("a publication that cannot be read ends with its error")
  func failing() async throws {
    let database = try memory()
    let ends = Collected<String>()
    let subscription = database.valuePublisher { try $0.rows(sql: "SELECT * FROM nothing").count }
      .sink(
        receiveCompletion: { completion in
          switch completion {
          case .finished: ends.add("finished")
          case .failure(let error): ends.add("\(error)".contains("nothing") ? "failed" : "?")
          }
        }, receiveValue: { _ in ends.add("value") })
    defer { subscription.cancel() }
    #expect(await ends.wait(for: 1) == ["failed"])
    await #expect(throws: DatabaseError.self) {
      for try await _ in database.valuePublisher({ try $0.rows(sql: "no SQL").count }) {}
    }
  }
}
