import LLVSCore

/// The lengths of a place's files in the original's format, by the numbers of their versions here.
///
/// A store notes the lengths that it wrote, or saw first. Each send compares them with the list, and reads a version
/// with another length.
struct FileLengths {
  /// A word for both files of a version; 0 if their lengths are not known.
  private var words: [UInt32]

  /// Reads ``bytes``; other bytes are no lengths.
  init(_ bytes: [UInt8]) {
    words = stride(from: 0, to: bytes.count - bytes.count % 4, by: 4).map { start in
      bytes[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
  }

  var bytes: [UInt8] {
    words.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
  }

  static func word(changes: UInt64, version: UInt64) -> UInt32 {
    max(1, UInt32(truncatingIfNeeded: changes &* 31 &+ version))
  }

  subscript(number: VersionNumber) -> UInt32 {
    get { Int(number.rawValue) < words.count ? words[Int(number.rawValue)] : 0 }
    set {
      let index = Int(number.rawValue)
      if index >= words.count { words += [UInt32](repeating: 0, count: index + 1 - words.count) }
      words[index] = newValue
    }
  }
}
