// What this store has forgotten, in properties that are kept twice: `forgotten`, the numbers of the versions, and
// for each segment `gone N`, the ranges of records that only they had.

/// A decision to forget, committed in one transaction.
struct Forgetting: Sendable {
  /// All forgotten versions, earlier ones included.
  var versions: [VersionNumber]
  /// The ranges of each segment that gets more, earlier ones included.
  var gone: [UInt32: GoneRanges]
}

extension StoreDatabase {
  private static let forgotten = "forgotten"
  private static let gone = "gone "

  /// True if a property has a second row.
  static func isKeptTwice(_ name: String) -> Bool {
    properties.contains(name) || name == forgotten
      || name.hasPrefix(gone) && !name.hasSuffix(copy(of: ""))
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
  /// again and none is called forgotten.
  static func lost(property name: String) -> [UInt8]? {
    properties.contains(name) ? nil : name == forgotten ? [] : [0xFF]
  }

  func forgottenVersions() throws(StoreError) -> NumberSet {
    var set = NumberSet()
    for run in NumberSet.decode(try property(Self.forgotten) ?? []) ?? [] { set.insert(run) }
    return set
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
    for (segment, ranges) in forgetting.gone {
      try setProperty("\(Self.gone)\(segment)", ranges.encoded)
    }
    try noteForgotten()
  }

  /// An earlier program would take what is missing for damage, and use records that are gone.
  func noteForgotten() throws(StoreError) {
    try execute("PRAGMA user_version=\(Catalog.forgettingVersion)")
  }
}
