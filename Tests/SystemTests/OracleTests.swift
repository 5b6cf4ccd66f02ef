import Foundation
import TestSupport
import Testing

extension Machines {
  /// Programs that do everything a program can do, each at names of its own, beside a model that says what every
  /// call must return.
  @Suite(.serialized) struct OracleTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// `LLVS_TEST_ORACLE=600`: the seconds of work in each test.
    private static let seconds = Double(environment["LLVS_TEST_ORACLE"] ?? "") ?? 25
    private static let seed = UInt64(environment["LLVS_TEST_SEED"] ?? "") ?? 1

    @Test(
      "Every call is answered as if the program was alone, beside syncs and commits, and so are both machines at the end",
      .timeLimit(.minutes(60)))
    func answers() throws {
      try work(kills: false)
    }

    @Test("What the model says is what a local file system answers", .timeLimit(.minutes(1)))
    func model() throws {
      let directory = try TemporaryDirectory()
      let result = try shell(
        """
        mkdir -p tree/common models
        '\(MountedStore.program("oracle"))' $PWD/tree $PWD/models --workers=0,1 --seconds=3 \
          --seed=\(Self.seed) --local
        """, in: directory.path)
      #expect(result.status == 0, "\(result.output)")
    }

    @Test(
      "After each kill of the daemon everything is there that was answered before it",
      .timeLimit(.minutes(60)))
    func killed() throws {
      try work(kills: true)
    }

    private func work(kills: Bool) throws {
      let machines = try OracleMachines()
      defer { machines.tearDown() }
      try machines.work(seconds: Self.seconds, seed: Self.seed, kills: kills)
      try machines.check()
    }
  }
}
