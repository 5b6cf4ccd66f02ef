import Foundation
import KeyValueCRDT

/// Files that the original library wrote, and what it reads in them: those of this repository, or those of
/// the directory that `LLVS_TEST_FIXTURES` names.
enum Fixtures {
  static let folder: URL = {
    if let path = ProcessInfo.processInfo.environment["LLVS_TEST_FIXTURES"] {
      return URL(fileURLWithPath: path)
    }
    return URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Resources/kvcrdt")
  }()

  /// The databases that have an expectation, by their place below the folder and without extension.
  static let names = list(".expected.json")
  /// Merges whose right result is known.
  static let merges = list(".causal.json")

  private static func list(_ ending: String) -> [String] {
    guard let files = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    return files.compactMap { $0 as? String }.filter { $0.hasSuffix(ending) }
      .map { String($0.dropLast(ending.count)) }.sorted()
  }

  static func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

  /// A copy of a file that a test may write.
  static func copy(_ name: String, to folder: Folder, as copy: String? = nil) throws -> String {
    let target = copy ?? (name as NSString).lastPathComponent + ".kvcrdt"
    try Data(contentsOf: url(name + ".kvcrdt")).write(to: folder.url(target))
    return target
  }

  static func expected(_ name: String) throws -> Expected {
    try JSONDecoder().decode(
      Expected.self, from: try Data(contentsOf: url(name + ".expected.json")))
  }

  static func causal(_ name: String) throws -> Expected {
    try JSONDecoder().decode(Expected.self, from: try Data(contentsOf: url(name + ".causal.json")))
  }
}

/// What a database holds, as a fixture says.
struct Expected: Decodable {
  struct Key: Decodable, Hashable {
    var scope: String
    var key: String

    var scopedKey: ScopedKey { ScopedKey(scope: scope, key: key) }
  }

  struct Version: Decodable {
    var author: UUID
    var timestamp: String
    var type: String
    var value: String?
    var mimeType: String?
    var valueBase64: String?
  }

  struct Entry: Decodable {
    var scope: String
    var key: String
    var versions: [Version]
  }

  struct Author: Decodable {
    var id: UUID
    var name: String
    var usn: Int
    var timestamp: String?
  }

  struct Counts: Decodable {
    var entryCount: Int
    var authorCount: Int
    var tombstoneCount: Int
  }

  var entries: [Entry]
  var inputs: [String]?
  var authors: [Author]?
  var liveKeys: [Key]?
  var search: [String: [Key]]?
  var statistics: Counts?
  var applicationIdentifier: ApplicationIdentifier?

  /// Every version in one line, sorted.
  var lines: [String] {
    entries.flatMap { entry in
      entry.versions.map { version in
        let value =
          version.type == "blob"
          ? "\(version.mimeType ?? "-") \(version.valueBase64 ?? "-")" : version.value ?? "-"
        return Expected.line(
          entry.scope, entry.key, version.author, version.timestamp, "\(version.type) \(value)")
      }
    }.sorted()
  }

  static func lines(_ database: KeyValueDatabase) throws -> [String] {
    try database.bulkRead().flatMap { key, versions in
      versions.map { version in
        let value =
          switch version.value {
          case .null: "null -"
          case .text(let text): "text \(text)"
          case .json(let text): "json \(text)"
          case .blob(let mimeType, let blob): "blob \(mimeType) \(blob.base64EncodedString())"
          }
        return line(key.scope, key.key, version.authorID, text(version.timestamp), value)
      }
    }.sorted()
  }

  private static func line(
    _ scope: String, _ key: String, _ author: UUID, _ time: String, _ value: String
  ) -> String {
    // Bytes, as two spellings of one character are two keys.
    let names = [scope, key].map { $0.utf8.map { String($0, radix: 16) }.joined(separator: " ") }
    return "\(names) \(author) \(time) \(value)"
  }

  /// A time as the fixtures have it.
  static func text(_ date: Date) -> String {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return formatter.string(from: date)
  }
}
