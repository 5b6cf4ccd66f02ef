import Control
import Events
import Foundation
import Grammar
import Inodes
import LLVSCore
import Platform
import SQLite
import Search
import TreeNames
import WorkingTree

/// Rows of finding files by words, next to SQLite alone and programs that read every file.
enum SearchRows {
  private static let rounds = 5

  /// All of them.
  static func search(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let count = context.scale.pick(2000, 23_000)
    let sample = try SearchSample(context, count: count)
    let tables = try context.place.directory("tables")
    return try [indexing(sample, tables)]
      + finding(sample, Database(path: "\(tables)/0", mode: .readOnly))
      + [latency(context)]
  }

  /// Makes the index of all files, next to a table of SQLite with the same texts.
  private static func indexing(_ sample: SearchSample, _ place: String) throws -> BenchFigure {
    let path = "\(sample.store.path)/search.sqlite"
    let times = try BenchTimer.race(rounds: 3, 2) { runner, round in
      if runner == 0 {
        for suffix in ["", "-wal", "-shm"] { try? FileSystem.unlink(path + suffix) }
        return try BenchTimer.seconds { try SearchIndex(of: sample.store).catchUp() }
      }
      let plain = try Database(path: "\(place)/\(round)", mode: .create)
      return try BenchTimer.seconds {
        try plain.execute(
          """
          PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
          CREATE VIRTUAL TABLE words USING fts5(text, content = '', tokenize = 'porter unicode61');
          BEGIN
          """)
        for file in 0..<sample.count {
          let bytes = try FileSystem.read(
            "\(sample.directory)/\(sample.path(file))", atMost: 1 << 20)
          let text = String(decoding: bytes, as: UTF8.self)
          try plain.prepared("INSERT INTO words (text) VALUES (?)").bind(1, text).run()
        }
        try plain.execute("COMMIT")
      }
    }
    let size = try FileSystem.status(path).size
    let share = String(format: "%.2f", Double(size) / Double(sample.bytes))
    let rate = String(format: "%.0f", Double(sample.bytes) / times[0] / 1e6)
    return BenchFigure(
      work: "index \(sample.count) files, \(sample.bytes >> 20) MiB", times, reference: 1,
      against: "SQLite's FTS5", goal: .times(atMost: 1.5, aim: 1),
      note: "\(rate) MB/s; the index has \(share) of the text; SQLite's part has no names")
  }

  /// Searches through the program, as the others are programs too.
  private static func finding(
    _ sample: SearchSample, _ plain: Database
  ) throws -> [BenchFigure] {
    let hasRipgrep = (try? BenchProcess.call(["rg", "--version"])) != nil
    let programs: [(name: String, words: (SearchSample.Query) -> [String])] =
      (hasRipgrep ? [("rg", { ["rg", "-l", "-i", "-w", "-e", $0.pattern, "."] })] : [])
      + [("git grep", { ["git", "grep", "-l", "-i", "-w", "-e", $0.pattern] })]
    var figures: [BenchFigure] = []
    for query in sample.queries {
      for program in programs {
        let times = try BenchTimer.race(rounds: rounds, 2) { runner, _ in
          try BenchTimer.seconds {
            if runner == 0 {
              try BenchProcess.call([
                try BenchProcess.llvs.get(), "search", "-l", query.words, "--store",
                sample.store.path,
              ])
            } else {
              try BenchProcess.call(program.words(query), in: sample.directory)
            }
          }
        }
        figures.append(
          BenchFigure(
            work: "find \(query.title)", times, reference: 1, against: program.name,
            goal: .faster(atLeast: query.least, aim: query.aim)))
      }
      let index = try SearchIndex(of: sample.store)
      guard let parsed = SearchQuery(query.words) else { continue }
      let within = try BenchTimer.race(rounds: rounds, 2) { runner, _ in
        try BenchTimer.seconds {
          if runner == 0 {
            _ = try index.search(.init(parsed))
          } else {
            let rows = try plain.prepared(
              "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50"
            ).bind(1, query.words)
            while try rows.step() {}
            rows.reset()
          }
        }
      }
      figures.append(
        BenchFigure(
          work: "the same without starting a program, with lines", within, reference: 1,
          against: "SQLite's FTS5", goal: .within(atMost: query.seconds * 2, aim: query.seconds),
          note: "SQLite finds the rows alone, ours also the names, the lines and what is new"))
    }
    return figures
  }

