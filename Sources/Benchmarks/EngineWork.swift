internal import LLVSCore

/// The work of the original's published figures, by the engine.
final class EngineWork: OriginalWork {
  private let store: Store
  private var first: Version.ID?
  private var last: Version.ID?

  init(path: String) throws {
    store = try Store.open(path: path, create: true)
  }

  func begin(with values: [(key: String, bytes: [UInt8])]) throws {
    first = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: values.map { Value(id: Value.ID($0.key), data: $0.bytes) }
    ).id
    last = first
  }

  func update(_ key: String, _ bytes: [UInt8]) throws {
    let value = Value(id: Value.ID(key), data: bytes)
    last = try store.makeVersion(basedOnPredecessor: last, updating: [value]).id
  }

  func read(_ key: String) throws {
    guard let last, try store.value(id: Value.ID(key), at: last) != nil else {
      throw BenchError.failed("a value is not there")
    }
  }

  func findDifference() throws {
    guard let first, let last,
      try !store.valueChanges(madeBetween: first, and: last).isEmpty
    else { throw BenchError.failed("the versions do not differ") }
  }

  func readHead() throws {
    guard let head = try store.headNumbers().first, try store.version(head) != nil else {
      throw BenchError.failed("the store has no versions")
    }
  }

  func send(to folder: String) throws {
    try StoreRows.Format.files.send(store, to: folder)
  }

  func retrieve(from folder: String) throws {
    try StoreRows.Format.files.retrieve(into: store, from: folder)
  }
}
