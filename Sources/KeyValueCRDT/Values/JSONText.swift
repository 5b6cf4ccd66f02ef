internal import Platform

/// Not SQLite's `json_valid`, because some versions accept JSON5.
package enum JSONText {
  /// - Complexity: O(*n*); nesting takes a bit a level, not a call.
  static func isValid(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isValid($0) }
  }

  /// True if valid UTF-8 is one JSON value with blanks around it.
  package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var scanner = JSONScanner(bytes)
    /// The open arrays (false) and objects (true), outermost first.
    var open: [Bool] = []
    while true {
      scanner.skipBlanks()
      // Before a value.
      let isObject = scanner.take("{")
      if isObject || scanner.take("[") {
        scanner.skipBlanks()
        if !scanner.take(isObject ? "}" : "]") {
          open.append(isObject)
          guard !isObject || takeName(&scanner) else { return false }
          continue
        }
      } else if !scanner.takeScalar() {
        return false
      }
      // After a value.
      while true {
        scanner.skipBlanks()
        guard let isObject = open.last else { return scanner.next == nil }
        if scanner.take(",") {
          scanner.skipBlanks()
          guard !isObject || takeName(&scanner) else { return false }
          break
        }
        guard scanner.take(isObject ? "}" : "]") else { return false }
        open.removeLast()
      }
    }
  }

  private static func takeName(_ scanner: inout JSONScanner) -> Bool {
    guard scanner.takeString() else { return false }
    scanner.skipBlanks()
    return scanner.take(":")
  }
}
