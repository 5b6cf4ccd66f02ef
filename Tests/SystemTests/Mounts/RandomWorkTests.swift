import Foundation
import TestSupport
import Testing

extension Mounted {
  /// One process that works in two mounts for long, keeps files open over syncs, and never meets itself.
  @Suite(.serialized) struct RandomWorkTests {
    /// `LLVS_TEST_WORK=50` does that from so many seeds; `LLVS_TEST_SEED` says where they begin.
    static let seeds: Range<UInt64> = {
      let environment = ProcessInfo.processInfo.environment
      let first = UInt64(environment["LLVS_TEST_SEED"] ?? "") ?? 0
      return first..<(first + (UInt64(environment["LLVS_TEST_WORK"] ?? "") ?? 2))
    }()

    @Test(
      "Files are what was last put there, on both sides and in versions, without conflicts",
      .timeLimit(.minutes(4)), arguments: seeds)
    func works(seed: UInt64) throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run(
            """
            mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder
            echo > first; echo sync > .llvs/control; rm first
            """)
          try b.run(
            "echo '\(a.directory)/folder' > .llvs/peers/folder; echo sync > .llvs/control; rm first"
          )
          var work = RandomWork([a, b], seed: seed)
          for _ in 0..<800 { try work.step() }
          try work.exchange()
          for side in work.sides { side.open = [] }
        }
        try a.verify()
      }
    }
  }
}
