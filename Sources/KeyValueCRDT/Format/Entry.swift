internal import Foundation
internal import SQLite

extension Statement {
  /// The version in the columns authorId, timestamp, text, json, blobMimeType and blob from a column on; the
  /// first value that is not null counts. Throws ``DatabaseError`` with `corrupt`.
  func version(from column: Int32, of key: @autoclosure () -> ScopedKey) throws -> Version {
    guard let timestamp = date(column + 1) else {
      throw DatabaseError(.corrupt, "the time of a version of \(key()) cannot be read")
    }
    return Version(
      authorID: try author(column), timestamp: timestamp,
      value: value(from: column + 2))
  }

  private func value(from column: Int32) -> Value {
    if kind(column) != .null { return .text(string(column)) }
    if kind(column + 1) != .null { return .json(string(column + 1)) }
    guard kind(column + 3) != .null else { return .null }
    return .blob(
      mimeType: kind(column + 2) == .null ? Value.defaultMimeType : string(column + 2),
      blob: data(column + 3))
  }

  /// A date in any form of the format's versions.
  func date(_ column: Int32) -> Date? {
    switch kind(column) {
    case .text: Timestamp.date(utf8(column))
    case .integer, .real: Date(timeIntervalSince1970: real(column))
    case .null, .blob: nil
    }
  }

  func scopedKey(_ scope: Int32, _ key: Int32) -> ScopedKey {
    ScopedKey(scope: string(scope), key: string(key))
  }
}

extension Value {
  static let defaultMimeType = "application/octet-stream"
}
