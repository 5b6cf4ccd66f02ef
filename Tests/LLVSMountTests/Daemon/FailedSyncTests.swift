import Platform
import TestSupport
import Testing

extension Served {
  /// A disk that had a moment, under a mount: whoever asked is told, and work goes on.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct FailedSyncTests {
    /// Saves a file, durably, and says how that ended.
    private static let save = """
      save() { python3 -c 'import os, sys
      fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
      os.write(fd, b"x" * int(sys.argv[2]))
      os.fsync(fd)' $1 $2 2>&1 | tail -n 1 | grep -o "Errno [0-9]*" || echo well; }

      """

    private func fail(_ served: ServedStore, nth: Int = 1, times: Int = 1) -> Faults.Token {
      Faults.arm(
        Faults.Plan(
          calls: [.sync], below: served.directory + "/store/journal", nth: nth, times: times,
          action: .fail(Errno.inputOutput)))
    }

    @Test(
      "one failed sync is EIO for the fsync that met it and for nobody else",
      arguments: [10, 200_000])
    func once(size: Int) throws {
      try ServedStore.with { served in
        _ = try served.run("echo set settle=1h > .llvs/control; echo before > before")
        // The name of a new staging file is synced before it is used.
        let token = fail(served, nth: size < 40_000 ? 1 : 2)
        #expect(try served.run(Self.save + "save f \(size)") == "Errno 5\n")
        Faults.disarm(token)
        #expect(
          try served.run(Self.save + "save f \(size); save g 70000; echo on > on; cat before on")
            == "well\nwell\nbefore\non\n")
        #expect(try served.run("stat -c %s f g") == "\(size)\n70000\n")
        _ = try served.run(
          "echo commit > .llvs/control; cmp f .llvs/head/f; cmp g .llvs/head/g; cat .llvs/head/on")
        let log = try served.run("cat .llvs/log")
        #expect(log.contains("fdatasync") && log.contains("are on the disk"), "\(log)")
        #expect(try !served.run("cat .llvs/status").contains("\njournal"))
      }
    }

    @Test("a commit that met it says EIO, and the next one takes everything")
    func commit() throws {
      try ServedStore.with { served in
        _ = try served.run("echo set settle=1h > .llvs/control; head -c 100000 /dev/zero > f")
        let token = fail(served)
        let reply = try shell("echo commit > .llvs/control", in: served.path)
        #expect(reply.output.contains("Input/output error"), "\(reply.output)")
        Faults.disarm(token)
        _ = try served.run(
          "echo g > g; echo commit > .llvs/control; cmp f .llvs/head/f; cat .llvs/head/g")
      }
    }

    @Test(
      "while it lasts nothing is taken, status says so, reading goes on; then it is over by itself")
    func longer() throws {
      try ServedStore.with { served in
        _ = try served.run("head -c 100000 /dev/urandom > f; sha256sum f > ../sum")
        let token = fail(served, times: .max)
        #expect(try served.run(Self.save + "save g 10; save g 10") == "Errno 5\nErrno 5\n")
        let refused = try shell("echo no > no", in: served.path)
        #expect(refused.output.contains("Input/output error"), "\(refused.output)")
        #expect(try served.run("cat .llvs/status").contains("written again"))
        _ = try served.run("sha256sum -c ../sum")
        Faults.disarm(token)
        #expect(
          eventually(seconds: 30) {
            (try? shell("echo yes > yes", in: served.path).status) == 0
          })
        _ = try served.run(
          "sha256sum -c ../sum; echo commit > .llvs/control; cmp f .llvs/head/f; cat .llvs/head/yes"
        )
      }
    }
  }
}
