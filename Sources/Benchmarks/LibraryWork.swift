internal import Foundation
internal import LLVS
internal import Platform

/// The work of the original's published figures, by a program on the public library.
final class LibraryWork: OriginalWork {
  private let store: Store
  private var first: Version.ID?
  private var last: Version.ID?

  init(path: String) throws {
    store = try Store(rootDirectoryURL: URL(fileURLWithPath: path))
  }

  func begin(with values: [(key: String, bytes: [UInt8])]) throws {
    first = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: values.map { Value(idString: $0.key, data: Data($0.bytes)) }
    ).id
    last = first
  }

  func update(_ key: String, _ bytes: [UInt8]) throws {
    let value = Value(idString: key, data: Data(bytes))
    last = try store.makeVersion(basedOnPredecessor: last, updating: [value]).id
  }

  func read(_ key: String) throws {
    guard let last, try store.value(idString: key, at: last) != nil else {
      throw BenchError.failed("a value is not there")
    }
  }

  func findDifference() throws {
    guard let first, let last, try !store.valueChanges(madeBetween: first, and: last).isEmpty
    else { throw BenchError.failed("the versions do not differ") }
  }

  func readHead() throws {
    guard store.mostRecentHead != nil else {
      throw BenchError.failed("the store has no versions")
    }
  }

  func send(to folder: String) throws { try wait(for: folder) { _ = try await $0.send() } }

  func retrieve(from folder: String) throws {
    try wait(for: folder) { _ = try await $0.retrieve() }
  }

  /// Does something that waits, on another thread.
  private func wait(
    for folder: String, _ body: @escaping @Sendable (FileSystemExchange) async throws -> Void
  ) throws {
    let outcome = Monitor<Swift.Result<Void, any Error>?>(nil)
    let store = store
    Task.detached {
      let result: Swift.Result<Void, any Error>
      do {
        try await body(
          FileSystemExchange(rootDirectoryURL: URL(fileURLWithPath: folder), store: store))
        result = .success(())
      } catch {
        result = .failure(error)
      }
      outcome.withLock { $0 = result }
      outcome.broadcast()
    }
    try outcome.wait { $0 }?.get()
  }
}
