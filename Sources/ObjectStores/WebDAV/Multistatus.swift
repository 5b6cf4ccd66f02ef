/// The answer to PROPFIND (RFC 4918 section 9.1): the content of a folder.
struct Multistatus {
  struct Entry {
    /// A path or a whole URL, encoded.
    var href = ""
    var isFolder = false
    var length: UInt64?
    var modified: Int64?

    /// The decoded path, without a slash at its end.
    var path: String? {
      var rest = href[...]
      if !rest.hasPrefix("/"), let colon = rest.firstIndex(of: ":") {
        let behind = rest[colon...].dropFirst()
        guard behind.hasPrefix("//") else { return nil }
        rest = behind.dropFirst(2).firstIndex(of: "/").map { rest[$0...] } ?? "/"
      }
      while rest.count > 1, rest.hasSuffix("/") { rest = rest.dropLast() }
      return PercentCoding.decode(rest)
    }
  }

  static let question = Array(
    """
    <?xml version="1.0" encoding="utf-8"?>\
    <propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/></prop></propfind>
    """.utf8)

  /// Reads an answer by the elements' namespaces; ignores properties whose status is not 200.
  static func read(
    _ answer: ResponseSpool, _ take: (Entry) throws(RemoteError) -> Void
  ) throws(RemoteError) {
    var entry = Entry()
    var (found, status) = (Entry(), "")
    var isMultistatus = false
    try answer.read(
      start: { name, isDAV in
        guard isDAV else { return }
        if name == "response" { entry = Entry() }
        if name == "propstat" { (found, status) = (Entry(), "") }
        if name == "collection" { found.isFolder = true }
      },
      end: { (name, isDAV, text) throws(RemoteError) in
        guard isDAV else { return }
        switch name {
        case "multistatus": isMultistatus = true
        case "href": if entry.href.isEmpty { entry.href = trimmed(text) }
        case "getcontentlength": found.length = UInt64(trimmed(text))
        case "getlastmodified": found.modified = ServerTime.http(trimmed(text))
        case "status": status = text
        case "propstat":
          guard status.split(separator: " ").dropFirst().first == "200" else { return }
          entry.isFolder = entry.isFolder || found.isFolder
          entry.length = found.length ?? entry.length
          entry.modified = found.modified ?? entry.modified
        case "response": try take(entry)
        default: break
        }
      })
    guard isMultistatus else { throw RemoteError(.malformed, "the answer is not a WebDAV list") }
  }

  private static func trimmed(_ text: String) -> String {
    var rest = text[...]
    while rest.first?.isWhitespace == true { rest.removeFirst() }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }
}
