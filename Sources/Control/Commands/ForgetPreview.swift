import Grammar
import LLVSCore
import Platform
import TreeNames

/// Where the bytes are that would come free: by path and by month.
struct ForgetPreview {
  /// The most paths that are shown.
  private static let shown = 20
  /// The time of versions counts from 2001-01-01 UTC.
  private static let epoch: Double = 978_307_200

  private struct Month {
    var versions = 0
    var bytes: UInt64 = 0
  }

  private var paths: [[UInt8]: UInt64] = [:]
  private var months: [String: Month] = [:]
  private var counted: Set<VersionNumber> = []

  /// Adds what one decision forgets. Content belongs to the first version, and the first path there, that has it.
  mutating func add(
    _ found: inout Forgettable, of store: Store, isCancelled: () -> Bool
  ) throws(StoreError) {
    for number in found.versions {
      if isCancelled() { throw .cancelled }
      guard let record = try store.version(number) else { continue }
      let seconds = Int64(exactly: (record.timestamp + Self.epoch).rounded(.down))
      let month = seconds.flatMap { CalendarTime(utc: $0) }.map { String($0.date.prefix(7)) } ?? "?"
      if found.newVersions.contains(number), counted.insert(number).inserted {
        months[month, default: Month()].versions += 1
      }
      do throws(StoreError) {
        try add(record, month, &found, of: store)
      } catch {
        // Damage hides where the bytes are.
        guard case .corrupt = error else { throw error }
      }
    }
  }

  private mutating func add(
    _ record: VersionRecord, _ month: String, _ found: inout Forgettable, of store: Store
  ) throws(StoreError) {
    let view = TreeView(map: store.map(of: record))
    var before: VersionRecord?
    if let parent = record.first { before = try store.version(parent) }
    var diff = try MapDiff(from: store.map(of: before), to: view.map, comparing: .content)
    while let change = try diff.next() {
      guard let entry = change.new else { continue }
      let bytes = try found.take(entry.stored)
      guard bytes > 0 else { continue }
      paths[try view.path(of: entry.key), default: 0] += bytes
      months[month, default: Month()].bytes += bytes
    }
  }

  private var largest: [(path: [UInt8], bytes: UInt64)] {
    paths.map { (path: $0.key, bytes: $0.value) }.sorted {
      $0.bytes != $1.bytes ? $0.bytes > $1.bytes : $0.path.lexicographicallyPrecedes($1.path)
    }
  }

  private var calendar: [(month: String, found: Month)] {
    months.map { (month: $0.key, found: $0.value) }.sorted { $0.month < $1.month }
  }

  var lines: [String] {
    var lines = largest.prefix(Self.shown).map {
      "  \(ByteCount.column($0.bytes))  \(PrintableText.text($0.path))"
    }
    if paths.count > Self.shown { lines.append("  ... and \(paths.count - Self.shown) more files") }
    lines += calendar.map { month, found in
      let versions = PrintableText.count(found.versions, "version")
      return "  \(ByteCount.column(found.bytes))  \(month), \(versions)"
    }
    return lines
  }

  var reply: ReplyValue {
    [
      "paths": largest.prefix(Self.shown).map {
        ["path": ReplyBytes($0.path), "bytes": $0.bytes] as ReplyValue
      },
      "months": calendar.map {
        ["month": $0.month, "versions": $0.found.versions, "bytes": $0.found.bytes] as ReplyValue
      },
    ]
  }
}
