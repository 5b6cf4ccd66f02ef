internal import Foundation
internal import Platform

/// Keys of paths and paths of keys (docs/merging.md, M13).
///
/// A path that is valid UTF-8 in NFC by Unicode 15.0, of assigned code points only, is its own key; the key of any
/// other path is `%llvs%` and the path with escapes. A key never depends on other keys.
package enum KeyCoding {
  private static let prefix = Array("%llvs%".utf8)

  package static func key(ofPath path: [UInt8]) -> Key {
    isPlain(path) ? Key(bytes: path) : Key(bytes: escaped(path))
  }

  /// Returns the path that a key encodes; nil if the key is literal: then its bytes are the path.
  package static func path(of key: Key) -> [UInt8]? {
    if isPlain(key.bytes) { return key.bytes }
    guard let path = unescape(key.bytes), !isPlain(path), escaped(path) == key.bytes else {
      return nil
    }
    return path
  }

  private static func isPlain(_ path: [UInt8]) -> Bool {
    if path.starts(with: prefix) { return false }
    if path.allSatisfy({ $0 < 0x80 }) { return true }
    guard let text = String(validating: path, as: UTF8.self) else { return false }
    return text.unicodeScalars.allSatisfy(isAssigned)
      && text.precomposedStringWithCanonicalMapping.utf8.elementsEqual(path)
  }

  /// True for code points of Unicode 15.0, for which newer tables give the same NFC.
  private static func isAssigned(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    guard properties.generalCategory != .unassigned, let age = properties.age else { return false }
    return (age.major, age.minor) <= (15, 0)
  }

  /// Returns the escaped form of a path or of the beginning of one, even if it needs no escapes.
  package static func escaped(_ path: [UInt8]) -> [UInt8] {
    var key = prefix
    key.reserveCapacity(prefix.count + 3 * path.count)
    for byte in path { PercentCode.append(byte, "._/-", to: &key) }
    return key
  }

  private static func unescape(_ key: [UInt8]) -> [UInt8]? {
    guard key.starts(with: prefix) else { return nil }
    var path: [UInt8] = []
    var rest = key.dropFirst(prefix.count)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        path.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(PercentCode.value),
        let low = rest.popFirst().flatMap(PercentCode.value)
      else { return nil }
      path.append(high << 4 | low)
    }
    return path
  }
}
