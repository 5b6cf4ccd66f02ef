import Platform
import Synchronization
import TestSupport
import Testing

extension Mounted {
  /// Answers that are on their way while a merge changes what they say.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct LateReplyTests {
    @Test("an answer to SETATTR that a merge of attributes overtakes is not believed for good")
    func setattr() throws {
      try ServedStore.with { served in
        _ = try served.run(
          """
          echo set settle=1h > .llvs/control; echo x > f; chmod 644 f; echo commit > .llvs/control
          readlink .llvs/head > ../first; chmod 600 f; echo commit > .llvs/control; stat -c %a f
          """)
        let isHeld = Atomic<Bool>(false)
        let isOver = Atomic<Bool>(false)
        let token = Faults.watch(below: served.directory + "/store/setattr") { _, _ in
          isHeld.store(true, ordering: .sequentiallyConsistent)
          _ = eventually(seconds: 20) { isOver.load(ordering: .sequentiallyConsistent) }
        }
        defer { Faults.unwatch(token) }
        let ended = Mutex(false)
        let path = served.path
        try SystemThread.detach {
          _ = try? shell("touch -c -a -d @1000000000 f", in: path)
          ended.withLock { $0 = true }
        }
        #expect(eventually { isHeld.load(ordering: .sequentiallyConsistent) })
        let restored = try shell(
          "echo restore $(basename $(cat ../first)) > .llvs/control", in: served.path)
        isOver.store(true, ordering: .sequentiallyConsistent)
        #expect(restored.status == 0, "\(restored.output)")
        #expect(eventually { ended.withLock { $0 } })
        // The kernel is told right after the answer.
        #expect(eventually(seconds: 5) { (try? shell("stat -c %a f", in: path).output) == "644\n" })
      }
    }

    @Test(
      "an answer that a change of a directory overtakes is not believed for good",
      arguments: [
        (answer: "getattr", asks: "stat d", change: "mkdir d/e", after: "3"),
        (answer: "readdirplus", asks: "ls -l", change: "mkdir d/e", after: "3"),
        (answer: "getattr", asks: "stat d", change: "mv d/s .", after: "2"),
        (answer: "getattr", asks: "stat d", change: "rmdir d/s", after: "2"),
      ])
    func directory(answer: String, asks: String, change: String, after: String) throws {
      try ServedStore.with { served in
        let path = served.path
        // The kernel knows the directory and its mode, but not the access time: stat asks, the change does not.
        _ = try served.run(
          """
          echo set settle=1h > .llvs/control; mkdir d; touch d/x; \(after == "2" ? "mkdir d/s" : ":")
          stat d; ls d
          """)
        let isHeld = Atomic<Bool>(false)
        let isOver = Atomic<Bool>(false)
        let token = Faults.watch(below: "\(served.directory)/store/\(answer)") { _, _ in
          guard !isHeld.exchange(true, ordering: .sequentiallyConsistent) else { return }
          _ = eventually(seconds: 20) { isOver.load(ordering: .sequentiallyConsistent) }
        }
        defer { Faults.unwatch(token) }
        let ended = Mutex(false)
        try SystemThread.detach {
          _ = try? shell(asks, in: path)
          ended.withLock { $0 = true }
        }
        #expect(eventually { isHeld.load(ordering: .sequentiallyConsistent) })
        let changed = try shell(change, in: path)
        isOver.store(true, ordering: .sequentiallyConsistent)
        #expect(changed.status == 0, "\(changed.output)")
        #expect(eventually { ended.withLock { $0 } })
        #expect(try shell("stat -c %h d", in: path).output == "\(after)\n")
      }
    }
  }
}
