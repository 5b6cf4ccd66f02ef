/// The type under which a value is sent to a browser.
/// The bytes decide, not the name alone: only confirmed pictures and plain text are shown.
package enum MediaType: Equatable, Sendable {
  /// A picture without scripts, for example `image/png`.
  case picture(String)
  /// SVG, which can have scripts: it is shown inside the page as a picture and never alone.
  case drawing
  case text
  case other

  /// Finds the type by the first bytes, a few hundred at most, and the path.
  package init(_ head: [UInt8], path: [UInt8]) {
    func begins(_ bytes: [UInt8], at offset: Int = 0) -> Bool {
      head.dropFirst(offset).starts(with: bytes)
    }
    if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .picture("image/png")
    } else if begins([0xFF, 0xD8, 0xFF]) {
      self = .picture("image/jpeg")
    } else if begins(Array("GIF87a".utf8)) || begins(Array("GIF89a".utf8)) {
      self = .picture("image/gif")
    } else if begins(Array("RIFF".utf8)), begins(Array("WEBP".utf8), at: 8) {
      self = .picture("image/webp")
    } else if begins(Array("ftypavif".utf8), at: 4) {
      self = .picture("image/avif")
    } else if begins(Array("BM".utf8)), Self.hasEnding(path, "bmp") {
      self = .picture("image/bmp")
    } else if begins([0, 0, 1, 0]), Self.hasEnding(path, "ico") {
      self = .picture("image/x-icon")
    } else if head.contains(0) {
      self = .other
    } else if Self.hasEnding(path, "svg") {
      self = .drawing
    } else {
      self = .text
    }
  }

  private static func hasEnding(_ path: [UInt8], _ ending: String) -> Bool {
    let last = path.suffix(ending.utf8.count + 1)
    return last.first == UInt8(ascii: ".")
      && String(decoding: last.dropFirst(), as: UTF8.self).lowercased() == ending
  }

  var name: String {
    switch self {
    case .picture(let name): name
    case .drawing: "image/svg+xml"
    case .text: "text/plain; charset=utf-8"
    case .other: "application/octet-stream"
    }
  }

  var kind: String {
    switch self {
    case .picture, .drawing: "image"
    case .text: "text"
    case .other: "binary"
    }
  }

  /// True if a browser may show it by itself; otherwise it saves it.
  var isShown: Bool {
    switch self {
    case .picture, .text: true
    case .drawing, .other: false
    }
  }
}
