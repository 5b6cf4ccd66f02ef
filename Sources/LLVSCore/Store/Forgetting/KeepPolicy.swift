/// The versions that a store keeps: `all:30d daily:1y weekly:5y` keeps all versions of the last 30 days, of the last
/// year the last version of each day, and of the last five years the last version of each week.
///
/// The days are those of UTC, so that a store that moves between time zones keeps the same versions. Each line has its
/// own last version.
package struct KeepPolicy: Hashable, Sendable {
  private struct Rule: Hashable {
    /// In seconds; 0 for all versions.
    var period: Int64
    /// In seconds; nil without an end.
    var age: Int64?

    private var name: String { KeepPolicy.periods.first { $0.seconds == period }?.name ?? "" }

    private var ageText: String? {
      age.map { age in
        guard age > 0 else { return "0s" }
        let unit = KeepPolicy.units.filter { age % $0.value == 0 }.max { $0.value < $1.value }
        return unit.map { "\(age / $0.value)\($0.key)" } ?? "\(age)s"
      }
    }

    var text: String { ageText.map { "\(name):\($0)" } ?? name }

    var clause: String {
      let what =
        switch name {
        case "hourly": "the last version of each hour"
        case "daily": "the last version of each day"
        case "weekly": "the last version of each week"
        default: "every version"
        }
      return ageText.map { "\(what) for \($0)" } ?? what
    }
  }

  /// The facts about a version that the policy decides by.
  struct Candidate {
    var number: VersionNumber
    var line: String
    /// Seconds since 1970 by the version's own clock.
    var time: Double
    /// Seconds since 1970 by the clock of this machine.
    var storedAt: Double
    var id: Version.ID
  }

  /// Keeps every version.
  package static let everything = KeepPolicy(rules: [Rule(period: 0, age: nil)])

  private static let day: Int64 = 86_400
  private static let periods: [(name: String, seconds: Int64)] = [
    ("all", 0), ("hourly", 3600), ("daily", day), ("weekly", 7 * day),
  ]
  private static let units: [Character: Int64] = [
    "s": 1, "m": 60, "h": 3600, "d": day, "w": 7 * day, "y": 365 * day,
  ]
  /// 1970-01-01 was a Thursday.
  private static let firstMonday = 4 * day

  private let rules: [Rule]

  private init(rules: [Rule]) { self.rules = rules }

  /// Parses the words of a policy, separated by spaces or commas.
  /// - Throws: ``StoreError/invalid(_:)`` with the word that has no meaning.
  package init(_ text: String) throws(StoreError) {
    var rules: [Rule] = []
    for word in text.split(whereSeparator: { $0 == " " || $0 == "," }) {
      let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard let period = Self.periods.first(where: { $0.name == parts[0] })?.seconds else {
        throw Self.misused(word)
      }
      guard !rules.contains(where: { $0.period == period }) else {
        throw .invalid("\"\(word)\" repeats \"\(parts[0])\", which may be given once")
      }
      guard parts.count > 1 else {
        rules.append(Rule(period: period, age: nil))
        continue
      }
      guard let unit = parts[1].last.flatMap({ Self.units[$0] }),
        let count = UInt32(parts[1].dropLast()), !parts[1].hasPrefix("+")
      else { throw Self.misused(word) }
      rules.append(Rule(period: period, age: Int64(count) * unit))
    }
    guard !rules.isEmpty else { throw Self.misused(text[...]) }
    self.rules = rules.sorted { $0.period < $1.period }
  }

  private static func misused(_ word: Substring) -> StoreError {
    .invalid(
      "\"\(word)\" does not say what to keep; examples: all, all:30d, hourly:2d, daily:1y, weekly:5y"
    )
  }

  /// The words that ``init(_:)`` parses to the same policy, with commas.
  package var text: String { rules.map(\.text).joined(separator: ",") }

  /// What the policy keeps, in words: a clause for each rule.
  package var clauses: [String] { rules.map(\.clause) }

  package var keepsEverything: Bool { rules[0].period == 0 && rules[0].age == nil }

  /// The time since which every version is kept, in seconds since 1970.
  func begin(at now: Double) -> Double {
    guard let first = rules.first, first.period == 0 else { return now }
    return first.age.map { now - Double($0) } ?? -.infinity
  }

  /// Chooses what a policy keeps of versions that come in any order.
  struct Choice {
    private struct Slot: Hashable {
      var rule: Int
      var line: String
      var index: Int64
    }

    private let policy: KeepPolicy
    /// In seconds since 1970.
    private let now: Double
    private var all: Set<VersionNumber> = []
    private var last: [Slot: Candidate] = [:]

    init(_ policy: KeepPolicy, at now: Double) { (self.policy, self.now) = (policy, now) }

    var kept: Set<VersionNumber> { all.union(last.values.map(\.number)) }

    mutating func add(_ one: Candidate) {
      // Versions that arrived today are new here, even if they were made long ago.
      let age = now - max(one.time, one.storedAt)
      for (index, rule) in policy.rules.enumerated()
      where rule.age.map({ age <= Double($0) }) ?? true {
        guard rule.period > 0 else {
          all.insert(one.number)
          continue
        }
        let start = (one.time - Double(KeepPolicy.firstMonday)) / Double(rule.period)
        let slot = Slot(rule: index, line: one.line, index: Int64(start.rounded(.down)))
        if let other = last[slot], (other.time, other.id) > (one.time, one.id) { continue }
        last[slot] = one
      }
    }
  }
}
