package import LLVSCore
import Platform
import TreeNames

/// The space that a store takes: on disk, by versions and by paths.
package struct SpaceReport {
  /// Bytes on disk of one kind of the store's files.
  package struct Part {
    package let name: String
    package let bytes: UInt64

    /// The words for the part, whose name is that in JSON.
    package var meaning: String {
      switch name {
      case "head": "files of the newest version"
      case "history": "files of older versions"
      case "names": "names, attributes and messages of all versions"
      case "versions": "the list of versions, settings and peers"
      case "tree": "the rows of the mounted tree"
      case "index": "indices, which can be made again"
      case "journal": "the journal of changes that are in no version yet, and its reserve"
      default: name
      }
    }
  }

  package struct OfVersion {
    package let version: VersionRecord
    /// The bytes, before they were compressed and shared.
    package let bytes: UInt64
  }

  /// The bytes of everything that was ever stored at and below a path, and of the head's part.
  package struct OfPath {
    package let path: [UInt8]
    package var isDirectory = false
    package var inHead: UInt64 = 0
    package var inHistory: UInt64 = 0
    /// The part of ``inHistory`` that is forgotten.
    package var forgotten: UInt64 = 0
  }

  /// A month of versions, in UTC.
  package struct OfMonth {
    /// `2026-05`.
    package let month: String
    package var versions = 0
    /// The versions among them whose bytes are forgotten.
    package var forgotten = 0
    /// The bytes on disk that they brought and that are still there.
    package var bytes: UInt64 = 0
    /// The bytes of contents that they brought and that are forgotten, before these were compressed and shared.
    package var forgottenBytes: UInt64 = 0
  }

  package let parts: [Part]
  package let versions: Int
  /// The versions whose bytes are forgotten, and what these took.
  package let forgotten: (versions: Int, bytes: UInt64)
  package let months: [OfMonth]
  /// The bytes of all distinct contents, before they were compressed and shared.
  package let contents: UInt64
  /// The versions that stored most, largest first.
  package let largest: [OfVersion]
  /// The entries of the requested directory, largest in history first.
  package let paths: [OfPath]
  package var total: UInt64 { parts.reduce(0) { $0 + $1.bytes } }

  /// Examines a store; `path` is the directory to list.
  /// - Complexity: O(changes of all versions).
  package init(
    of store: Store, below path: [UInt8], showing most: Int,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws {
    var survey = try Survey(store: store, path: path, most: most)
    let last = Int(try store.state().lastNumber)
    var number: UInt32 = 0
    while true {
      let lines = try store.versionLines(after: number, limit: 256)
      guard let end = lines.last else { break }
      for line in lines { try survey.add(line) }
      number = end.number.rawValue
      progress(Int(number), last)
    }
    parts = try Self.parts(of: store, head: survey.headRecords, all: survey.records)
    forgotten = try (survey.forgotten, store.forgottenBytes())
    months = survey.months.values.sorted { $0.month < $1.month }
    versions = survey.count
    contents = survey.contents
    largest = survey.largest
    paths = try survey.paths().sorted {
      $0.inHistory != $1.inHistory
        ? $0.inHistory > $1.inHistory : $0.path.lexicographicallyPrecedes($1.path)
    }
  }

  /// `head` and `all` are the bytes of the records of the head's files, and of all versions' files.
  private static func parts(of store: Store, head: UInt64, all: UInt64) throws -> [Part] {
    var bytes: [String: UInt64] = [:]
    for name in try FileSystem.list(store.path) {
      let kind: String
      switch name {
      case "segments": kind = "names"
      case "journal": kind = "journal"
      case _ where name.hasPrefix("store.sqlite"): kind = "versions"
      case _ where name.hasPrefix("tree.sqlite"): kind = "tree"
      case _ where name.hasPrefix("index.sqlite"): kind = "index"
      case _ where name == "log" || name.hasPrefix("log."): kind = "log"
      default: kind = "other"
      }
      bytes[kind, default: 0] += try DirectorySize(of: Array("\(store.path)/\(name)".utf8)).bytes
    }
    // What is not of files is of names, attributes and messages.
    let segments = bytes["names", default: 0]
    bytes["head"] = min(head, segments)
    bytes["history"] = min(all - min(all, head), segments - min(head, segments))
    bytes["names"] = segments - min(all, segments)
    return ["head", "history", "names", "versions", "tree", "index", "journal", "log", "other"].map
    {
      Part(name: $0, bytes: bytes[$0] ?? 0)
    }
  }
}

package struct DirectorySize {
  package private(set) var bytes: UInt64 = 0
  package private(set) var files = 0

  /// Adds up the bytes at and below a path; files that disappear during this count nothing.
  /// - Throws: ``SystemError`` if the path itself, or a directory below it, cannot be read.
  package init(of path: [UInt8]) throws {
    var open = [path]
    while let next = open.popLast() {
      guard try FileSystem.exists(next) else { continue }
      let status = try FileSystem.status(next)
      bytes += status.allocated
      guard status.kind == .directory else {
        files += 1
        continue
      }
      for name in try FileSystem.names(in: next) { open.append(next + [0x2F] + name.bytes) }
    }
  }
}

/// The versions seen so far.
private struct Survey {
  let store: Store
  let path: [UInt8]
  let most: Int
  var count = 0
  var contents: UInt64 = 0
  var largest: [SpaceReport.OfVersion] = []
  var names: [[UInt8]: SpaceReport.OfPath] = [:]
  var seen: Set<Digest> = []
  /// The map of the version before, usually the predecessor of the next one.
  var last: VersionLine?
  private var sizes: RecordSizes
  private let forgottenVersions: NumberSet
  /// The bytes of the records of all versions' files, and of the head's.
  var records: UInt64 = 0
  var headRecords: UInt64 = 0
  var forgotten = 0
  var months: [String: SpaceReport.OfMonth] = [:]

  init(store: Store, path: [UInt8], most: Int) throws {
    self.store = store
    self.path = path
    self.most = most
    sizes = RecordSizes(of: store)
    forgottenVersions = try store.forgottenVersions()
    guard let head = try store.headRecord() else { return }
    var ofHead = RecordSizes(of: store)
    var entries = TreeView(map: store.map(of: head)).entries(below: [])
    while let (_, entry) = try entries.next() { headRecords += try ofHead.add(entry.stored) }
  }

  /// The month of a version, in UTC.
  private static func month(of record: VersionRecord) -> String {
    // The times of versions count from 2001-01-01 UTC.
    let seconds = Int64(exactly: (record.timestamp + 978_307_200).rounded(.down))
    return seconds.flatMap { CalendarTime(utc: $0) }.map { String($0.date.prefix(7)) } ?? "?"
  }

  private mutating func note(_ record: VersionRecord, bytes: UInt64, forgotten gone: UInt64) {
    let month = Self.month(of: record)
    var one = months[month] ?? SpaceReport.OfMonth(month: month)
    one.versions += 1
    one.bytes += bytes
    one.forgottenBytes += gone
    if forgottenVersions.contains(record.number) {
      one.forgotten += 1
      forgotten += 1
    }
    months[month] = one
    records += bytes
  }

  mutating func add(_ line: VersionLine) throws {
    defer { last = line }
    guard let record = try store.version(line.number) else { return }
    if !record.line.hasPrefix("llvs.") { count += 1 }
    let parent =
      line.first == last?.number
      ? last?.map : try line.first.map { try store.version($0)?.map } ?? nil
    let view = TreeView(map: store.map(line.map))
    var diff = try MapDiff(
      from: store.map(parent ?? .empty), to: view.map, comparing: .content)
    var (own, onDisk, gone): (UInt64, UInt64, UInt64) = (0, 0, 0)
    while let change = try diff.next() {
      guard let entry = change.new, !change.isDirectory, entry.stored.length > 0,
        entry.stored.digest != change.old?.stored.digest
      else { continue }
      onDisk += try sizes.add(entry.stored)
      guard seen.insert(entry.stored.digest).inserted else { continue }
      own += entry.stored.length
      let path = try view.path(of: entry.key)
      note(path, entry.stored.length, \.inHistory)
      guard try !store.hasBytes(of: entry.stored) else { continue }
      gone += entry.stored.length
      note(path, entry.stored.length, \.forgotten)
    }
    note(record, bytes: onDisk, forgotten: gone)
    contents += own
    guard own > 0 else { return }
    largest.append(SpaceReport.OfVersion(version: record, bytes: own))
    largest.sort { $0.bytes > $1.bytes }
    if largest.count > most { largest.removeLast() }
  }

  private mutating func note(
    _ path: [UInt8], _ bytes: UInt64, _ field: WritableKeyPath<SpaceReport.OfPath, UInt64>
  ) {
    guard PathFilter.isAtOrBelow(path, self.path) else { return }
    let start = self.path.isEmpty ? 0 : min(path.count, self.path.count + 1)
    let end = path[start...].firstIndex(of: 0x2F) ?? path.count
    let name = Array(path[..<end])
    var item = names[name] ?? SpaceReport.OfPath(path: name)
    item[keyPath: field] += bytes
    if end < path.count { item.isDirectory = true }
    names[name] = item
  }

  mutating func paths() throws -> [SpaceReport.OfPath] {
    guard let record = try store.headRecord() else { return Array(names.values) }
    let view = TreeView(map: store.map(of: record))
    if case .value(let entry)? = try view.find(path: path) {
      note(path, entry.stored.length, \.inHead)
      return Array(names.values)
    }
    var walk = view.entries(below: path)
    while let (relative, entry) = try walk.next() {
      if entry.isDirectory { continue }
      let full = path.isEmpty ? relative : path + [0x2F] + relative
      note(full, entry.stored.length, \.inHead)
    }
    return Array(names.values)
  }
}
