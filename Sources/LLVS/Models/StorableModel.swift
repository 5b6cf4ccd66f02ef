public import LLVSCore

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
  parts(of: valueID)?.type
}

/// Returns the instance that a key names, which is the text before its last `/`; nil without a `/`.
public func instanceIdentifier(from valueID: Value.ID) -> String? {
  parts(of: valueID)?.instance
}

private func parts(of id: Value.ID) -> (instance: String, type: String)? {
  guard let slash = id.bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
  return (
    String(decoding: id.bytes[..<slash], as: UTF8.self),
    String(decoding: id.bytes[(slash + 1)...], as: UTF8.self)
  )
}
