internal import Foundation

/// The two files of a version in a folder: `{"version": {...}}` and a list of changes.
enum VersionFile {
  private struct Description: Codable { var version: Version }

  static func version(in data: Data, _ id: Version.ID) -> Version? {
    let read = try? JSONDecoder().decode(Description.self, from: data).version
    return read?.id == id ? read : nil
  }

  static func changes(in data: Data) throws -> [Value.Change] {
    try JSONDecoder().decode([Value.Change].self, from: data)
  }

  static func data(of version: Version) throws -> Data {
    try encoder.encode(Description(version: version))
  }

  static func data(of changes: [Value.Change]) throws -> Data { try encoder.encode(changes) }

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}
