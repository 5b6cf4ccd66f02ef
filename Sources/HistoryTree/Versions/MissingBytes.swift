package import Grammar
package import LLVSCore
import Platform
import TreeNames

/// The files of versions that a command passed over, because their bytes are forgotten.
package struct MissingBytes {
  /// The most files that are named.
  private static let mostNamed = 20
  private let store: Store
  private var reasons: [VersionNumber: String] = [:]
  private var named: [String] = []
  package private(set) var count = 0

  package init(_ store: Store) { self.store = store }

  package mutating func add(_ path: [UInt8], of record: VersionRecord) throws(StoreError) {
    count += 1
    guard named.count < Self.mostNamed else { return }
    let known = reasons[record.number]
    let reason = if let known { known } else { try store.reasonForMissingBytes(of: record) }
    reasons[record.number] = reason
    named.append("the bytes of \(PrintableText.text(path)) in \(record.name) \(reason)")
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
  /// Describes why bytes of a version are missing: `were forgotten on 3 May 2026 by keep=all:30d`.
  package func reasonForMissingBytes(of record: VersionRecord) throws(StoreError) -> String {
    guard try isForgotten(record.number) else { return "were never received" }
    guard let decision = try decision(forgetting: record.number),
      let local = CalendarTime(local: decision.time / 1_000_000_000)
    else { return "were forgotten" }
    return "were forgotten on \(local.spelled) by keep=\(decision.policy)"
  }
}
