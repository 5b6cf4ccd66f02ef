import Foundation
import KeyValueCRDT
import Platform
import SQLite

/// Rows of the library KeyValueCRDT, next to the same rows written and read by SQLite alone.
enum DocumentRows {
  static let rounds = 5

  /// All of them.
  static func document(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(10_000, 10_000)
    return try bulk(context, count) + single(context) + reading(context, count)
      + merging(context, count) + peer(context)
  }

  private static func bulk(_ context: BenchContext, _ count: Int) throws -> [BenchFigure] {
    let place = try context.place.directory("bulk")
    let values = DocumentSample.values(count)
    let first = try BenchTimer.race(rounds: rounds, 2) { runner, round in
      if runner == 0 {
        let database = try DocumentSample.open("\(place)/ours\(round)")
        return try BenchTimer.seconds { try database.bulkWrite(values) }
      }
      let plain = try PlainDocument("\(place)/plain\(round)")
      return try BenchTimer.seconds { try plain.write(values) }
    }
    let again = try BenchTimer.race(rounds: rounds, 2) { runner, round in
      let changed = DocumentSample.values(count, generation: round + 1)
      if runner == 0 {
        let database = try DocumentSample.open("\(place)/ours0")
        return try BenchTimer.seconds { try database.bulkWrite(changed) }
      }
      let plain = try PlainDocument("\(place)/plain0")
      return try BenchTimer.seconds { try plain.write(changed) }
    }
    return [
      BenchFigure(
        work: "write \(count) values at once into a new file", first, reference: 1,
        against: "SQLite", goal: .times(atMost: 1, aim: 0.5)),
      BenchFigure(
        work: "write them all anew at once, another author", again, reference: 1,
        against: "SQLite", goal: .times(atMost: 1.2, aim: 1),
        note: "ours also notes which versions it replaces"),
    ]
  }

  private static func single(_ context: BenchContext) throws -> [BenchFigure] {
    let place = try context.place.directory("single")
    func race(
      _ writes: Int, _ title: String, _ goal: BenchGoal,
      ours: (Int) throws -> KeyValueDatabase, plain: (Int) throws -> PlainDocument
    ) throws -> BenchFigure {
      let times = try BenchTimer.race(rounds: rounds, 2) { runner, round in
        let values = DocumentSample.values(writes).sorted { $0.key < $1.key }
        if runner == 0 {
          let database = try ours(round)
          return try BenchTimer.seconds {
            for (key, value) in values {
              try database.writeText(value.text ?? "", to: key.key, scope: key.scope)
            }
          } / Double(writes)
        }
        let database = try plain(round)
        return try BenchTimer.seconds {
          for (key, value) in values { try database.write([key: value]) }
        } / Double(writes)
      }
      return BenchFigure(work: title, times, reference: 1, against: "SQLite", goal: goal)
    }
    return [
      try race(
        context.scale.pick(200, 1000), "write a value, file", .times(atMost: 1.2, aim: 1.1)
      ) {
        try DocumentSample.open("\(place)/ours\($0)")
      } plain: {
        try PlainDocument("\(place)/plain\($0)")
      },
      try race(2000, "write a value, write-ahead log, not synced", .times(atMost: 2, aim: 1.2)) {
        let pool = try KeyValueDatabase.DatabasePool(
          path: "\(place)/pool\($0)", synchronous: .normal)
        return try KeyValueDatabase(databaseWriter: pool, authorDescription: "bench")
      } plain: {
        let plain = try PlainDocument("\(place)/wal\($0)")
        try plain.database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        return plain
      },
      try race(2000, "write a value, memory", .times(atMost: 2, aim: 1.2)) { _ in
        try KeyValueDatabase(fileURL: nil, authorDescription: "bench")
      } plain: { _ in
        try PlainDocument(SQLite.Database.memory)
      },
    ]
  }

