// Strings in pieces: unescaped text in the buffer is passed on without copying.

import LLVSCore

extension WireInput {
  func string(atMost bound: Int) throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    try stringPieces { (piece) throws(StoreError) in
      guard piece.count <= bound - bytes.count else {
        throw malformed("a string of more than \(bound) bytes")
      }
      bytes.append(contentsOf: piece)
    }
    guard bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil else {
      throw malformed("a string is not UTF-8")
    }
    return bytes
  }

  /// Decodes a string of base64 in pieces.
  func base64(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    var decoder = Base64.Decoder()
    var out: [UInt8] = []
    try stringPieces { (piece) throws(StoreError) in
      out.removeAll(keepingCapacity: true)
      guard decoder.decode(piece, into: &out) else { throw malformed("what is here is not base64") }
      guard !out.isEmpty else { return }
      try out.withPiece(body)
    }
    guard decoder.isComplete else { throw malformed("base64 that ends too early") }
  }

  /// Calls the body with the unescaped bytes of a string, which may not be UTF-8, piece by piece.
  func stringPieces(
    _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    try skip(past: UInt8(ascii: "\""))
    while true {
      guard try refill() else { throw malformed("a string has no end") }
      let start = position
      let stop = buffer.withUnsafeBufferPointer { bytes in
        var index = start
        while index < end, bytes[index] != 0x22, bytes[index] != 0x5C, bytes[index] >= 0x20 {
          index += 1
        }
        return index
      }
      if stop > start {
        try buffer.withPiece { (raw) throws(StoreError) in
          try body(UnsafeRawBufferPointer(rebasing: raw[start..<stop]))
        }
        position = stop
        continue
      }
      switch try next() {
      case 0x22: return
      case 0x5C:
        var text: [UInt8] = []
        text.append(contentsOf: String(Character(try escape())).utf8)
        try text.withPiece(body)
      default: throw malformed("a control character in a string")
      }
    }
  }

  private func escape() throws(StoreError) -> Unicode.Scalar {
    switch try next() {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: throw malformed("an escape that JSON does not have")
    }
    let first = try hexUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, try next() == UInt8(ascii: "\\"), try next() == UInt8(ascii: "u") else {
      throw malformed("half of a surrogate pair")
    }
    let second = try hexUnit()
    guard (0xDC00..<0xE000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    else { throw malformed("half of a surrogate pair") }
    return scalar
  }

  private func hexUnit() throws(StoreError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(try next())).hexDigitValue else {
        throw malformed("an escape without four hex digits")
      }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }
}
