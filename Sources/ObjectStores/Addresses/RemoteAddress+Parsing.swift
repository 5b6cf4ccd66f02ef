extension RemoteAddress {
  package static let longest = 4096

  /// - Throws: ``RemoteError`` with `invalid`; its words show the form of an address.
  package init(_ text: String) throws(RemoteError) {
    guard text.utf8.count <= Self.longest else {
      throw Self.wrong("an address has at most \(Self.longest) bytes")
    }
    try Self.checkCharacters(of: text)
    let (form, place) = DirectoryForm.split(text)
    if form != .any {
      guard case .directory(let path, .any) = try RemoteAddress(place) else {
        throw Self.wrong(
          "\(form.rawValue) goes before a directory; an empty remote of another kind gets bundles")
      }
      self = .directory(path: path, form: form)
      return
    }
    if text.hasPrefix("/") {
      self = try Self.readDirectory(text)
      return
    }
    guard let colon = text.firstIndex(of: ":") else {
      throw Self.wrong(
        "\"\(text)\" is not an address: a directory is written with its whole path, from / on")
    }
    let scheme = text[..<colon].lowercased()
    let rest = text[text.index(after: colon)...]
    switch scheme {
    case "rclone": self = try Self.readRclone(String(rest))
    case "file": self = try Self.file(rest)
    case "s3": self = .s3(try Self.amazon(try AddressComponents(rest, "s3://BUCKET/PREFIX")))
    case "s3+https", "s3+http":
      self = .s3(
        try Self.otherS3(
          try AddressComponents(rest, "\(scheme)://HOST/BUCKET/PREFIX"),
          isEncrypted: scheme == "s3+https"))
    case "https+webdav", "http+webdav":
      self = .webDAV(
        try Self.webDAV(
          try AddressComponents(rest, "\(scheme)://HOST/PATH"),
          isEncrypted: scheme == "https+webdav"))
    case "https", "http", "webdav", "webdavs", "dav", "davs":
      throw Self.wrong("a folder of a WebDAV server is written https+webdav://HOST/PATH")
    default:
      throw Self.wrong(
        "there is no kind of remote called \(scheme): addresses begin with /, s3://, s3+https://, "
          + "https+webdav:// or rclone:")
    }
  }

  private static func checkCharacters(of text: String) throws(RemoteError) {
    guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw wrong("an address has no line ends and no other control characters")
    }
  }

  static func wrong(_ words: String) -> RemoteError { RemoteError(.invalid, words) }

  private static func readDirectory(_ path: String) throws(RemoteError) -> RemoteAddress {
    guard path.utf8.contains(where: { $0 != UInt8(ascii: "/") }) else {
      throw wrong("the top of all directories cannot be a remote")
    }
    // With escapes it would be printed as an address that cannot be parsed.
    try checkCharacters(of: path)
    return .directory(path: path, form: .any)
  }

  private static func file(_ rest: Substring) throws(RemoteError) -> RemoteAddress {
    guard rest.hasPrefix("///"), let path = PercentCoding.decode(rest.dropFirst(2)) else {
      throw wrong("a file address is written file:///PATH")
    }
    return try readDirectory(path)
  }

  private static func readRclone(_ place: String) throws(RemoteError) -> RemoteAddress {
    // `:local:` and the like are remotes that need no configuration.
    let start = place.hasPrefix(":") ? place.index(after: place.startIndex) : place.startIndex
    guard let colon = place[start...].firstIndex(of: ":"), colon > start else {
      throw wrong(
        "a remote of rclone is written rclone:REMOTE:PATH, where REMOTE is a name of "
          + "\"rclone listremotes\"")
    }
    let remote = place[start..<colon]
    guard !remote.contains(where: { ",=/'\"".contains($0) }), !remote.hasPrefix("-") else {
      throw wrong(
        "options of a remote belong in rclone's own configuration (\"rclone config\"), not in an "
          + "address")
    }
    // rclone writes to such a path, and its own server redirects each GET of it.
    let parts = place[colon...].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard !parts.contains(".."), !parts.contains("."), !parts.dropFirst().dropLast().contains("")
    else { throw wrong("\"\(place)\" is not a path: it has an empty part, . or ..") }
    return .rclone(place)
  }

  private static func amazon(_ url: AddressComponents) throws(RemoteError) -> S3Address {
    guard url.port == nil else { throw wrong("a bucket has no port") }
    var address = S3Address(S3Location(bucket: try bucket(url.host), prefix: try place(url.path)))
    try take(url.query, into: &address)
    return address
  }

  private static func otherS3(
    _ url: AddressComponents, isEncrypted: Bool
  ) throws(RemoteError) -> S3Address {
    let path = try place(url.path)
    let slash = path.firstIndex(of: "/") ?? path.endIndex
    var address = S3Address(
      S3Location(
        isEncrypted: isEncrypted, host: url.host.lowercased(), port: url.port,
        bucket: try bucket(String(path[..<slash])), prefix: String(path[slash...].dropFirst())))
    try take(url.query, into: &address)
    guard isEncrypted || address.certificates == nil else {
      throw wrong("ca= is for s3+https://")
    }
    return address
  }

  private static func take(
    _ query: [(name: String, value: String)], into address: inout S3Address
  ) throws(RemoteError) {
    for (name, value) in query {
      switch name {
      case "region": address.region = value
      case "profile": address.profile = value
      case "ca": address.certificates = try certificates(value)
      default: throw unknown(name, "region, profile and ca")
      }
    }
    // It becomes a part of the host's name.
    guard let region = address.region else { return }
    guard region.utf8.count <= 64, region.first != "-",
      region.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
    else { throw wrong("\"\(region)\" is not a region") }
  }

  private static func webDAV(
    _ url: AddressComponents, isEncrypted: Bool
  ) throws(RemoteError) -> WebDAVAddress {
    var address = WebDAVAddress(
      WebDAVLocation(
        isEncrypted: isEncrypted, host: url.host.lowercased(), port: url.port,
        path: try place(url.path)))
    for (name, value) in url.query {
      switch (name, isEncrypted) {
      case ("ca", true): address.certificates = try certificates(value)
      case ("insecure", false) where value == "1": address.isInsecure = true
      default: throw unknown(name, isEncrypted ? "ca" : "insecure=1")
      }
    }
    return address
  }

  private static func unknown(_ name: String, _ known: String) -> RemoteError {
    wrong("\"\(name)\" is nothing that can be said in this address; there is \(known)")
  }

  private static func certificates(_ path: String) throws(RemoteError) -> String {
    guard path.hasPrefix("/") else { throw wrong("ca= takes the whole path of a file") }
    return path
  }

  private static func bucket(_ name: String) throws(RemoteError) -> String {
    guard !name.isEmpty, name.utf8.count <= 255, !name.hasPrefix("-"), !name.hasPrefix("."),
      name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) })
    else {
      throw wrong(
        name.isEmpty ? "the bucket is missing" : "\"\(name)\" is not a valid name of a bucket")
    }
    return name
  }

  /// A path without slashes at its ends; objects' names may begin with it.
  private static func place(_ path: String) throws(RemoteError) -> String {
    var rest = path[...]
    while rest.hasPrefix("/") { rest.removeFirst() }
    while rest.hasSuffix("/") { rest.removeLast() }
    guard rest.isEmpty || ObjectName.isUsable(String(rest)) else {
      throw wrong("\"\(rest)\" is not a path: it has an empty part, . or .., or is too long")
    }
    return String(rest)
  }
}
