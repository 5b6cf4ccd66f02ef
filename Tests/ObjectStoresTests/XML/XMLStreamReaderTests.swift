import TestSupport
import Testing

@testable import ObjectStores

@Suite(.timeLimit(.minutes(2)))
struct XMLStreamReaderTests {
  private enum Event: Equatable {
    case start(String, Bool)
    case end(String, Bool, String)
  }

  private func read(_ text: String) throws(RemoteError) -> [Event] {
    try read(XMLInput(Array(text.utf8)))
  }

  private func read(_ input: XMLInput) throws(RemoteError) -> [Event] {
    var events: [Event] = []
    try XMLStreamReader.read(
      input, start: { events.append(.start($0, $1)) }, end: { events.append(.end($0, $1, $2)) })
    return events
  }

  private func kind(of text: String) -> RemoteError.Kind? {
    do throws(RemoteError) {
      _ = try read(text)
      return nil
    } catch {
      return error.kind
    }
  }

  @Test("text comes as it was meant: references, CDATA, comments, ends of lines")
  func text() throws {
    for (written, meant) in [
      ("a b", "a b"), ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"), ("&#65;&#x42;&#x1F600;", "AB😀"),
      ("<![CDATA[<a>&amp;]]]]>", "<a>&amp;]]"), ("<![CDATA[]]>", ""), ("<![CDATA[]>]]>", "]>"),
      ("a<!-- - -> <b> -->b", "ab"), ("a<?p <b> ?>b", "ab"), ("a\r\nb\rc", "a\nb\nc"),
      ("&#13;", "\r"), ("é\u{301}", "é\u{301}"), ("<b>x</b>y", "y"), ("]]", "]]"),
    ] {
      #expect(try read("<a>\(written)</a>").last == .end("a", false, meant), "\(written)")
    }
  }

  @Test("an element belongs to the namespace that its prefix stands for where it is")
  func namespaces() throws {
    let events = try read(
      """
      <D:m xmlns:D="DAV:" xmlns:x='other'><D:a/><x:a/><b/><c xmlns="&#68;AV:"><d/><e xmlns=""/></c>\
      <f xmlns:D="else"><D:g/></f><D:h/><y:i/></D:m>
      """)
    let starts = events.compactMap {
      if case .start(let name, let isDAV) = $0 { "\(name)\(isDAV ? 1 : 0)" } else { nil }
    }
    #expect(starts == ["m1", "a1", "a0", "b0", "c1", "d1", "e0", "f0", "g0", "h1", "i0"])
  }

  @Test("the layout of a long list is not held")
  func layout() throws {
    let row = "\n  <a>x</a>"
    let events = try read("<m>" + String(repeating: row, count: 30_000) + "\n</m>")
    #expect(events.count == 60_002)
    #expect(events.last == .end("m", false, "\n"))
  }

  @Test(
    "what is no XML, or asks for more than an answer needs, is malformed",
    arguments: [
      "", " ", "a", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>b", "<a b></a>", "<a b=c/>",
      "<a b='1'c='2'/>", "<a b='1' b='2'/>", "<a b='<'/>", "<a>&x;</a>", "<a>&#0;</a>",
      "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&#+65;</a>", "<a>&#;</a>", "<a>&lt</a>",
      "<!DOCTYPE a><a/>", "<a><!ENTITY b 'c'></a>", "<![CDATA[a]]><a/>", "<a>\u{1}</a>", "<1/>",
      "<:/>", "<a:/>", "< a/>", "<a", "<a b='c", "<a><!-- </a>", "<a><![CDATA[ </a>", "\u{FEFF}",
    ])
  func malformed(_ text: String) {
    #expect(kind(of: text) == .malformed, "\(text)")
  }

  @Test("bytes that are not UTF-8 are malformed, in texts and in names")
  func bytes() {
    for bytes: [UInt8] in [
      [0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E], [0x3C, 0xC3, 0x2F, 0x3E],
      [0xFE, 0xFF, 0x00, 0x3C], [0xEF, 0xBB, 0x3C, 0x61, 0x2F, 0x3E],
    ] {
      let error = #expect(throws: RemoteError.self) { try read(XMLInput(bytes)) }
      #expect(error?.kind == .malformed)
    }
  }

  @Test("depth, names, attributes, values and texts have bounds")
  func bounds() {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    func attributes(_ count: Int) -> String {
      "<a" + (0..<count).map { " a\($0)=''" }.joined() + "/>"
    }
    func long(_ count: Int) -> String { String(repeating: "x", count: count) }
    for (fits, isTooMuch) in [
      (nested(32), nested(33)), ("<\(long(256))/>", "<\(long(257))/>"),
      (attributes(64), attributes(65)), ("<a b='\(long(4096))'/>", "<a b='\(long(4097))'/>"),
      ("<a>\(long(16_384))</a>", "<a>\(long(16_385))</a>"),
    ] {
      #expect(kind(of: fits) == nil)
      #expect(kind(of: isTooMuch) == .malformed)
    }
  }

