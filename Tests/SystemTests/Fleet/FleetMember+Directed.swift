import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

// What directed tests do to one store.

extension FleetMember {
  func save(_ path: String, _ text: String) throws { try kernel.save(path, Array(text.utf8)) }

  /// What the regular files hold that the tree shows.
  func texts() throws -> [String: String] {
    try tree().filter { $0.value.kind == .regular }
      .mapValues { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// Commits, looks at what came of it, and says which version that is.
  @discardableResult
  func commit() throws -> VersionNumber {
    try run("commit")
    try check()
    return try #require(try head())
  }

  /// Puts another version under the tree while programs go on.
  func show(_ version: VersionNumber, meanwhile: () throws -> Void = {}) throws {
    try move(meanwhile) { _, _ in version }
  }

  /// Makes a version on the head with what another has, while programs go on.
  func restore(_ version: VersionNumber, meanwhile: () throws -> Void = {}) throws {
    let record = try #require(try store.version(version))
    try move(meanwhile) { (transaction, head) throws(StoreError) in
      guard let head, let now = try transaction.version(head) else { return head }
      let (base, map) = (store.map(now.map), store.map(record.map))
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head, base: base, map: map)
      ).number
    }
  }

  private func move(
    _ meanwhile: () throws -> Void,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws {
    var failure: (any Error)?
    _ = try service.tree.transition(.command, headReason: .other("test")) {
      (transaction, head) throws(StoreError) in
      do { try meanwhile() } catch { failure = error }
      return try goOn(transaction, head)
    }
    if let failure { throw failure }
  }

  /// Opens what a kill between the store's commit and the journal's next generation leaves of what `body` does.
  func killed(in directory: TemporaryDirectory, during body: () throws -> Void) throws
    -> FleetMember
  {
    let (path, copy, store) = (path, directory.file("killed"), store)
    let place = copy + "/s\(number)"
    let before = try head()
    nonisolated(unsafe) var isCopied = false
    let watch = Faults.watch(below: path + "/journal") { _, phase in
      guard phase == .before, !isCopied, (try? store.state().head) != before else { return }
      isCopied = true
      #expect(throws: Never.self) {
        try FileSystem.makeDirectory(copy)
        try copyTree(path, to: place)
      }
    }
    defer { Faults.unwatch(watch) }
    try body()
    #expect(isCopied)
    return try FleetMember(copy, number: number)
  }
}

extension FleetMember {
  /// Makes a version on another, without directories and with copies of files, as a program of the library
  /// does that knows of keys alone.
  func keysAlone(
    on version: VersionNumber, without directories: [String], copies: [String: String] = [:]
  ) throws -> VersionNumber {
    let record = try #require(try store.version(version))
    let base = store.map(record.map)
    return try store.write { (transaction) throws(StoreError) in
      var edits = directories.map { MapEdit.remove(Key(bytes: Array($0.utf8)), directory: true) }
      for (path, other) in copies {
        guard var entry = try base.entry(at: Key(bytes: Array(other.utf8))) else { continue }
        entry.key = KeyCoding.key(ofPath: Array(path.utf8))
        edits.append(.put(entry))
      }
      edits.sort(by: MapEdit.precedes)
      let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
        .applying(edits: edits)
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: version, base: base, map: map)
      ).number
    }
  }
}
