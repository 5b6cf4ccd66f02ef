internal import KeyValueCRDT
package import LLVSCore

/// The type of a document's value, by its number in documents.
package enum DocumentType: UInt8, Sendable {
  /// A removal.
  case null = 0
  case text = 1
  case json = 2
  case blob = 3

  package var word: String {
    switch self {
    case .null: "null"
    case .text: "text"
    case .json: "json"
    case .blob: "blob"
    }
  }

  /// The extended attribute with the type, if bytes and media type would give another one.
  package static let attribute = Array("user.kv.type".utf8)
  package static let mediaAttribute = Array("user.mime_type".utf8)
  package static let defaultMedia = Array("application/octet-stream".utf8)
  static let jsonMedia = Array("application/json".utf8)
  /// Longer files without a media type are blobs.
  package static let maximumText = 8 << 20

  /// The type of a file's value (docs/documents.md, "Values").
  package static func type(of bytes: [UInt8], _ attributes: Attributes) -> DocumentType {
    let word = attributes.value(of: attribute).map { String(decoding: $0, as: UTF8.self) }
    let isText = String(validating: bytes, as: UTF8.self) != nil
    switch word {
    case "text"? where isText: return .text
    case "json"? where isText && isJSON(bytes): return .json
    case "blob"?: return .blob
    default: return inferred(bytes, attributes.value(of: mediaAttribute), isText)
    }
  }

  private static func inferred(
    _ bytes: [UInt8], _ media: [UInt8]?, _ isText: Bool
  ) -> DocumentType {
    if media == jsonMedia { return isText ? isJSON(bytes) ? .json : .text : .blob }
    guard media == nil || media?.starts(with: Array("text/".utf8)) == true else { return .blob }
    return isText && bytes.count <= maximumText && !bytes.contains(0) ? .text : .blob
  }

  private static func isJSON(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { JSONText.isValid($0) }
  }

  /// A file's attributes, with those of the type and the media type set.
  package func attributes(
    on old: Attributes, media: [UInt8]?, bytes: [UInt8]
  ) -> Attributes {
    var new = old
    new.set(Self.attribute, nil)
    switch self {
    case .null, .text: new.set(Self.mediaAttribute, nil)
    case .json: new.set(Self.mediaAttribute, Self.jsonMedia)
    case .blob: new.set(Self.mediaAttribute, media ?? Self.defaultMedia)
    }
    if Self.type(of: bytes, new) != self { new.set(Self.attribute, Array(word.utf8)) }
    return new
  }
}

extension Attributes {
  package func value(of name: [UInt8]) -> [UInt8]? {
    extended.first { $0.name == name }?.value
  }

  mutating func set(_ name: [UInt8], _ value: [UInt8]?) {
    extended.removeAll { $0.name == name }
    guard let value else { return }
    let index = extended.firstIndex { !$0.name.lexicographicallyPrecedes(name) }
    extended.insert(Extended(name: name, value: value), at: index ?? extended.endIndex)
  }
}
