public import Foundation

/// A value of a key, which is never converted to another type.
public enum Value: Hashable, Sendable {
  case null
  case text(String)
  /// A JSON text (RFC 8259), kept byte for byte.
  case json(String)
  case blob(mimeType: String, blob: Data)

  public var text: String? { if case .text(let text) = self { text } else { nil } }
  public var json: String? { if case .json(let json) = self { json } else { nil } }
  public var blob: Data? { if case .blob(_, let blob) = self { blob } else { nil } }

  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.text(let one), .text(let other)), (.json(let one), .json(let other)):
      Bytes.areEqual(one, other)
    case (.blob(let mimeType, let blob), .blob(let otherType, let other)):
      Bytes.areEqual(mimeType, otherType) && blob == other
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    switch self {
    case .null: break
    case .text(let text), .json(let text): Bytes.hash(text, into: &hasher)
    case .blob(let mimeType, let blob):
      Bytes.hash(mimeType, into: &hasher)
      hasher.combine(blob)
    }
  }

  enum Kind: Int64 { case null, text, json, blob }

  var kind: Kind {
    switch self {
    case .null: .null
    case .text: .text
    case .json: .json
    case .blob: .blob
    }
  }
}

extension Value: ExpressibleByStringLiteral {
  public init(stringLiteral: String) { self = .text(stringLiteral) }
}
