package import LLVSCore
import Platform

/// The escaped names of keys that cannot be shown at their own path.
///
/// The name is `%llvs%` and the whole key, with every byte outside `A-Za-z0-9._-` as `%XX`. Over 255 bytes, it is
/// its beginning, `%~` and 32 hex digits of the key's SHA-256. `%~1`, `%~2` ... distinguish equal names.
package enum DisplacedName {
  package static let prefix = Array("%llvs%".utf8)
  private static let marks: StaticString = "._-"
  private static let limit = 255
  /// The length of the beginning of a long name, before the hash and `%~` with a number.
  private static let headLimit = 200

  /// Returns the name to try after `index` names in use.
  package static func candidate(_ index: Int, for key: Key) -> [UInt8] {
    var name = prefix
    for byte in key.bytes {
      PercentCode.append(byte, marks, to: &name)
      if name.count > limit { break }
    }
    let suffix = index == 0 ? [] : Array("%~\(index)".utf8)
    guard name.count + suffix.count > limit else { return name + suffix }
    let hash = Array(Digest.of(key.bytes).hex.utf8.prefix(32))
    return Array(name[..<headLimit]) + Array("%~".utf8) + hash + suffix
  }

  /// Decodes a name to its key; nil if it is no such name, or has only a hash of the key.
  package static func key(of name: [UInt8]) -> Key? {
    guard name.starts(with: prefix) else { return nil }
    var bytes: [UInt8] = []
    var index = prefix.count
    while index < name.count {
      let byte = name[index]
      if byte == 0x25 {
        guard index + 1 < name.count else { return nil }
        if name[index + 1] == 0x7E { break }
        guard index + 2 < name.count, let high = PercentCode.value(name[index + 1]),
          let low = PercentCode.value(name[index + 2])
        else { return nil }
        bytes.append(high << 4 | low)
        index += 3
      } else {
        guard byte.isPlain(marks) else { return nil }
        bytes.append(byte)
        index += 1
      }
    }
    // Up to 12 bytes are `%~` and a number; more are a hash.
    guard name.count - index <= 12 else { return nil }
    return Key(bytes: bytes)
  }

  /// True if a path component can be the name of a file.
  package static func isName(_ component: some Collection<UInt8>) -> Bool {
    guard !component.isEmpty, component.count <= 255, !component.contains(0) else { return false }
    if component.first == 0x2E {
      if component.count == 1 || component.elementsEqual([0x2E, 0x2E]) { return false }
      if component.elementsEqual(ReservedName.bytes) { return false }
    }
    return true
  }
}
