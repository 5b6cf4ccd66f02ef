import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

/// What one random history takes: numbers, ids and times that all follow from its seed, the directory it
/// plays in, and a record of what was done, apart from every store.
final class FleetPlay {
  /// What somebody did in one version.
  struct Deed {
    var id: Version.ID
    /// What was written there; nil removes.
    var values: [String: String?] = [:]
    /// Keys whose conflicts were settled as they are.
    var settled: [String] = []
    /// What the tree and the list of conflicts showed before at the keys that are touched.
    var seen: Set<String> = []

    var touched: Set<String> { Set(values.keys).union(settled) }
  }

  let seed: UInt64
  var random: SeededRandom
  var deeds: [Deed] = []
  let directory: TemporaryDirectory
  private var clock = 1000.0
  private var serial = 0

  /// Creates a play; with another salt the same seed is another play.
  init(seed: UInt64, salt: UInt64 = 0) throws {
    self.seed = seed
    random = SeededRandom(seed: salt << 48 | seed)
    directory = try TemporaryDirectory(inMemory: true)
  }

  /// What repeats a failure.
  var note: Comment { Comment(rawValue: "seed \(seed)") }

  func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  func chance(_ one: Int, in all: Int) -> Bool { pick(0..<all) < one }

  /// An id as random as an authored one's, of the same form.
  func id() -> Version.ID {
    func hex(_ digits: Int) -> String {
      let text = String(random.next(), radix: 16, uppercase: true)
      return String((String(repeating: "0", count: 16) + text).suffix(digits))
    }
    return Version.ID("\(hex(8))-\(hex(4))-4\(hex(3))-A\(hex(3))-\(hex(12))")
  }

  /// Several may do something within one tick.
  func time(after predecessors: [Double]) -> Double {
    if chance(1, in: 2) { clock += 1 }
    return max(clock, (predecessors.max() ?? 0) + 0.000_001)
  }

  /// Bytes that nobody else writes.
  func text() -> String {
    serial += 1
    return "value \(serial)"
  }

  func folder(_ name: String) throws -> String {
    let path = directory.file(name)
    if !FileManager.default.fileExists(atPath: path) { try FileSystem.makeDirectory(path) }
    return path
  }

  /// The versions that hold or lead to what is asked about, one a line, in the order they were made.
  func story(_ history: [String: [String]]) -> Comment {
    var lines: [String] = []
    var left = history
    while !left.isEmpty {
      let ready = left.filter { $0.value.allSatisfy { left[$0] == nil } }.keys.sorted()
      guard !ready.isEmpty else { break }
      for id in ready {
        let before = (left.removeValue(forKey: id) ?? []).map { $0.prefix(4) }
        let deed = deeds.first { $0.id.rawValue == id }
        let values = (deed?.values ?? [:]).sorted { $0.key < $1.key }.map {
          "\($0.key)=\($0.value ?? "-")"
        }
        lines.append("\(id.prefix(4)) \(before) \(values) settles \(deed?.settled ?? [])")
      }
    }
    return Comment(rawValue: "seed \(seed):\n" + lines.joined(separator: "\n"))
  }

  /// How many histories to play: a few unless the environment asks for more.
  static func count(_ variable: String, otherwise standard: Int) -> Int {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? standard
  }

  /// The seeds to play: those of this run's number of histories, or the one that is to be repeated.
  static func seeds(_ variable: String, otherwise standard: Int) -> [UInt64] {
    if let seed = ProcessInfo.processInfo.environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) {
      return [seed]
    }
    return (0..<count(variable, otherwise: standard)).map { UInt64($0) }
  }
}
