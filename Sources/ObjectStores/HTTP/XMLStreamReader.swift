internal import Foundation
internal import FoundationXML

/// Reads an XML answer element by element, without holding the whole.
///
/// Servers are not trusted: declarations, deep nesting and long texts end the reading.
final class XMLStreamReader: NSObject, XMLParserDelegate {
  /// An element's name without its prefix, and whether its namespace is WebDAV's.
  typealias Start = (_ name: String, _ isDAV: Bool) -> Void
  /// The same at its end, with the text that stood in it.
  typealias End = (_ name: String, _ isDAV: Bool, _ text: String) throws(RemoteError) -> Void

  private static let deepest = 32
  private static let longestText = 1 << 14

  private let start: Start
  private let end: End
  private var texts: [String] = []
  private var failure: RemoteError?

  private init(start: @escaping Start, end: @escaping End) {
    self.start = start
    self.end = end
  }

  /// Reads an answer; `start` and `end` are called in the order of the elements.
  ///
  /// - Throws: `malformed` if it is not XML, or not all there; what `end` throws.
  static func read(_ bytes: [UInt8], start: Start = { _, _ in }, end: End) throws(RemoteError) {
    try checkStart(bytes)
    try read(XMLParser(data: Data(bytes)), start, end)
  }

  /// The same from a file, whose first bytes are given too.
  static func read(
    file path: String, beginning bytes: [UInt8], start: Start = { _, _ in }, end: End
  ) throws(RemoteError) {
    try checkStart(bytes)
    guard let stream = InputStream(fileAtPath: path) else {
      throw RemoteError(.malformed, "the answer cannot be read")
    }
    try read(XMLParser(stream: stream), start, end)
  }

  private static func read(
    _ parser: XMLParser, _ start: Start, _ end: End
  ) throws(RemoteError) {
    // Both are called while this runs and not after.
    try withoutActuallyEscaping(start) { (start) throws(RemoteError) in
      try withoutActuallyEscaping(end) { (end) throws(RemoteError) in
        let reading = XMLStreamReader(start: start, end: end)
        parser.delegate = reading
        parser.shouldProcessNamespaces = true
        parser.shouldResolveExternalEntities = false
        let isWhole = withExtendedLifetime(reading) { parser.parse() }
        parser.delegate = nil
        if let failure = reading.failure { throw failure }
        guard isWhole else { throw RemoteError(.malformed, "the answer is not XML, or not whole") }
      }
    }
  }

  private func stop(_ parser: XMLParser, _ error: RemoteError) {
    if failure == nil { failure = error }
    parser.abortParsing()
  }

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?, attributes attributeDict: [String: String]
  ) {
    guard failure == nil else { return }
    guard texts.count < Self.deepest else {
      return stop(parser, RemoteError(.malformed, "the answer is nested too deep"))
    }
    texts.append("")
    start(elementName, namespaceURI == "DAV:")
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { add(parser, string) }

  func parser(_ parser: XMLParser, foundCDATA CDATABlock: Data) {
    add(parser, String(decoding: CDATABlock, as: UTF8.self))
  }

  private func add(_ parser: XMLParser, _ text: String) {
    guard failure == nil, let last = texts.indices.last else { return }
    guard texts[last].utf8.count + text.utf8.count <= Self.longestText else {
      return stop(parser, RemoteError(.malformed, "a text in the answer is too long"))
    }
    texts[last] += text
  }

  func parser(
    _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?
  ) {
    guard failure == nil, let text = texts.popLast() else { return }
    do throws(RemoteError) {
      try end(elementName, namespaceURI == "DAV:", text)
    } catch {
      stop(parser, error)
    }
  }

  /// The number of bytes that are searched for a declaration, which stands before the first element.
  static let startLength = 1 << 16

  /// Refuses declarations of entities, which libxml2 would expand: no server needs any.
  private static func checkStart(_ bytes: [UInt8]) throws(RemoteError) {
    let word = Array("<!DOCTYPE".utf8)
    var rest = bytes.prefix(startLength)
    while let start = rest.firstIndex(of: word[0]) {
      rest = rest[start...]
      guard !rest.starts(with: word) else {
        throw RemoteError(.malformed, "the answer declares a type of its own")
      }
      rest = rest.dropFirst()
    }
  }
}
