public import LLVS

/// A type whose instances are stored as values of JSON under keys that name the type.
public protocol StorableModel: Codable, SendableMetatype {
  /// The text that ends the keys of this type's values; it never changes.
  static var modelTypeIdentifier: String { get }
}

/// Returns the key of an instance: `INSTANCE/TYPE`.
public func modelValueID(typeIdentifier: String, instanceIdentifier: String) -> Value.ID {
  Value.ID("\(instanceIdentifier)/\(typeIdentifier)")
}

/// Returns the type in a key, the text after its last `/`; nil without a `/`.
public func modelTypeIdentifier(from valueID: Value.ID) -> String? {
  ModelKey.afterLastSlash(valueID)
}

/// Returns the instance in a key, the text before its last `/`; nil without a `/`.
public func instanceIdentifier(from valueID: Value.ID) -> String? {
  ModelKey.beforeLastSlash(valueID)
}

/// The orders of a key: `INSTANCE/TYPE`, and `TYPE/INSTANCE` of older programs.
enum ModelKey {
  /// The type by the present order first.
  static func typeIdentifiers(in id: Value.ID) -> [String] {
    [afterLastSlash(id), beforeFirstSlash(id)].compactMap(\.self)
  }

  static func afterLastSlash(_ id: Value.ID) -> String? {
    let bytes = id.rawValue.utf8
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return String(decoding: bytes[bytes.index(after: slash)...], as: UTF8.self)
  }

  static func beforeLastSlash(_ id: Value.ID) -> String? {
    let bytes = id.rawValue.utf8
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return String(decoding: bytes[..<slash], as: UTF8.self)
  }

  private static func beforeFirstSlash(_ id: Value.ID) -> String? {
    let bytes = id.rawValue.utf8
    guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    return String(decoding: bytes[..<slash], as: UTF8.self)
  }
}
