internal import CZlib

/// Writes bytes as `git diff --binary` does: the whole new side, then the old, deflated, in base 85.
enum GitBinaryPatch {
  /// The most bytes on either side that are written.
  static let limit: UInt64 = 32 << 20

  /// Appends the lines for replaced bytes; uses twice their memory.
  static func write(from old: [UInt8], to new: [UInt8], into out: inout [UInt8]) {
    out += "GIT binary patch\n".utf8
    for bytes in [new, old] {
      out += "literal \(bytes.count)\n".utf8
      write(deflated(bytes), into: &out)
      out.append(0x0A)
    }
  }

  private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(compressBound(uLong(bytes.count)))) { target, count in
      var length = uLong(target.count)
      let code = compress2(
        target.baseAddress, &length, bytes, uLong(bytes.count), Z_DEFAULT_COMPRESSION)
      // The buffer has the largest possible size; only memory could be short.
      precondition(code == Z_OK, "compress2 ended with \(code)")
      count = Int(length)
    }
  }

  private static let letters = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~".utf8)

  /// Writes lines of 52 bytes: a letter for the length (A to Z, a to z), five letters per four bytes.
  private static func write(_ bytes: [UInt8], into out: inout [UInt8]) {
    out.reserveCapacity(out.count + bytes.count * 5 / 4 + bytes.count / 26 + 16)
    var start = 0
    while start < bytes.count {
      let end = min(start + 52, bytes.count)
      let count = UInt8(end - start)
      out.append(count <= 26 ? 0x40 + count : 0x60 + count - 26)
      while start < end {
        var word: UInt32 = 0
        for index in start..<(start + 4) {
          word = word << 8 | UInt32(index < end ? bytes[index] : 0)
        }
        var divisor: UInt32 = 85 * 85 * 85 * 85
        for _ in 0..<5 {
          out.append(letters[Int(word / divisor % 85)])
          divisor /= 85
        }
        start += 4
      }
      start = end
      out.append(0x0A)
    }
  }
}
