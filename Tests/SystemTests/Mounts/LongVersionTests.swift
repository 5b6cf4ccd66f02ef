import TestSupport
import Testing

extension Mounted {
  /// A version of many files, of which a command returns before the rows are written (docs/working-tree.md).
  struct LongVersionTests {
    @Test(
      "Once a long version is made nothing of it counts as pending, whoever asks",
      .timeLimit(.minutes(1)),
      arguments: [
        "grep -o '[0-9]* changed, .* removed' .llvs/status",
        "grep -o '[0-9]* changed, .* removed' .llvs/control",
        "getfattr --only-values -n user.llvs.state f1000",
      ])
    func told(question: String) throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        let isState = question.contains("user.llvs.state")
        for round in 1...3 {
          let answer = try mounted.run(
            """
            for i in $(seq 1000); do echo "\(round) $i" > "f$i"; done
            echo commit > .llvs/control; \(question)
            """)
          let expected = isState ? "committed" : "0 changed, 0 new, 0 removed\n"
          #expect(answer == expected)
          let head = try mounted.run("cat .llvs/head/f1000")
          #expect(head == "\(round) 1000\n")
        }
      }
    }
  }
}
