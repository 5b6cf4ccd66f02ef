// What this store has forgotten, in properties that are kept twice: `forgotten`, the numbers of the versions, for each
// segment `gone N`, the ranges of records that only they had, and `decision N`, the time and the policy of the Nth
// decision, with its versions. `absent` has the numbers of the versions that came without some of their bytes.

/// What decided that versions are forgotten.
package struct ForgettingDecision: Hashable, Sendable {
  /// In nanoseconds since 1970.
  package var time: Int64
  /// The text of the policy.
  package var policy: String
}

/// A decision to forget, committed in one transaction.
struct Forgetting: Sendable {
  var decision: ForgettingDecision
  /// The versions that this decision adds.
  var added: [VersionNumber]
  /// All forgotten versions, earlier ones included.
  var versions: [VersionNumber]
  /// The ranges of each segment that gets more, earlier ones included.
  var gone: [UInt32: GoneRanges]
}

extension StoreDatabase {
  private static let forgotten = "forgotten"
  private static let absent = "absent"
  private static let gone = "gone "
  private static let decision = "decision "

  /// True if a property has a second row.
  static func isKeptTwice(_ name: String) -> Bool {
    properties.contains(name) || name == forgotten || name == absent
      || (name.hasPrefix(gone) || name.hasPrefix(decision)) && !name.hasSuffix(copy(of: ""))
  }

  /// The names of the properties that have a second row, or should have one.
  func propertiesKeptTwice() throws(StoreError) -> [String] {
    var names = StoreDatabase.properties
    let suffix = StoreDatabase.copy(of: "")
    try prepared("SELECT name FROM properties ORDER BY name").forEach { row in
      let found = row.text(0)
      let name = found.hasSuffix(suffix) ? String(found.dropLast(suffix.count)) : found
      if StoreDatabase.isKeptTwice(name), !names.contains(name) { names.append(name) }
      return true
    }
    return names
  }

  /// The value for a row that is damaged like its copy: it cannot be read, so that no record of the segment is used
  /// again and none is called forgotten. The time of a decision is then unknown.
  static func lost(property name: String) -> [UInt8]? {
    properties.contains(name) ? nil : name.hasPrefix(gone) ? [0xFF] : []
  }

  /// Returns the forgotten versions, and those that came without some of their bytes.
  func forgottenVersions() throws(StoreError) -> NumberSet {
    try numbers(Self.forgotten, Self.absent)
  }

  func absentVersions() throws(StoreError) -> NumberSet { try numbers(Self.absent) }

  private func numbers(_ properties: String...) throws(StoreError) -> NumberSet {
    var set = NumberSet()
    for name in properties {
      for run in NumberSet.decode(try property(name) ?? []) ?? [] { set.insert(run) }
    }
    return set
  }

  func add(absent versions: [VersionNumber]) throws(StoreError) {
    let known = NumberSet.decode(try property(Self.absent) ?? []) ?? []
    let numbers = known.flatMap { run in run.map { VersionNumber($0) } }
    try setProperty(Self.absent, NumberSet.encode(numbers + versions))
  }

  /// Returns the ranges of a segment's records that are gone.
  /// - Throws: ``StoreError/corrupt(_:)`` if that is unknown.
  func gone(in segment: UInt32) throws(StoreError) -> GoneRanges {
    guard let ranges = GoneRanges(try property("\(Self.gone)\(segment)") ?? []) else {
      throw .corrupt("\(path): what was forgotten of segment \(segment) is not known any more")
    }
    return ranges
  }

  /// Returns the segments with records that are gone, ascending.
  func segmentsWithGone() throws(StoreError) -> [UInt32] {
    try propertiesKeptTwice().filter { $0.hasPrefix(Self.gone) }
      .compactMap { UInt32($0.dropFirst(Self.gone.count)) }.sorted()
  }

  func apply(_ forgetting: Forgetting) throws(StoreError) {
    try setProperty(Self.forgotten, NumberSet.encode(forgetting.versions))
    try add(forgetting.decision, forgetting.added)
    for (segment, ranges) in forgetting.gone {
      try setProperty("\(Self.gone)\(segment)", ranges.encoded)
    }
    try noteForgotten()
  }

  private func add(_ decision: ForgettingDecision, _ versions: [VersionNumber]) throws(StoreError) {
    guard !versions.isEmpty else { return }
    var value: [UInt8] = []
    value.append(varint: UInt64(clamping: decision.time))
    value.append(counted: Array(decision.policy.utf8))
    let last = try decisionNumbers().last ?? 0
    try setProperty("\(Self.decision)\(last + 1)", value + NumberSet.encode(versions))
  }

  private func decisionNumbers() throws(StoreError) -> [Int] {
    try propertiesKeptTwice().filter { $0.hasPrefix(Self.decision) }
      .compactMap { Int($0.dropFirst(Self.decision.count)) }.sorted()
  }

  /// Returns the decision that added a version; nil if it is unknown.
  func decision(forgetting number: VersionNumber) throws(StoreError) -> ForgettingDecision? {
    for last in try decisionNumbers().reversed() {
      let value = try property("\(Self.decision)\(last)") ?? []
      let found = value.parsed { reader -> (ForgettingDecision, [UInt8])? in
        guard let time = reader.varint(), let count = reader.varint(), count <= 1 << 16,
          let policy = reader.bytes(Int(count)),
          let text = String(validating: policy, as: UTF8.self)
        else { return nil }
        let decision = ForgettingDecision(time: Int64(clamping: time), policy: text)
        return reader.bytes(reader.remaining).map { (decision, $0) }
      }
      guard let (decision, runs) = found, let runs = NumberSet.decode(runs) else { continue }
      if runs.contains(where: { $0.contains(number.rawValue) }) { return decision }
    }
    return nil
  }

  /// An earlier program would take what is missing for damage, and use records that are gone.
  func noteForgotten() throws(StoreError) {
    try execute("PRAGMA user_version=\(Catalog.forgettingVersion)")
  }
}
