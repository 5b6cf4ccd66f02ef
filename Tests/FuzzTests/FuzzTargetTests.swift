import Foundation
import FuzzTargets
import Platform
import TestSupport
import Testing

/// The decoders of outside bytes without libFuzzer: what it found once, and seeds changed at random.
/// LLVS_TEST_FUZZ says how many changed seeds each decoder is given.
@Suite(.timeLimit(.minutes(5)))
struct FuzzTargetTests {
  static let rounds =
    Int(ProcessInfo.processInfo.environment["LLVS_TEST_FUZZ"] ?? "").map { max(1, $0) } ?? 1000

  /// The files that libFuzzer's findings are kept as.
  private static func corpus(_ target: FuzzTarget) throws -> [[UInt8]] {
    let directory = Bundle.module.bundleURL.appendingPathComponent("Corpus/\(target.rawValue)")
    guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted().map {
      Array(try Data(contentsOf: directory.appendingPathComponent($0)))
    }
  }

  @Test("every decoder keeps its promises for the saved corpus", arguments: FuzzTarget.allCases)
  func corpus(target: FuzzTarget) throws {
    for bytes in target.seeds + (try Self.corpus(target)) { try target.run(bytes) }
  }

  @Test(
    "every decoder keeps its promises for seeds changed at random", arguments: FuzzTarget.allCases)
  func changed(target: FuzzTarget) throws {
    var random = SeededRandom(seed: .random(in: 0..<UInt64.max))
    let seeds = target.seeds + (try Self.corpus(target))
    // A replay makes files; the others are memory alone.
    let rounds = target == .replay ? Self.rounds / 20 : Self.rounds
    for _ in 0..<rounds {
      var bytes = seeds.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...4, using: &random) { Self.change(&bytes, &random) }
      do {
        try target.run(bytes)
      } catch {
        Issue.record("seed \(random.seed): \(error) for \(bytes.prefix(4096))")
        return
      }
    }
  }

  /// Flips, removes, doubles or inserts a little.
  private static func change(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
    guard !bytes.isEmpty else { return bytes.append(UInt8.random(in: 0...255, using: &random)) }
    let at = Int.random(in: 0..<bytes.count, using: &random)
    let end = min(bytes.count, at + Int.random(in: 1...8, using: &random))
    switch Int.random(in: 0..<5, using: &random) {
    case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[at] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
    case 2: bytes.removeSubrange(at..<end)
    case 3: bytes.insert(contentsOf: bytes[at..<end], at: at)
    default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
    }
  }
}
