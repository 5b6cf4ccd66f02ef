import Foundation
import TestSupport
import Testing

extension Machines {
  /// Programs that do everything a program can do, each at names of its own, beside a model that says what every
  /// call must return.
  @Suite(.serialized) struct OracleTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// `LLVS_TEST_ORACLE=600`: the seconds of work in each test. `LLVS_TEST_BESIDE=syncs`: no test next to commits.
    private static let seconds = Double(environment["LLVS_TEST_ORACLE"] ?? "") ?? 12
    private static let seed = UInt64(environment["LLVS_TEST_SEED"] ?? "") ?? 1

    @Test(
      "Every call is answered as if the program was alone, and both machines have what it made",
      .timeLimit(.minutes(60)),
      arguments: environment["LLVS_TEST_BESIDE"] == "syncs"
        ? [OracleMachines.Trouble.syncs] : [.commits, .syncs])
    func answers(trouble: OracleMachines.Trouble) throws {
      try work(beside: trouble)
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
      try work(beside: .kills)
    }

    private func work(beside trouble: OracleMachines.Trouble) throws {
      let machines = try OracleMachines()
      defer { machines.tearDown() }
      var (left, seed) = (Self.seconds, Self.seed)
      while left > 0 {
        try machines.work(seconds: min(left, 30), seed: seed, beside: trouble)
        try machines.check(after: trouble)
        left -= 30
        seed += 1
      }
      if trouble == .kills { print("\(machines.kills) kills") }
    }
  }
}
