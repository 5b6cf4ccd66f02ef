/// A request of a browser, with everything that answers depend on.
package struct WebRequest: Sendable {
  /// The longest accepted body: a text that settles a conflict, encoded, is the longest.
  static let longestBody = 32 << 20
  package var method = "GET"
  package var path: String
  package var headers: [String: String] = [:]
  /// The arguments behind the question mark, decoded; of equal names the first.
  package var arguments: [String: [UInt8]] = [:]
  package var body: [UInt8] = []

  /// An argument as text; nil if it is missing, too long, or not UTF-8.
  func text(_ name: String, atMost limit: Int = 1024) -> String? {
    guard let bytes = arguments[name], bytes.count <= limit else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// An argument as a number of at least 0; nil if it is missing or no such number.
  func number(_ name: String) -> Int? {
    text(name, atMost: 20).flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }
}
