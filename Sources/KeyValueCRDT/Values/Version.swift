public import Foundation

/// One version of a key: an author's value, and the time.
public struct Version: Equatable, Sendable {
  /// The author, as ``KeyValueDatabase/authors`` lists it.
  public let authorID: UUID
  /// The time given with the write, in milliseconds; merges ignore it.
  public let timestamp: Date
  public let value: Value

  /// Oldest first, and at one time by author.
  static func precedes(_ left: Version, _ right: Version) -> Bool {
    guard left.timestamp == right.timestamp else { return left.timestamp < right.timestamp }
    return left.authorID.bytes.lexicographicallyPrecedes(right.authorID.bytes)
  }
}

extension [Version] {
  /// The text of the only version.
  /// - Throws: ``KeyValueCRDTError/versionConflict`` if there are several.
  public var text: String? {
    get throws { try only?.value.text }
  }

  /// - Throws: as ``text``.
  public var json: String? {
    get throws { try only?.value.json }
  }

  /// - Throws: as ``text``.
  public var blob: Data? {
    get throws { try only?.value.blob }
  }

  /// True if the only version is a deletion.
  /// - Throws: as ``text``.
  public var isDeleted: Bool {
    get throws { try only?.value == .null }
  }

  private var only: Version? {
    get throws {
      guard count < 2 else { throw KeyValueCRDTError.versionConflict }
      return first
    }
  }
}

extension UUID {
  var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

  init?(bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else { return nil }
    self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}
