import Foundation
import TestSupport
import Testing

extension Machines {
  /// The life of a store that is used for a year.
  ///
  /// `LLVS_TEST_YEAR=400` mounts it 400 times, with about twelve versions in each mount.
  @Suite(.serialized) struct YearTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let wanted = Int(environment["LLVS_TEST_YEAR"] ?? "")
    private static let seed = UInt64(environment["LLVS_TEST_SEED"] ?? "") ?? 1

    @Test(
      "A store that is used for a year shows at each mount what was done, and verifies",
      .timeLimit(.minutes(120)))
    func year() throws {
      let mounts = Self.wanted ?? 24
      let year = try YearOfStores(seed: Self.seed, mebibytes: 96 + mounts)
      defer { year.tearDown() }
      let archive = try #require(
        Bundle.module.resourceURL?.appendingPathComponent("Fixtures/format-1.tar.gz").path)
      try year.begin(with: archive)
      var random = SeededRandom(seed: Self.seed)
      for number in 0..<mounts {
        // Each end comes in a short year too.
        let ends = YearOfStores.End.allCases
        let end =
          number % 2 == 0 ? ends[number / 2 % ends.count] : ends.randomElement(using: &random)
        let rounds = Int.random(in: 1...(Self.wanted == nil ? 4 : 20), using: &random)
        do {
          try year.live(
            rounds: rounds, verifying: mounts < 50 || number % 10 == 0, end: end ?? .unmount)
        } catch {
          throw YearOfStores.Failure(
            description: "seed \(Self.seed), mount \(number): \(error)\n\(year.steps)")
        }
        if number % 20 == 19 { print("\(number + 1) mounts, \(year.versions) versions") }
      }
      print("\(year.versions) versions or more, \(year.lost) steps lost; \(year.ends)")
    }
  }
}
