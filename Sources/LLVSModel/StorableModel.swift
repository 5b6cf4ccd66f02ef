public import LLVS

/// A type whose instances are stored as values of JSON under keys that name the type.
public protocol StorableModel: Codable, SendableMetatype {
  /// The text that ends the keys of all values of this type; the same in every release of a
  /// program.
  static var modelTypeIdentifier: String { get }
}

/// Returns the key of an instance: `INSTANCE/TYPE`.
public func modelValueID(typeIdentifier: String, instanceIdentifier: String) -> Value.ID {
  Value.ID("\(instanceIdentifier)/\(typeIdentifier)")
}

/// Returns the type that a key names, which is the text after its last `/`; nil without a `/`.
public func modelTypeIdentifier(from valueID: Value.ID) -> String? {
  ModelKey.afterLastSlash(valueID)
}

/// Returns the instance that a key names, which is the text before its last `/`; nil without a `/`.
public func instanceIdentifier(from valueID: Value.ID) -> String? {
  ModelKey.beforeLastSlash(valueID)
}

/// The two orders in which a key names a type and an instance: `INSTANCE/TYPE`, which is written,
/// and `TYPE/INSTANCE`, which older programs wrote.
enum ModelKey {
  /// The key that older programs gave an instance.
  static func old(typeIdentifier: String, instanceIdentifier: String) -> Value.ID {
    Value.ID("\(typeIdentifier)/\(instanceIdentifier)")
  }

  /// Returns the types that a key may name, the one of today's order first.
  static func typeIdentifiers(in id: Value.ID) -> [String] {
    [afterLastSlash(id), beforeFirstSlash(id)].compactMap(\.self)
  }

  /// Returns true if a key names an instance of a type, in either order.
  static func isKey(_ id: Value.ID, of type: String) -> Bool {
    typeIdentifiers(in: id).contains(type)
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
