import Grammar
import LLVSCore
import Platform
import Reports

/// What takes room in a store, for the page. It is made again when versions came or were forgotten.
/// - Concurrency: any thread; the lock is held while one is made.
final class SpaceAnswer: Sendable {
  /// The most paths and months in an answer.
  private static let most = 20

  private struct Known {
    var newest: UInt32
    var forgotten: Int
    var reply: ReplyValue
  }

  private let store: Store
  private let known = Monitor<Known?>(nil)

  init(_ store: Store) { self.store = store }

  func reply() throws -> ReplyValue {
    let newest = try store.state().lastNumber
    let forgotten = try store.forgottenVersions().count
    return try known.withLock { known in
      if let known, known.newest == newest, known.forgotten == forgotten { return known.reply }
      let reply = try make()
      known = Known(newest: newest, forgotten: forgotten, reply: reply)
      return reply
    }
  }

  private func make() throws -> ReplyValue {
    let report = try SpaceReport(of: store, below: [], showing: Self.most)
    return [
      "bytes": report.total, "versions": report.versions, "contentBytes": report.contents,
      "forgottenVersions": report.forgotten.versions, "forgottenBytes": report.forgotten.bytes,
      "parts": ReplyValue.list(
        report.parts.filter { $0.bytes > 0 }.map { ["meaning": $0.meaning, "bytes": $0.bytes] }),
      "pathCount": report.paths.count,
      "paths": ReplyValue.list(
        report.paths.prefix(Self.most).map {
          [
            "path": String(decoding: $0.path, as: UTF8.self), "directory": $0.isDirectory,
            "headBytes": $0.inHead, "historyBytes": $0.inHistory, "forgottenBytes": $0.forgotten,
          ]
        }),
      "months": ReplyValue.list(
        report.months.suffix(Self.most).map {
          [
            "month": $0.month, "versions": $0.versions, "forgottenVersions": $0.forgotten,
            "bytes": $0.bytes, "forgottenBytes": $0.forgottenBytes,
          ]
        }),
    ]
  }
}
