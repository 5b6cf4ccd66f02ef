import LLVSCore

@testable import Documents

/// Everything that happened in a history that is played, apart from how stores and documents keep it: who wrote
/// what, and what he had seen.
final class PlayedWorld {
  /// One write of one key.
  struct Event {
    let key: Int
    /// The lines that were written; nil for a removal.
    let lines: Set<String>?
    /// The writes that the writer had seen, or replaced otherwise.
    var known: Set<Int>
    /// True if a merge made it.
    var isMerged = false
  }

  private struct Place: Hashable {
    let key: Int
    let dot: DocumentDot
  }

  private(set) var events: [Event] = []
  private var places: [Place: Int] = [:]
  /// What each version has seen.
  var known: [Version.ID: Set<Int>] = [:]
  /// Writes that were given a name which another write has.
  private(set) var reused = 0
  private var lineCount = 0
  var clock: Int64 = 1_700_000_000_000

  func line() -> String {
    lineCount += 1
    return "line \(lineCount)"
  }

  func add(_ key: Int, _ lines: Set<String>?, known: Set<Int>, isMerged: Bool = false) -> Int {
    events.append(
      Event(
        key: key, lines: lines, known: known.filter { events[$0].key == key }, isMerged: isMerged))
    return events.count - 1
  }

  func name(_ event: Int, _ dot: DocumentDot) {
    let place = Place(key: events[event].key, dot: dot)
    if let other = places[place], other != event { reused += 1 }
    places[place] = event
  }

  func event(_ key: Int, _ dot: DocumentDot) -> Int? { places[Place(key: key, dot: dot)] }
}

/// The keys of what is played.
enum PlayedKeys {
  static let count = 5
  static let directory = DocumentDirectory(path: Array("notes".utf8))

  static func name(_ key: Int) -> DocumentName {
    DocumentName(scope: [], key: Array("k\(key)".utf8))
  }

  static func key(_ key: Int) -> Key { directory.key(of: name(key)) }

  static func index(_ name: DocumentName) -> Int {
    Int(String(decoding: name.key.dropFirst(), as: UTF8.self)) ?? 0
  }

  static func bytes(_ lines: [String]) -> [UInt8] { Array(lines.map { $0 + "\n" }.joined().utf8) }

  static func lines(_ bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
