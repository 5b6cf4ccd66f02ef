struct HTTPRequest {
  var method: String
  var url: String
  /// In addition to Host, Content-Length, User-Agent and Accept-Encoding.
  var headers: [(name: String, value: String)] = []
  var body: Body?
  /// The object or folder that messages name.
  var object: String
  /// The most bytes of an answer that are kept without a sink.
  var bound = 1 << 16

  enum Body {
    case bytes([UInt8])
    case object(ObjectBody)
    /// An object with other bytes around it, as forms have it.
    case wrapped([UInt8], ObjectBody, [UInt8])

    var length: UInt64 {
      switch self {
      case .bytes(let bytes): UInt64(bytes.count)
      case .object(let body): body.length
      case .wrapped(let before, let body, let after):
        UInt64(before.count) + body.length + UInt64(after.count)
      }
    }
  }
}

struct HTTPHead {
  var status = 0
  private var values: [String: String] = [:]

  /// A header by its lower-case name.
  subscript(_ name: String) -> String? { values[name] }

  /// Returns true for the beginning of a page of HTML. No object begins with `<`.
  func isPage(_ bytes: some Sequence<UInt8>) -> Bool {
    self["content-type"]?.hasPrefix("text/html") == true
      && bytes.first { !(9...13 ~= $0 || $0 == 32) } == UInt8(ascii: "<")
  }

  /// Adds a line; a line with `HTTP/` clears the others, as after `100 Continue`. False after too many headers.
  mutating func add(line: String) -> Bool {
    if line.hasPrefix("HTTP/") {
      let words = line.split(separator: " ", maxSplits: 2)
      status = words.count > 1 ? Int(words[1]) ?? 0 : 0
      values = [:]
      return true
    }
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return true }
    guard values.count < 200 else { return false }
    let name = line[..<colon].lowercased()
    let value = line[line.utf8.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    values[name] = String(value)
    return true
  }
}

struct HTTPResponse {
  var head: HTTPHead
  var body: [UInt8] = []
  var isCut = false
  var status: Int { head.status }
  var text: String { String(decoding: body, as: UTF8.self) }
}
