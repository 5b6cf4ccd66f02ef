import Foundation

/// A directory of the model and a name in it; `.` is the directory itself.
struct Place: Hashable {
  var directory: Int
  var name: String
}

/// A time as the file system counts it.
struct Time: Codable, Hashable, Comparable {
  var seconds: Int
  var nanoseconds: Int

  static func < (one: Self, other: Self) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }
}

/// A system call with its arguments. A number without a label is that of an open file.
enum Call {
  case open(Place, OpenFlags, as: Int)
  case close(Int)
  case read(Int, at: Int, count: Int)
  case write(Int, at: Int, Data)
  case resize(Int, to: Int)
  case punch(Int, at: Int, count: Int)
  case sync(Int, dataOnly: Bool)
  /// Reads through a mapping.
  case mapRead(Int, at: Int, count: Int)
  /// Writes through a mapping, within one page, and waits for the file system.
  case mapWrite(Int, at: Int, Data)
  case fileStatus(Int)
  case list(Int)

  case status(Place)
  case truncate(Place, to: Int)
  case unlink(Place)
  case makeDirectory(Place)
  case removeDirectory(Place)
  case rename(Place, to: Place, RenameFlag?)
  case link(Place, to: Place)
  case symlink(target: String, Place)
  case readlink(Place)
  case setMode(Place, UInt32)
  case setModified(Place, Time)
  case setExtended(Place, name: String, Data)
  case removeExtended(Place, name: String)
  case extended(Place, name: String)
  case extendedNames(Place)

  case enter(Place)
  case workingDirectory
  case workingDirectoryStatus

  /// The number of the open file that the call is about.
  var handle: Int? {
    switch self {
    case .close(let handle), .read(let handle, _, _), .write(let handle, _, _),
      .resize(let handle, _), .punch(let handle, _, _), .sync(let handle, _),
      .mapRead(let handle, _, _), .mapWrite(let handle, _, _), .fileStatus(let handle),
      .list(let handle):
      handle
    default: nil
    }
  }
}

extension Call {
  /// True for a call that changes nothing.
  var isReading: Bool {
    switch self {
    case .read, .mapRead, .fileStatus, .list, .status, .readlink, .extended, .extendedNames,
      .workingDirectory, .workingDirectoryStatus:
      true
    default: false
    }
  }
}

struct OpenFlags: OptionSet {
  let rawValue: Int
  static let read = Self(rawValue: 1)
  static let write = Self(rawValue: 2)
  static let append = Self(rawValue: 4)
  static let create = Self(rawValue: 8)
  static let exclusive = Self(rawValue: 16)
  static let truncate = Self(rawValue: 32)
  static let directory = Self(rawValue: 64)
}

enum RenameFlag: Int {
  case noReplace = 1
  case exchange = 2
}

enum NodeKind: String, Codable {
  case file, directory, symlink
}

/// The attributes that stat(2) tells; those that are not known beforehand are nil in what is expected.
struct Status: Equatable {
  var kind: NodeKind
  var mode: UInt32
  var links: Int?
  var size: Int?
  var number: UInt64?
  var modified: Time?
  var changed: Time?
  /// The time that `changed` must not be before.
  var earliestChange: Time?
}

/// A name as readdir(3) tells it.
struct ListedName: Equatable {
  var kind: NodeKind
  var number: UInt64?
}

/// What a call returns.
enum Answer: Equatable {
  case done
  case failed(Int32)
  case bytes(Data)
  case text(String)
  case status(Status)
  case names([String: ListedName])

  /// Keeps the names that begin with a prefix, and returns the others.
  mutating func take(own prefix: String) -> [String] {
    guard case .names(let names) = self else { return [] }
    self = .names(names.filter { $0.key.hasPrefix(prefix) })
    return names.keys.filter { !$0.hasPrefix(prefix) }
  }

  /// True if the answer is the one that was expected, whatever is unknown in that.
  func isAs(_ expected: Answer) -> Bool {
    switch (expected, self) {
    case (.status(var expected), .status(let found)):
      expected.links = expected.links ?? found.links
      expected.size = expected.size ?? found.size
      expected.number = expected.number ?? found.number
      expected.modified = expected.modified ?? found.modified
      expected.changed = expected.changed ?? found.changed
      if let earliest = expected.earliestChange, let changed = found.changed, changed < earliest {
        return false
      }
      expected.earliestChange = nil
      return expected == found
    case (.names(let expected), .names(let found)):
      return expected.count == found.count
        && expected.allSatisfy { name, one in
          guard let other = found[name] else { return false }
          return one.kind == other.kind && (one.number ?? other.number) == other.number
        }
    default: return expected == self
    }
  }
}

extension Answer {
  /// What tells that the daemon died.
  static let lossCodes: Set<Int32> = [ENOTCONN, ECONNABORTED, EIO]

  /// True if the daemon may have died before it gave the expected answer: the call failed, or a read or a write ended
  /// early.
  func mayBeLoss(of expected: Answer) -> Bool {
    switch (self, expected) {
    case (.failed(let code), _): self != expected && Self.lossCodes.contains(code)
    case (.bytes(let found), .bytes(let wanted)):
      found.count < wanted.count && wanted.starts(with: found)
    case (.text, .done): true
    default: false
    }
  }
}

extension Answer: CustomStringConvertible {
  var description: String {
    switch self {
    case .done: "success"
    case .failed(let code): "\(String(cString: strerror(code))) (\(code))"
    case .bytes(let bytes): "\(bytes.count) bytes \(Self.beginning(of: bytes))"
    case .text(let text): text
    case .status(let status):
      """
      \(status.kind) mode \(String(status.mode, radix: 8)) links \(Self.text(status.links)) size \
      \(Self.text(status.size)) inode \(Self.text(status.number)) mtime \
      \(Self.text(status.modified)) ctime \(Self.text(status.changed))\
      \(status.earliestChange.map { " not before \(Self.text($0))" } ?? "")
      """
    case .names(let names):
      names.sorted { $0.key < $1.key }
        .map { "\($0.key) (\($0.value.kind) \(Self.text($0.value.number)))" }
        .joined(separator: ", ")
    }
  }

  /// The place from which on two answers have other bytes.
  func difference(from expected: Answer) -> String? {
    guard case .bytes(let found) = self, case .bytes(let wanted) = expected else { return nil }
    let place = zip(found, wanted).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    return "other bytes from \(place ?? min(found.count, wanted.count)) on"
  }

  private static func text(_ value: Int?) -> String { value.map { "\($0)" } ?? "any" }
  private static func text(_ value: UInt64?) -> String { value.map { "\($0)" } ?? "any" }
  private static func text(_ value: Time?) -> String {
    value.map { "\($0.seconds).\($0.nanoseconds)" } ?? "any"
  }
  private static func beginning(of bytes: Data) -> String {
    bytes.prefix(12).map { String($0, radix: 16) }.joined(separator: " ")
  }
}
