internal import Platform

/// Percent-encoding of the parts of a URL (RFC 3986).
enum PercentCoding {
  /// Encodes all bytes except letters, digits, `-`, `.`, `_`, `~` and, if `keepingSlashes`, slashes.
  static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
    let marks: StaticString = keepingSlashes ? "-._~/" : "-._~"
    let out = text.utf8.reduce(into: []) { PercentCode.append($1, marks, to: &$0) }
    return String(decoding: out, as: UTF8.self)
  }

  /// Decodes a text; nil for a bad escape or bytes that are not UTF-8. `plusIsSpace` is for forms.
  static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    PercentCode.decoded(text.utf8, plusIsSpace: plusIsSpace)
      .flatMap { String(validating: $0, as: UTF8.self) }
  }
}