  /// Makes versions while the index follows them, next to versions without one.
  private static func latency(_ context: BenchContext) throws -> BenchFigure {
    func workspace(_ name: String) throws -> (TreeSession, SampleTree, ControlService) {
      let store = try Store.open(path: try context.place.directory(name), create: true)
      let (tree, _) = try TreeSession.open(
        store, defaults: AttributeDefaults(uid: 0, gid: 0), ignore: .defaults,
        settings: StoreSettings())
      let log = EventLog(directory: store.path)
      return (tree, try SampleTree(tree, count: 500), ControlService(tree, log: log))
    }
    let both = [try workspace("with"), try workspace("without")]
    try both[0].1.writeAll { Array("first".utf8) }
    _ = try both[0].0.cut(.command)
    try SearchIndex(of: both[0].2.store).catchUp()
    let feed = SearchFeed(both[0].2)
    try feed.start()
    defer { feed.stop() }
    let times = try BenchTimer.race(rounds: 15, 2) { runner, round in
      var random = BenchRandom(UInt64(round))
      try both[runner].1.writeAll { random.text(lines: 40) }
      return try BenchTimer.seconds { _ = try both[runner].0.cut(.command) }
    }
    return BenchFigure(
      work: "version of 500 changed files, with the index", times, reference: 1,
      against: "without it", goal: .times(atMost: 1.1, aim: 1))
  }
}

/// Files of words in a store, and the same in a working tree of git.
final class SearchSample {
  struct Query {
    var title: String
    var words: String
    /// The same as a pattern.
    var pattern: String
    var least: Double
    var aim: Double
    /// The time that the index may take, in seconds.
    var seconds: Double
  }

  let count: Int
  let store: Store
  let directory: String
  private(set) var bytes = 0
  let queries = [
    Query(
      title: "a rare word", words: "needle", pattern: "needle", least: 10, aim: 40, seconds: 0.005),
    Query(
      title: "a phrase", words: "\"rare phrase here\"", pattern: "rare phrase here", least: 10,
      aim: 40, seconds: 0.005),
    Query(
      title: "a word of two files in three", words: "common", pattern: "common", least: 3, aim: 10,
      seconds: 0.03),
  ]

  init(_ context: BenchContext, count: Int) throws {
    self.count = count
    store = try Store.open(path: try context.place.directory("store"), create: true)
    directory = try context.place.directory("tree")
    try BenchProcess.git("init", "-q", in: directory)
    var values: [Value] = []
    for file in 0..<count {
      let text = text(file)
      bytes += text.count
      let path = path(file)
      if file % 100 == 0 { try FileSystem.makeDirectory("\(directory)/d\(file / 100)") }
      try File("\(directory)/\(path)", [.readWrite, .create]).write(text, at: 0)
      values.append(Value(id: Key(path), data: text))
    }
    try store.write { transaction throws(StoreError) in
      let record = try transaction.makeVersion(
        basedOn: nil, storing: values.map { .insert($0) })
      try transaction.setHead(record.number, map: record.map, reason: .imported)
    }
    try BenchProcess.git("add", "-A", in: directory)
    try BenchProcess.git("commit", "-q", "-m", "sample", in: directory)
  }

  /// The path of a file in both.
  func path(_ file: Int) -> String { "d\(file / 100)/f\(file).txt" }

  /// A text of about 11 KiB, in which few words are frequent and many are rare.
  func text(_ file: Int) -> [UInt8] {
    var random = BenchRandom(UInt64(file))
    var text = file % 3 == 0 ? "" : "common "
    if file % 5000 == 17 { text += "needle\n" }
    if file % 4000 == 23 { text += "rare phrase here\n" }
    for position in 0..<1700 {
      // The square root of a uniform number's inverse: roughly as words of a language.
      let share = Double(random.next() >> 11) / Double(1 << 53)
      let word = Int(min(1 / (share * share + 1e-6), 200_000))
      text += "w\(word)"
      text += position % 12 == 11 ? "\n" : " "
    }
    return Array(text.utf8)
  }
}