  private static func reading(_ context: BenchContext, _ count: Int) throws -> [BenchFigure] {
    let place = try context.place.directory("reading")
    let values = DocumentSample.values(count)
    let keys = values.keys.sorted()
    let database = try DocumentSample.open("\(place)/ours")
    try database.bulkWrite(values)
    let plain = try PlainDocument("\(place)/ours")
    func race(
      _ title: String, _ goal: BenchGoal, ours: () throws -> Int, plain: () throws -> Int
    ) throws -> BenchFigure {
      let times = try BenchTimer.race(rounds: rounds, 2) { runner, _ in
        var found = 0
        let seconds = try BenchTimer.seconds { found = try runner == 0 ? ours() : plain() }
        guard found > 0 else { throw BenchError.failed("nothing was read") }
        return seconds
      }
      return BenchFigure(work: title, times, reference: 1, against: "SQLite", goal: goal)
    }
    return [
      try race("read \(count) values one by one", .times(atMost: 2, aim: 1.2)) {
        try keys.reduce(0) {
          $0 + (try database.read(key: $1.key, scope: $1.scope).text?.utf8.count ?? 0)
        }
      } plain: {
        try keys.reduce(0) { $0 + (try plain.read($1)?.utf8.count ?? 0) }
      },
      try race("read all \(count) values at once", .times(atMost: 3, aim: 2)) {
        try database.bulkRead().count
      } plain: {
        try plain.readAll()
      },
      try race("list \(count) keys", .times(atMost: 3, aim: 2)) {
        try database.keys.count
      } plain: {
        try plain.keys().count
      },
      try race("search two words", .times(atMost: 2, aim: 1.2)) {
        try database.searchText(for: "number common").count
      } plain: {
        try plain.search("\"number\" \"common\"").count
      },
    ]
  }

  private static func merging(_ context: BenchContext, _ count: Int) throws -> [BenchFigure] {
    let place = try context.place.directory("merging")
    let conflicts = count / 10
    let base = try DocumentSample.open("\(place)/base")
    try base.bulkWrite(DocumentSample.values(count))
    let changed = DocumentSample.values(conflicts, generation: 1)
    try base.save(to: URL(fileURLWithPath: "\(place)/theirs"))
    let theirs = try DocumentSample.open("\(place)/theirs")
    try theirs.bulkWrite(DocumentSample.values(conflicts, generation: 2))
    let apart = try DocumentSample.open("\(place)/apart")
    try apart.bulkWrite(DocumentSample.values(count, generation: 3, from: count - conflicts))
    var figures: [BenchFigure] = []
    for (source, path, title) in [
      (theirs, "theirs", "merge \(count) keys, \(conflicts) changed on both sides"),
      (apart, "apart", "merge \(count) keys into \(count) written apart"),
    ] {
      let times = try BenchTimer.race(rounds: rounds, 2) { runner, round in
        let copy = "\(place)/\(path)-\(runner)-\(round)"
        try base.save(to: URL(fileURLWithPath: copy))
        let receiver = try DocumentSample.open(copy)
        if runner == 0 {
          try receiver.bulkWrite(changed)
          return try BenchTimer.seconds { try receiver.merge(source: source) }
        }
        try receiver.bulkWrite(changed)
        let plain = try PlainDocument(copy)
        return try BenchTimer.seconds { try plain.merge("\(place)/\(path)") }
      }
      figures.append(
        BenchFigure(
          work: title, times, reference: 1, against: "SQLite", goal: .times(atMost: 1.5, aim: 1)))
    }
    let receiver = try DocumentSample.open("\(place)/theirs-0-0")
    try receiver.merge(source: theirs)
    var nothing: [Double] = []
    for _ in 0..<9 {
      nothing.append(try BenchTimer.seconds { try receiver.merge(source: theirs) })
    }
    figures.append(
      BenchFigure(
        work: "merge \(count) keys, nothing new", ours: BenchTimer.median(nothing),
        goal: .within(atMost: 0.02, aim: 0.003)))
    return figures
  }
}
