import Inodes
import LLVSCore

// Access times are only in memory: versions and the journal do not have them.

/// The rules by which reading or listing updates the access time, as mount(8) has them.
package struct AccessRules: Hashable, Sendable {
  package enum Rule: Hashable, Sendable {
    /// `noatime`
    case never
    /// `relatime`: if it is not later than mtime and ctime, or is a day old.
    case relative
    /// `strictatime`
    case always
  }

  package var files: Rule
  package var directories: Rule

  /// Without `directories`, their rule is that for files.
  package init(files: Rule = .relative, directories: Rule? = nil) {
    self.files = files
    self.directories = directories ?? files
  }
}

/// Access times that differ from the mtime. The oldest notes are dropped; such files show their mtime.
struct AccessTimes {
  /// The least number of times that are kept; the greatest is twice that.
  private static let limit = 1 << 16
  /// The age, in seconds, at which `relatime` updates an access time in any case.
  private static let day: Int64 = 86_400
  var rules = AccessRules()
  private static let noTimes = NumberMap(filler: Attributes.Time(seconds: 0, nanoseconds: 0))
  private var recent = AccessTimes.noTimes
  private var older = AccessTimes.noTimes

  /// The access time of an inode; nil if it is the mtime.
  subscript(number: InodeNumber) -> Attributes.Time? {
    get { recent[number] ?? (older.isEmpty ? nil : older[number]) }
    set {
      if !older.isEmpty { older[number] = nil }
      if recent.count >= Self.limit, newValue != nil, recent[number] == nil {
        older = recent
        recent = Self.noTimes
      }
      recent[number] = newValue
    }
  }

  /// Notes that an inode was read; true if the rules update its access time.
  @discardableResult
  mutating func note(
    _ number: InodeNumber, isDirectory: Bool, mtime: Attributes.Time, ctime: Attributes.Time,
    now: Attributes.Time
  ) -> Bool {
    let rule = isDirectory ? rules.directories : rules.files
    guard rule != .never else { return false }
    if rule == .relative {
      let known = self[number] ?? mtime
      guard known <= mtime || known <= ctime || now.seconds - known.seconds >= Self.day else {
        return false
      }
    }
    self[number] = now
    return true
  }
}

extension WorkingTree {
  package func setAccessRules(_ rules: AccessRules) { state { $0.accessTimes.rules = rules } }
  package var countsListings: Bool { state { $0.accessTimes.rules.directories == .always } }
}
