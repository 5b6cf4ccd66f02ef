internal import CCrypto

/// Base64 of RFC 4648, padded, without line breaks, in pieces of any size.
package enum Base64 {
  package static func text(_ bytes: [UInt8]) -> String {
    var (encoder, out) = (Encoder(), [UInt8]())
    bytes.withUnsafeBytes { encoder.encode($0, into: &out) }
    encoder.finish(into: &out)
    return String(decoding: out, as: UTF8.self)
  }

  private static let invalid: UInt8 = 0xFF
  private static let values: [UInt8] = {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    var values = [UInt8](repeating: invalid, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  /// Turns text into bytes; characters that do not fill a group of four wait for the next piece.
  package struct Decoder {
    private var group: UInt32 = 0
    private var inGroup = 0
    private var padding = 0

    package init() {}

    /// Appends the decoded bytes; false for anything that is not base64.
    package mutating func decode(_ text: UnsafeRawBufferPointer, into out: inout [UInt8]) -> Bool {
      guard !text.isEmpty else { return true }
      out.reserveCapacity(out.count + text.count / 4 * 3 + 3)
      var index = 0
      while inGroup != 0 || padding != 0, index < text.count {
        guard decodeOne(text[index], into: &out) else { return false }
        index += 1
      }
      let whole = Base64.values.withUnsafeBufferPointer { values in
        decodeGroups(text, from: index, values, into: &out)
      }
      index += whole
      while index < text.count {
        guard decodeOne(text[index], into: &out) else { return false }
        index += 1
      }
      return true
    }

    /// Decodes whole groups without padding; returns the number of characters that it read.
    private func decodeGroups(
      _ text: UnsafeRawBufferPointer, from start: Int, _ values: UnsafeBufferPointer<UInt8>,
      into out: inout [UInt8]
    ) -> Int {
      let groups = (text.count - start) / 4
      guard groups > 0, inGroup == 0, padding == 0 else { return 0 }
      var done = 0
      let decoded = [UInt8](unsafeUninitializedCapacity: groups * 3) { buffer, used in
        while done < groups {
          let at = start + done * 4
          let a = values[Int(text[at])]
          let b = values[Int(text[at + 1])]
          let c = values[Int(text[at + 2])]
          let d = values[Int(text[at + 3])]
          if (a | b | c | d) == Base64.invalid { break }
          buffer[done * 3] = a << 2 | b >> 4
          buffer[done * 3 + 1] = b << 4 | c >> 2
          buffer[done * 3 + 2] = c << 6 | d
          done += 1
        }
        used = done * 3
      }
      out.append(contentsOf: decoded)
      return done * 4
    }

    private mutating func decodeOne(_ character: UInt8, into out: inout [UInt8]) -> Bool {
      if character == UInt8(ascii: "=") {
        padding += 1
        guard inGroup >= 2, inGroup + padding <= 4 else { return false }
        guard inGroup + padding == 4 else { return true }
        // Padding leaves spare bits; they must be zero, so that equal bytes have one text.
        let spare = UInt32(inGroup == 2 ? 0xF : 0x3)
        guard group & spare == 0 else { return false }
        if inGroup == 2 {
          out.append(UInt8(truncatingIfNeeded: group >> 4))
        } else {
          out.append(UInt8(truncatingIfNeeded: group >> 10))
          out.append(UInt8(truncatingIfNeeded: group >> 2))
        }
        return true
      }
      let value = Base64.values[Int(character)]
      guard value != Base64.invalid, padding == 0 else { return false }
      group = group << 6 | UInt32(value)
      inGroup += 1
      if inGroup == 4 {
        out.append(UInt8(truncatingIfNeeded: group >> 16))
        out.append(UInt8(truncatingIfNeeded: group >> 8))
        out.append(UInt8(truncatingIfNeeded: group))
        group = 0
        inGroup = 0
      }
      return true
    }

    package var isComplete: Bool { inGroup == 0 && padding == 0 || inGroup + padding == 4 }
  }

  package struct Encoder {
    private var pending: [UInt8] = []

    package init() {}

    /// Appends the text of all whole groups.
    package mutating func encode(_ bytes: UnsafeRawBufferPointer, into out: inout [UInt8]) {
      pending.append(contentsOf: bytes)
      append(pending.count / 3 * 3, to: &out)
    }

    /// Appends the text of the remaining one or two bytes, padded.
    package mutating func finish(into out: inout [UInt8]) { append(pending.count, to: &out) }

    private mutating func append(_ count: Int, to out: inout [UInt8]) {
      // With the NUL that EVP_EncodeBlock adds.
      let length = (count + 2) / 3 * 4 + 1
      out.append(
        contentsOf: [UInt8](unsafeUninitializedCapacity: length) { text, used in
          used = Int(EVP_EncodeBlock(text.baseAddress, pending, Int32(count)))
        })
      pending.removeFirst(count)
    }
  }
}
