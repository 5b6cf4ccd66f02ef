import Grammar
import LLVSCore
import Platform
import Reports

/// - Concurrency: any thread; its lock is a leaf.
final class VersionList: Sendable {
  private struct State {
    var rows: VersionGraphRows?
    var stories: VersionStory?
    /// The state of the store when names were read.
    var newest: (last: UInt32, head: VersionNumber?, forgotten: NumberSet)?
    /// The fields of versions, by number; only names of branches and tags change.
    var told: [VersionNumber: ReplyValue] = [:]
  }

  private static let mostKept = 8192
  static let longestPage = 500
  private static let buckets = 120
  private let store: Store
  private let pool: WorkerPool
  private let state = Monitor(State())

  init(_ store: Store, pool: WorkerPool) {
    self.store = store
    self.pool = pool
  }

  func current() throws -> (rows: VersionGraphRows, story: VersionStory) {
    let now = try store.state()
    let forgotten = try store.forgottenVersions()
    let known = state.withLock { state -> (VersionGraphRows, VersionStory)? in
      guard let newest = state.newest, newest == (now.lastNumber, now.head, forgotten),
        let rows = state.rows,
        let story = state.stories
      else { return nil }
      return (rows, story)
    }
    if let known { return known }
    let story = VersionStory(store: store, labels: try VersionLabels(store))
    let starts = try VersionGraphRows.starts(of: store)
    let old = state.withLock { $0.rows }
    let rows =
      if let old, old.starts == starts, old.forgotten == forgotten { old } else {
        try VersionGraphRows(store, from: starts)
      }
    state.withLock { state in
      state.rows = rows
      state.stories = story
      state.newest = (now.lastNumber, now.head, forgotten)
    }
    if rows !== old {
      // Jumps to the end and the timeline then need not wait; the next request reports an error.
      pool.run { try? rows.complete() }
    }
    return (rows, story)
  }

  func page(from first: Int, count: Int) throws -> ReplyValue {
    let (rows, story) = try current()
    let page = try rows.page(from: first, count: min(count, Self.longestPage))
    let values = try page.rows.map { row in
      let place: ReplyValue = [
        "lane": Int(row.lane), "edges": row.edges.map { [Int($0.from), Int($0.to)] },
      ]
      return place + (try told(row.number, story)) + story.labels.reply(row.number)
    }
    return ["total": page.total, "complete": page.isComplete, "first": first, "rows": values]
  }

  /// Answers with the newest versions of an author or machine, with words in the message, or that changed a path.
  func find(_ request: WebRequest, path: [UInt8]) throws -> ReplyValue {
    func patterns(_ name: String) throws(ControlError) -> [RegularExpression] {
      guard let words = request.arguments[name], !words.isEmpty else { return [] }
      do throws(RegularExpression.Fault) {
        return [try RegularExpression(words, ignoringCase: true, isFixed: true)]
      } catch {
        throw ControlError(.grammar, error.reason)
      }
    }
    let (rows, story) = try current()
    var limits = LogQuery.Limits(paths: path.isEmpty ? [] : [path])
    limits.author = try patterns("author")
    limits.message = try patterns("message")
    var query = try LogQuery(
      store, from: Array(rows.starts), limits: limits, order: .newestFirst)
    var values: [ReplyValue] = []
    while let step = try query.next() {
      guard case .shown(let record, _) = step else { continue }
      guard values.count < Self.longestPage else { return ["rows": values, "isWhole": false] }
      values.append(try told(record.number, story) + story.labels.reply(record.number))
    }
    return ["rows": values, "isWhole": true]
  }

  private func told(_ number: VersionNumber, _ story: VersionStory) throws -> ReplyValue {
    if let known = state.withLock({ $0.told[number] }) { return known }
    guard let record = try store.version(number) else { throw StoreError.notFound("version") }
    let fields = try Self.reply(of: record, story)
    state.withLock { state in
      if state.told.count >= Self.mostKept { state.told = [:] }
      state.told[number] = fields
    }
    return fields
  }

  static func reply(of record: VersionRecord, _ story: VersionStory) throws -> ReplyValue {
    let words = try story.words(of: record)
    return [
      "name": record.name, "time": VersionStory.time(record),
      "line": record.line == VersionRecord.unnamedLine ? nil : record.line, "author": words.author,
      "machine": words.machine, "message": words.message.map { String($0.prefix(4096)) },
      "changes": try story.changesText(of: record), "isMerge": record.second != nil,
    ]
  }

  /// Answers with the index of a version's row; null if it is in no branch.
  func index(of number: VersionNumber) throws -> ReplyValue {
    ["index": try current().rows.withAll { $0.firstIndex { $0.number == number } }]
  }

  /// Answers with the versions in equal parts of history's time span, and each part's first row and its time.
  func timeline() throws -> ReplyValue {
    let rows = try current().rows
    return try rows.withAll { rows in
      let times = rows.map(\.timestamp)
      guard let first = times.min(), let last = times.max() else {
        return ["total": 0, "parts": ReplyValue.list([])]
      }
      let parts = last > first ? Self.buckets : 1
      let width = (last - first) / Double(parts)
      var counts = [Int](repeating: 0, count: parts)
      var starts = [Int?](repeating: nil, count: parts)
      for (index, time) in times.enumerated() {
        let part = width > 0 ? min(parts - 1, Int((time - first) / width)) : 0
        counts[part] += 1
        if starts[part] == nil { starts[part] = index }
      }
      let values = zip(counts, starts).enumerated().map { part, value -> ReplyValue in
        let seconds = Self.seconds(first + Double(part) * width)
        let newest = value.1.map { Self.seconds(times[$0]) }
        return ["count": value.0, "row": value.1, "seconds": seconds, "newest": newest]
      }
      return ["total": rows.count, "parts": values]
    }
  }

  private static func seconds(_ timestamp: Double) -> Int64 {
    Int64(exactly: (timestamp + 978_307_200).rounded()) ?? 0
  }
}
