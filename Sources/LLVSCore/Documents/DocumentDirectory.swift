/// The directory of a tree whose files are the values of a KeyValueCRDT document.
package struct DocumentDirectory: Hashable, Comparable, Sendable {
  /// The path from the top of the tree, without a slash at either end; empty for the whole tree.
  package let path: [UInt8]

  package init(path: [UInt8]) { self.path = path }

  package func relativePath(of key: Key) -> [UInt8]? {
    let whole: [UInt8]
    if key.bytes.first == UInt8(ascii: "%") {
      whole = KeyCoding.path(of: key) ?? key.bytes
    } else {
      whole = key.bytes
    }
    if path.isEmpty { return whole }
    guard whole.count >= path.count + 1, whole[path.count] == UInt8(ascii: "/"),
      whole.starts(with: path)
    else { return nil }
    return Array(whole[(path.count + 1)...])
  }

  package func contains(_ key: Key) -> Bool { relativePath(of: key) != nil }

  package func key(ofRelativePath relative: [UInt8]) -> Key {
    KeyCoding.key(ofPath: path.isEmpty ? relative : path + [UInt8(ascii: "/")] + relative)
  }

  /// Returns true if one of two directories is, or contains, the other.
  package func overlaps(_ other: DocumentDirectory) -> Bool {
    func contains(_ a: [UInt8], _ b: [UInt8]) -> Bool {
      a.isEmpty || a == b || b.starts(with: a + [UInt8(ascii: "/")])
    }
    return contains(path, other.path) || contains(other.path, path)
  }

  /// The prefixes of all keys below the directory; the keys of each prefix are adjacent in the map.
  var prefixes: [[UInt8]] {
    path.isEmpty ? [[]] : [path + [UInt8(ascii: "/")], Array("%llvs%".utf8)]
  }

  package static func < (a: DocumentDirectory, b: DocumentDirectory) -> Bool {
    a.path.lexicographicallyPrecedes(b.path)
  }
}