  // MARK: Random documents

  /// A tree, written in one of the many ways that XML has for it.
  private struct Document {
    var text = ""
    var events: [Event] = []
    private var random: SeededRandom

    init(seed: UInt64) {
      random = SeededRandom(seed: seed)
      text += random.next() % 2 == 0 ? "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" : ""
      filler()
      element(depth: 0, isDAVDefault: false)
      filler()
    }

    private mutating func below(_ bound: UInt64) -> UInt64 { random.next() % bound }

    private mutating func filler() {
      switch below(6) {
      case 0: text += " \n"
      case 1: text += "<!-- <x>&-> -->"
      case 2: text += "<?go <x> ?>"
      default: break
      }
    }

    private mutating func element(depth: Int, isDAVDefault: Bool) {
      let name = ["a", "href", "été", "x-1", "_._"][Int(below(5))]
      let spaces = ["", " ", "\n"][Int(below(3))]
      var (isDAV, isInner, tag) = (isDAVDefault, isDAVDefault, name)
      var declared = ""
      switch below(4) {
      case 0: (isDAV, isInner, declared) = (true, true, " xmlns = \"DAV:\"")
      case 1: (isDAV, isInner, declared) = (false, false, " xmlns='b' c=\"&lt;'\"")
      case 2: (isDAV, tag, declared) = (true, "p:\(name)", " xmlns:p='DAV:'")
      default: break
      }
      text += "<\(tag)\(declared)\(spaces)"
      events.append(.start(name, isDAV))
      guard below(5) > 0 else {
        text += "/>"
        return events.append(.end(name, isDAV, ""))
      }
      text += ">"
      for _ in 0..<(depth < 5 ? below(5) : 0) {
        _ = words() + cdata()
        element(depth: depth + 1, isDAVDefault: isInner)
      }
      let kept = words() + cdata()
      text += "</\(tag)\(spaces)>"
      events.append(.end(name, isDAV, kept))
    }

    private mutating func cdata() -> String {
      guard below(3) == 0 else { return "" }
      text += "<![CDATA[<&]]]>"
      return "<&]"
    }

    private mutating func words() -> String {
      var meant = ""
      for _ in 0..<below(4) {
        let (written, plain) = [
          ("w", "w"), (" ", " "), ("&amp;", "&"), ("&#233;", "é"), ("😀", "😀"), ("\r\n", "\n"),
          ("<![CDATA[<]]>", "<"), (">", ">"), ("<!---->", ""),
        ][Int(below(9))]
        text += written
        meant += plain
      }
      return meant
    }
  }

  @Test("a document reads as what was written, in pieces of any size", arguments: 0..<300)
  func documents(_ seed: UInt64) throws {
    let document = Document(seed: seed)
    let bytes = Array(document.text.utf8)
    #expect(try read(document.text) == document.events, "\(document.text)")
    let size = Int(seed % 7) + 1
    var offset = 0
    let input = XMLInput(pieceSize: size) { out in
      let count = min(out.count, bytes.count - offset)
      bytes.withUnsafeBytes { out.copyMemory(from: .init(rebasing: $0[offset..<(offset + count)])) }
      offset += count
      return count
    }
    #expect(try read(input) == document.events)
  }

  @Test("a document that is cut off is malformed, wherever it is cut", arguments: 0..<40)
  func cut(_ seed: UInt64) throws {
    let bytes = Array(Document(seed: seed).text.utf8)
    let end = try #require(bytes.lastIndex(of: UInt8(ascii: "/")))
    for count in 0..<end {
      let error = #expect(throws: RemoteError.self) { try read(XMLInput(Array(bytes[..<count]))) }
      #expect(error?.kind == .malformed)
    }
  }

  @Test("changed bytes never do more than make a document malformed", arguments: 0..<200)
  func changed(_ seed: UInt64) {
    var bytes = Array(Document(seed: seed).text.utf8)
    var random = SeededRandom(seed: seed)
    for _ in 0..<8 {
      let place = Int(random.next() % UInt64(bytes.count))
      switch random.next() % 3 {
      case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
      case 1: bytes.remove(at: place)
      default: bytes.insert(Array("<>&;/!?'\"=x:]".utf8)[Int(random.next() % 13)], at: place)
      }
      do throws(RemoteError) {
        _ = try read(XMLInput(bytes))
      } catch {
        #expect(error.kind == .malformed)
      }
    }
  }

  @Test("an error of reading the bytes is passed on")
  func failing() {
    let error = #expect(throws: RemoteError.self) {
      try read(XMLInput { (_) throws(RemoteError) in throw .cancelled })
    }
    #expect(error?.kind == .cancelled)
  }
}
