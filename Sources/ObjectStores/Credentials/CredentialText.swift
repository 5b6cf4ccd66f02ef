enum CredentialText {
  /// A file of secrets: `user=`, `password=`, `access_key=`, `secret_key=`, `session_token=`, or `command=`.
  struct Lines {
    var credentials = RemoteCredentials()
    var command: String?
  }

  /// Reads a file of secrets; lines may be empty or begin with `#`.
  /// - Throws: ``RemoteError`` with `invalid`, which contains only the line's number.
  static func lines(_ bytes: [UInt8], of file: String) throws(RemoteError) -> Lines {
    var lines = Lines()
    for (index, line) in text(bytes).enumerated() {
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      func wrong(_ words: String) -> RemoteError {
        RemoteError(.invalid, "line \(index + 1) of \(file) \(words)")
      }
      guard let equals = line.firstIndex(of: "=") else { throw wrong("is not NAME=VALUE") }
      let value = String(line[equals...].dropFirst())
      guard !value.isEmpty, !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw wrong("has no value, or one with control characters")
      }
      switch line[..<equals] {
      case "user": lines.credentials.user = value
      case "password": lines.credentials.password = value
      case "access_key": lines.credentials.accessKey = value
      case "secret_key": lines.credentials.secretKey = value
      case "session_token": lines.credentials.sessionToken = value
      case "command": lines.command = value
      default:
        throw wrong(
          "has a name that is none of user, password, access_key, secret_key, session_token, command"
        )
      }
    }
    return lines
  }

  private static func text(_ bytes: [UInt8]) -> [Substring] {
    String(decoding: bytes, as: UTF8.self)
      .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(trimmed)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var rest = text
    while rest.last == " " || rest.last == "\t" { rest.removeLast() }
    while rest.first == " " || rest.first == "\t" { rest.removeFirst() }
    return rest
  }

  /// Returns the settings of a section of a file in `~/.aws`.
  static func section(_ names: Set<String>, of bytes: [UInt8]) -> [String: String] {
    var settings: [String: String] = [:]
    var isIn = false
    for line in text(bytes) {
      if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
        isIn = names.contains(String(trimmed(line[..<end].dropFirst())))
      } else if isIn, !line.hasPrefix("#"), !line.hasPrefix(";"),
        let equals = line.firstIndex(of: "=")
      {
        settings[trimmed(line[..<equals]).lowercased()] =
          String(trimmed(line[equals...].dropFirst()))
      }
    }
    return settings
  }

  /// Returns the login and password for a host in a `.netrc` (netrc(5)).
  static func netrc(_ bytes: [UInt8], host: String) -> RemoteCredentials? {
    // Macros extend to the next empty line and may contain anything.
    var plain: [Substring] = []
    var isMacro = false
    for line in text(bytes) {
      if line.hasPrefix("macdef") { isMacro = true }
      if !isMacro, !line.hasPrefix("#") { plain.append(line) }
      if line.isEmpty { isMacro = false }
    }
    var words = plain.flatMap { $0.split(whereSeparator: \.isWhitespace) }[...]
    var found = RemoteCredentials()
    var isIn = false
    while let word = words.popFirst() {
      switch word {
      case "machine":
        if found.user != nil, found.password != nil { return found }
        found = RemoteCredentials()
        isIn = words.popFirst()?.lowercased() == host.lowercased()
      case "default":
        if found.user != nil, found.password != nil { return found }
        isIn = true
      case "login":
        let value = words.popFirst().map(String.init)
        if isIn { found.user = value }
      case "password":
        let value = words.popFirst().map(String.init)
        if isIn { found.password = value }
      case "account": _ = words.popFirst()
      default: break
      }
    }
    return found.user != nil && found.password != nil ? found : nil
  }
}
