import Foundation
import TestSupport
import Testing

extension Machines {
  /// Long use of a store: whatever grows in its directory does so for a reason that stands here.
  ///
  /// `LLVS_TEST_GROWTH=200` repeats mounts, syncs and kills 200 times, and makes 2,000 versions.
  /// `LLVS_TEST_GROWTH_OF=sync` does only the works whose names contain the word.
  @Suite(.serialized, .timeLimit(.minutes(40))) struct GrowthTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let wanted = Int(environment["LLVS_TEST_GROWTH"] ?? "")
    private static let word = environment["LLVS_TEST_GROWTH_OF"]

    /// The end of each repetition.
    enum End {
      /// The mount stays.
      case none
      case unmount, kill
    }

    /// Work that is repeated, and how much may grow with each repetition.
    struct Work {
      var name: String
      /// A bash script in the mount of the first store. `$i` counts, `$B` is the mount of the second one, `$T` a
      /// directory beside both, `$LLVS` the program.
      var script: String
      var end = End.none
      var isOfVersions = false
      /// How often each reason applies in a repetition; for others nothing grows.
      var reasons: [Reason: Double] = [:]

      var count: Int {
        guard let wanted else { return isOfVersions ? 60 : 10 }
        return isOfVersions ? wanted * 10 : wanted
      }

      /// True if a quantity went from one value to another for the reasons given.
      func allows(_ quantity: String, from old: Int, to new: Int) -> Bool {
        if let bound = GrowthTests.bounds[quantity] { return new <= bound }
        let each = reasons.reduce(0) { $0 + $1.value * ($1.key.growth[quantity] ?? 0) }
        return Double(new - old) <= each * Double(count) + (GrowthTests.once[quantity] ?? 0)
      }
    }

    @Test("Nothing in a store's directory grows without a reason, however long it is used")
    func growth() throws {
      let machines = try Pair()
      defer { machines.tearDown() }
      for work in Self.works where Self.word.map(work.name.contains) ?? true {
        let result = try machines.grow(work)
        print(
          "\(work.name), \(work.count) times", result.lines.joined(separator: "\n"), separator: "\n"
        )
        for excess in result.excesses { Issue.record("\(work.name): \(excess)") }
      }
    }
  }
}
