import Foundation

/// The published test vectors of digest 1.
struct DigestVectors: Decodable {
  struct Tree: Decodable {
    struct Entry: Decodable {
      enum Field: Decodable {
        case tag(UInt8)
        case hex(String)

        init(from decoder: any Decoder) throws {
          let container = try decoder.singleValueContainer()
          if let tag = try? container.decode(UInt8.self) {
            self = .tag(tag)
          } else {
            self = .hex(try container.decode(String.self))
          }
        }
      }

      let kind: UInt8
      let key: String
      let data: String
      let fields: [[Field]]
    }

    let name: String
    let entries: [Entry]
    let contentDigest: String

    private enum CodingKeys: CodingKey { case name, entries, contentDigest }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      contentDigest = try container.decode(String.self, forKey: .contentDigest)
      // The numbered trees are described in words only.
      entries = (try? container.decode([Entry].self, forKey: .entries)) ?? []
    }
  }

  struct Identity: Decodable {
    let first: String
    let second: String
    let contentDigest: String
    let metadata: [String: String]
    let metadataDigest: String
    let id: String
  }

  let trees: [Tree]
  let ids: [Identity]

  static func load() throws -> DigestVectors {
    let url = Bundle.module.bundleURL.appendingPathComponent("Resources/vectors.json")
    return try JSONDecoder().decode(DigestVectors.self, from: Data(contentsOf: url))
  }

  static func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex.utf8)
    return stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
    }
  }
}
