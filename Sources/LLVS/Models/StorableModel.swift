public import LLVSCore

/// A type whose instances are stored as values of JSON under keys that name the type.
public protocol StorableModel: Codable, SendableMetatype {
  /// What keys say of the type; the same in every version of a program.
  static var modelTypeIdentifier: String { get }
}

/// Returns the key of an instance: `INSTANCE/TYPE`.
public func modelValueID(typeIdentifier: String, instanceIdentifier: String) -> Value.ID {
  Value.ID("\(instanceIdentifier)/\(typeIdentifier)")
}

/// Returns what a key says of the type: what stands behind its last `/`; nil without one.
public func modelTypeIdentifier(from valueID: Value.ID) -> String? {
  parts(of: valueID)?.type
}

/// Returns what a key says of the instance: what stands before its last `/`; nil without one.
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
