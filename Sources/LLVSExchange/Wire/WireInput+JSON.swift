// JSON strictly as RFC 8259 defines it: one value for each file, valid UTF-8, no lone surrogates, a bounded depth.

import LLVSCore
internal import Platform

extension WireInput {
  func peek() throws(StoreError) -> UInt8 {
    while try refill() {
      switch buffer[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      case let byte: return byte
      }
    }
    throw malformed("the file ends too early")
  }

  func skip(past byte: UInt8) throws(StoreError) {
    guard try peek() == byte else {
      throw malformed("\"\(Character(Unicode.Scalar(byte)))\" is missing")
    }
    position += 1
  }

  /// Skips a byte order mark, which some programs write before JSON.
  func skipByteOrderMark() throws(StoreError) {
    guard try peek() == 0xEF else { return }
    guard try next() == 0xEF, try next() == 0xBB, try next() == 0xBF else {
      throw malformed("what begins here is not JSON")
    }
  }

  func finish() throws(StoreError) {
    while try refill() {
      switch buffer[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: throw malformed("something follows the end")
      }
    }
  }

  /// Reads an object; the body reads the value of each member that is in `names`, which appears once.
  func object(_ names: [String], _ body: (String) throws(StoreError) -> Void) throws(StoreError) {
    var found: [String] = []
    try members("{", "}") { () throws(StoreError) in
      let name = String(decoding: try string(atMost: 4096), as: UTF8.self)
      try skip(past: UInt8(ascii: ":"))
      guard names.contains(name) else { return try skipValue() }
      guard !found.contains(name) else { throw malformed("\(name) appears twice") }
      found.append(name)
      try body(name)
    }
  }

  func array(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try members("[", "]", body)
  }

  private func members(
    _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    let (open, close) = (UInt8(ascii: open), UInt8(ascii: close))
    try skip(past: open)
    depth += 1
    guard depth <= WireInput.maximumDepth else {
      throw malformed("nested deeper than \(WireInput.maximumDepth)")
    }
    var byte = try peek()
    if byte == close {
      position += 1
    } else {
      repeat {
        try body()
        byte = try peek()
        guard byte == UInt8(ascii: ",") || byte == close else {
          throw malformed("neither \",\" nor \"\(Character(Unicode.Scalar(close)))\"")
        }
        position += 1
      } while byte != close
    }
    depth -= 1
  }

  /// Consumes `null`; false if the next value is another.
  func null() throws(StoreError) -> Bool {
    guard try peek() == UInt8(ascii: "n") else { return false }
    try literal("null")
    return true
  }

  private func literal(_ text: StaticString) throws(StoreError) {
    for index in 0..<text.utf8CodeUnitCount {
      guard try next() == text.utf8Start[index] else { throw malformed("this is not JSON") }
    }
  }

  /// Returns the text of a number, checked against JSON's grammar.
  func number() throws(StoreError) -> String {
    _ = try peek()
    var text: [UInt8] = []
    while try refill() {
      let byte = buffer[position]
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
        UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
        guard text.count < 128 else { throw malformed("a number of more than 128 characters") }
        text.append(byte)
        position += 1
        continue
      default: break
      }
      break
    }
    let isNumber = text.withUnsafeBufferPointer { bytes in
      var scanner = JSONScanner(bytes)
      return scanner.takeNumber() && scanner.next == nil
    }
    guard isNumber else { throw malformed("a number is missing") }
    return String(decoding: text, as: UTF8.self)
  }

  func skipValue() throws(StoreError) {
    switch try peek() {
    case UInt8(ascii: "{"): try object([]) { (_) in }
    case UInt8(ascii: "["): try array { () throws(StoreError) in try skipValue() }
    case UInt8(ascii: "\""): try stringPieces { (_) in }
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    default: _ = try number()
    }
  }
}
