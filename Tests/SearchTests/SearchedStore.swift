import LLVSCore
import Search
import TestSupport
import Testing

/// A store whose files tests write and search.
struct SearchedStore {
  let directory: TemporaryDirectory
  let store: Store

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try Store.open(path: directory.file("store"), create: true)
  }

  func write(_ files: [String: String?]) throws {
    try write(
      changes: files.map { path, text in
        text.map { .insert(Value(id: Key(path), data: Array($0.utf8))) } ?? .remove(Key(path))
      })
  }

  func write(bytes files: [String: [UInt8]]) throws {
    try write(changes: files.map { .insert(Value(id: Key($0), data: $1)) })
  }

  func write(changes: [Value.Change]) throws {
    let head = try store.state().head.map { try store.graph.node($0).id }
    try store.write { transaction throws(StoreError) in
      let record = try transaction.makeVersion(
        basedOn: head.map { .init(idOfFirst: $0) }, storing: changes)
      try transaction.setHead(record.number, map: record.map, reason: .cut)
    }
  }

  func search(
    _ words: String, _ change: (inout SearchIndex.Request) -> Void = { _ in }
  ) throws -> SearchResult {
    var request = SearchIndex.Request(try #require(SearchQuery(words)))
    change(&request)
    return try SearchIndex(of: store).search(request)
  }

  /// Returns the paths of the files that have the words, in order.
  func found(
    _ words: String, _ change: (inout SearchIndex.Request) -> Void = { _ in }
  ) throws -> [String] {
    try search(words) {
      $0.order = .path
      change(&$0)
    }.hits.map { String(decoding: $0.path, as: UTF8.self) }
  }
}
