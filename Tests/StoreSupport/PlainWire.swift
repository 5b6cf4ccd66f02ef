import Foundation

/// What the original writes into an exchange folder, as plain JSON: an implementation of its own, which
/// shares nothing with the store.
enum PlainWire {
  struct VersionFile: Codable {
    var version: Version
  }

  struct Version: Codable {
    struct Predecessors: Codable {
      var idOfFirst: String
      var idOfSecond: String?
    }

    var identifier: String
    var timestamp: Double
    var valueDataSize: Int64?
    var metadata = Metadata()
    var predecessors: Predecessors?

    var ids: [String] { [predecessors?.idOfFirst, predecessors?.idOfSecond].compactMap { $0 } }
  }

  /// Keys and values in turn in one array, as Swift writes a dictionary whose keys are no strings.
  struct Metadata: Codable {
    struct Value: Codable {
      var data: Data
    }

    var values: [String: Value] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      while !container.isAtEnd {
        let key = try container.decode(String.self)
        values[key] = try container.decode(Value.self)
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      for (key, value) in values {
        try container.encode(key)
        try container.encode(value)
      }
    }
  }

  /// An object with one of the keys.
  struct Change: Codable {
    struct Stored: Codable {
      var id: String
      var data: Data
      var storedVersionId: String?
    }

    struct Reference: Codable, Hashable {
      var valueId: String
      var storedVersionId: String
    }

    var insert: Stored?
    var update: Stored?
    var remove: String?
    var preserve: Reference?
    var preserveRemoval: String?
  }

  static func read<Content: Decodable>(_ type: Content.Type, _ path: String) throws -> Content {
    try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  static func write(_ content: some Encodable, _ path: String) throws {
    try JSONEncoder().encode(content).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}
