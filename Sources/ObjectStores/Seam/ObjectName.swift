/// The name of an object at a remote, relative to the address: folders and a name, with `/` between them. Names are
/// bytes: two encodings of an accent are two names.
package struct ObjectName: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The longest name, and the longest part of one, in bytes.
  package static let longest = 1024
  package static let longestPart = 255
  package let text: String

  /// Nil for text that not all remotes accept: an empty part, `.`, `..`, control characters, too many bytes.
  package init?(_ text: String) {
    guard Self.isUsable(text) else { return nil }
    self.text = text
  }

  // Fast, because a list has thousands of names.
  static func isUsable(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      guard bytes.count <= longest else { return false }
      var start = 0
      for (index, byte) in bytes.enumerated() {
        guard byte >= 0x20, byte != 0x7F else { return false }
        guard byte == UInt8(ascii: "/") else { continue }
        guard isPart(bytes[start..<index]) else { return false }
        start = index + 1
      }
      return isPart(bytes[start...])
    }
  }

  private static func isPart(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard (1...longestPart).contains(bytes.count) else { return false }
    return bytes.count > 2 || bytes.contains { $0 != UInt8(ascii: ".") }
  }

  /// The folders of the object, without a slash at the end.
  package var folder: String {
    guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(text[..<slash])
  }

  package var last: String {
    guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return text }
    return String(text[text.utf8.index(after: slash)...])
  }

  package var description: String { text }

  package static func == (a: ObjectName, b: ObjectName) -> Bool {
    a.text.utf8.elementsEqual(b.text.utf8)
  }

  package static func < (a: ObjectName, b: ObjectName) -> Bool {
    a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

/// The objects of one folder, without those of folders below, whose names have a prefix.
package struct ObjectPrefix: Hashable, Sendable, CustomStringConvertible {
  /// Without a slash at the end; empty for the place of the address.
  package let folder: String
  package let beginning: String
  package let description: String

  /// Nil if no ``ObjectName`` can begin with the text.
  package init?(_ text: String) {
    let slash = text.utf8.lastIndex(of: UInt8(ascii: "/"))
    folder = slash.map { String(text[..<$0]) } ?? ""
    beginning = slash.map { String(text[text.utf8.index(after: $0)...]) } ?? text
    // An address is no folder before a slash.
    guard slash == nil || ObjectName.isUsable(folder) else { return nil }
    description = folder.isEmpty ? beginning : "\(folder)/\(beginning)"
    // Any letter after it makes it a name, even after `` and `.`.
    guard ObjectName.isUsable(beginning + "x") else { return nil }
  }

  package init?(folder: String) { self.init(folder.isEmpty ? "" : folder + "/") }

  package func holds(_ name: ObjectName) -> Bool {
    let (all, start) = (name.text.utf8, description.utf8)
    return all.starts(with: start) && !all.dropFirst(start.count).contains(UInt8(ascii: "/"))
  }

  /// Returns the name of an object in the folder; nil if it is invalid or lacks the prefix.
  package func name(of last: String) -> ObjectName? {
    guard last.utf8.starts(with: beginning.utf8), !last.utf8.contains(UInt8(ascii: "/")) else {
      return nil
    }
    return ObjectName(folder.isEmpty ? last : "\(folder)/\(last)")
  }

  package static func == (a: ObjectPrefix, b: ObjectPrefix) -> Bool {
    a.description.utf8.elementsEqual(b.description.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in description.utf8 { hasher.combine(byte) }
  }
}
