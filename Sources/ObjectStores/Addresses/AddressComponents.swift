struct AddressComponents {
  var host: String
  var port: UInt16?
  /// From the first slash on; empty without a slash.
  var path: String
  var query: [(name: String, value: String)] = []

  /// Reads the text after `SCHEME:`.
  /// - Throws: ``RemoteError`` with `invalid`; `form` is how it should look.
  init(_ rest: Substring, _ form: String) throws(RemoteError) {
    guard rest.hasPrefix("//") else { throw RemoteAddress.wrong("write \(form)") }
    guard !rest.contains("#") else { throw RemoteAddress.wrong("a # in a path is written %23") }
    let whole = rest.dropFirst(2)
    let question = whole.firstIndex(of: "?") ?? whole.endIndex
    let slash = whole[..<question].firstIndex(of: "/") ?? question
    (host, port) = try Self.authority(whole[..<slash], form)
    guard let path = PercentCoding.decode(whole[slash..<question]) else {
      throw RemoteAddress.wrong("a % in a path is written %25")
    }
    guard !Self.hasControls(path) else {
      throw RemoteAddress.wrong("a path has no control characters")
    }
    self.path = path
    for pair in whole[question...].dropFirst().split(separator: "&") {
      let equals = pair.firstIndex(of: "=") ?? pair.endIndex
      guard let name = PercentCoding.decode(pair[..<equals]),
        let value = PercentCoding.decode(pair[equals...].dropFirst()), !value.isEmpty,
        !Self.hasControls(value)
      else { throw RemoteAddress.wrong("\"\(pair)\" is not NAME=VALUE") }
      guard !query.contains(where: { $0.name == name }) else {
        throw RemoteAddress.wrong("\(name)= is there twice")
      }
      query.append((name: name, value: value))
    }
  }

  private static func hasControls(_ text: String) -> Bool {
    text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
  }

  private static func authority(
    _ text: Substring, _ form: String
  ) throws(RemoteError) -> (String, UInt16?) {
    guard !text.contains("@") else {
      throw RemoteAddress.wrong(
        "credentials do not belong in an address, which is shown and kept where others read it; "
          + "write \(form)")
    }
    var host = text
    var rest = text[text.endIndex...]
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      host = text[...end]
      rest = text[end...].dropFirst()
      let inside = host.dropFirst().dropLast()
      guard inside.contains(":"), inside.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." })
      else { throw RemoteAddress.wrong("\"\(host)\" is not an IPv6 address") }
    } else {
      if let colon = text.firstIndex(of: ":") {
        host = text[..<colon]
        rest = text[colon...]
      }
      guard !host.isEmpty, !host.hasPrefix("-"),
        host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) })
      else {
        throw RemoteAddress.wrong(
          host.isEmpty
            ? "the host is missing: write \(form)" : "\"\(host)\" is not a valid host name")
      }
    }
    guard !rest.isEmpty else { return (String(host), nil) }
    guard rest.hasPrefix(":"), rest.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }),
      let port = UInt16(rest.dropFirst()), port > 0
    else { throw RemoteAddress.wrong("\"\(rest)\" is not a port") }
    return (String(host), port)
  }
}
