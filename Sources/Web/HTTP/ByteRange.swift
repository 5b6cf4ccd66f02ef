/// The requested part of a value (RFC 9110, section 14).
package enum ByteRange: Equatable, Sendable {
  case whole
  /// The bytes from an offset, at least one.
  case part(offset: UInt64, count: UInt64)
  /// No byte of the value.
  case unsatisfiable

  /// Reads the field `Range`; several ranges and other units count as no range.
  package init(_ field: String?, length: UInt64) {
    self = .whole
    guard let field, field.hasPrefix("bytes=") else { return }
    let words = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard words.count == 2, words.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } })
    else { return }
    if words[0].isEmpty {
      guard let last = UInt64(words[1]) else { return }
      let count = min(last, length)
      self = count == 0 ? .unsatisfiable : .part(offset: length - count, count: count)
      return
    }
    guard let first = UInt64(words[0]) else { return }
    let last = words[1].isEmpty ? UInt64.max : UInt64(words[1])
    guard let last, last >= first else { return }
    self =
      first >= length
      ? .unsatisfiable : .part(offset: first, count: min(last, length - 1) - first + 1)
  }
}
