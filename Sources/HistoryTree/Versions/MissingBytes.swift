package import Grammar
package import LLVSCore
import Platform
import TreeNames

/// The files of versions that a command passed over, because their bytes are forgotten.
package struct MissingBytes {
  /// The most files that are named.
  private static let mostNamed = 20
  private let store: Store
  private var named: [String] = []
  package private(set) var count = 0

  package init(_ store: Store) { self.store = store }

  package mutating func add(_ path: [UInt8], of record: VersionRecord) throws(StoreError) {
    count += 1
    guard named.count < Self.mostNamed else { return }
    let reason = try store.reasonForMissingBytes(of: record, at: path)
    named.append("the bytes of \(PrintableText.text(path)) in \(record.name) \(reason)")
  }

  /// Adds a file that has its bytes, of a database with another file that has none.
  package mutating func addPart(_ path: [UInt8]) {
    count += 1
    guard named.count < Self.mostNamed else { return }
    named.append(
      "\(PrintableText.text(path)) stays as it is, because a file that belongs to it has no bytes")
  }

  /// Clauses without a period, one for each file, and one for those that are not named.
  package var clauses: [String] {
    let rest = count - named.count
    return rest == 0 ? named : named + ["\(PrintableText.count(rest, "more file")) without bytes"]
  }

  /// The error of a command that did everything else.
  package func error() -> ControlError {
    ControlError(.forgotten, clauses.joined(separator: "; "))
  }
}

extension Store {
  /// Describes why bytes of a version's file are missing: `were forgotten on 3 May 2026 by keep=all:30d`.
  package func reasonForMissingBytes(
    of record: VersionRecord, at path: [UInt8]
  ) throws(StoreError) -> String {
    guard case .value(let entry)? = try TreeView(map: map(of: record)).find(path: path) else {
      return try reasonForMissingBytes(of: record)
    }
    if entry.stored.isAbsent { return "were never received" }
    // A version from an old machine may refer to bytes that were forgotten before.
    let number = try isForgotten(record.number) ? record.number : entry.storedVersion
    return try reasonForMissingBytes(of: version(number) ?? record)
  }

  /// Describes why the bytes of a forgotten version are missing.
  package func reasonForMissingBytes(of record: VersionRecord) throws(StoreError) -> String {
    guard let decision = try decision(forgetting: record.number),
      let local = CalendarTime(local: decision.time / 1_000_000_000)
    else {
      return try absentVersions().contains(record.number) ? "were never received" : "were forgotten"
    }
    return "were forgotten on \(local.spelled) by keep=\(decision.policy)"
  }
}
