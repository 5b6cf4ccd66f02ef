import Foundation
import FuseSession
import Testing

@Suite("Daemons that are held", .timeLimit(.minutes(1))) struct HeldDaemonTests {
  @Test(
    "A process is held dead that was killed and has threads left, or that writes its memory out",
    arguments: [
      ("Name:\tllvs\nState:\tZ (zombie)\nThreads:\t2\n", true),
      ("Name:\tllvs\nState:\tZ (zombie)\nThreads:\t1\n", false),
      ("Name:\tllvs\nState:\tS (sleeping)\nThreads:\t9\nCoreDumping:\t0\n", false),
      ("Name:\tllvs\nState:\tI (idle)\nThreads:\t9\nCoreDumping:\t1\n", true),
      ("Name:\tsh\nState:\tZ (zombie)\nThreads:\t2\n", false),
      ("Name:\tllvs Z\nState:\tZ (zombie)\nThreads:\t2\n", false),
      ("State:\tZ (zombie)\n", false), ("", false),
    ])
  func heldDead(_ status: String, _ isHeld: Bool) {
    #expect(HeldDaemon.isHeld(status: Array(status.utf8), named: "llvs") == isHeld)
  }

  @Test("This process is not held dead")
  func alive() {
    let name = (try? String(contentsOfFile: "/proc/self/comm", encoding: .utf8)) ?? ""
    #expect(!HeldDaemon.isHeld(getpid(), named: String(name.dropLast())))
    #expect(!HeldDaemon.isHeld(0, named: "llvs"))
  }
}
