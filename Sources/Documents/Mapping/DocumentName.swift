package import LLVSCore

/// The name of a value in a document: a scope and a key, compared as bytes.
package struct DocumentName: Hashable, Comparable, Sendable {
  package var scope: [UInt8]
  package var key: [UInt8]
}

extension DocumentName {
  package static func < (a: DocumentName, b: DocumentName) -> Bool {
    a.scope == b.scope
      ? a.key.lexicographicallyPrecedes(b.key) : a.scope.lexicographicallyPrecedes(b.scope)
  }

  private static let prefix = Array("%kv%".utf8)
  private static let slash = UInt8(ascii: "/")

  /// The path of the value's file below the directory, one for each name (docs/documents.md, "Names").
  package var path: [UInt8] {
    if isPlain { return scope.isEmpty ? key : scope + [Self.slash] + key }
    var path = Self.prefix
    for byte in scope {
      switch byte {
      case UInt8(ascii: "%"): path += Array("%25".utf8)
      case Self.slash: path += Array("%2F".utf8)
      default: path.append(byte)
      }
    }
    return path + [Self.slash] + key
  }

  /// Nil if no name has the path.
  package init?(path: [UInt8]) {
    guard let slash = path.firstIndex(of: Self.slash) else {
      self.init(scope: [], key: path)
      if self.path != path { return nil }
      return
    }
    var scope = Array(path[..<slash])
    if path.starts(with: Self.prefix) {
      guard slash >= Self.prefix.count, let text = Self.unescape(scope[Self.prefix.count...]) else {
        return nil
      }
      scope = text
    }
    self.init(scope: scope, key: Array(path[(slash + 1)...]))
    if self.path != path { return nil }
  }

  private var isPlain: Bool {
    if scope.contains(Self.slash) || scope.starts(with: Self.prefix) { return false }
    if scope.isEmpty { return !key.contains(Self.slash) && !key.starts(with: Self.prefix) }
    return true
  }

  private static func unescape(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      switch (rest.popFirst(), rest.popFirst()) {
      case (UInt8(ascii: "2"), UInt8(ascii: "5")): bytes.append(UInt8(ascii: "%"))
      case (UInt8(ascii: "2"), UInt8(ascii: "F")): bytes.append(slash)
      default: return nil
      }
    }
    return bytes
  }
}

extension DocumentDirectory {
  package func key(of name: DocumentName) -> Key { key(ofRelativePath: name.path) }

  /// The name of the value in a key's file; nil if the path is not UTF-8, or no name has it.
  package func name(of key: Key) -> DocumentName? {
    guard let path = relativePath(of: key), String(validating: path, as: UTF8.self) != nil else {
      return nil
    }
    return DocumentName(path: path)
  }
}
