import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import WorkingTree

extension Mounted {
  /// What the system may run short of, or turn back: descriptors, and the clock.
  @Suite(.serialized) struct ScarcityTests {
    @Test(
      "with few descriptors 500 open files lose nothing, the daemon lives, and gives them back",
      .timeLimit(.minutes(1)))
    func descriptors() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(running: ["prlimit", "--nofile=64:64"])
      try mounted.run("echo first > first; mkdir d; echo commit > .llvs/control")
      let count = "ls /proc/\(mounted.daemon)/fd | wc -l"
      let before = try #require(Int(try mounted.run(count).trimmed))
      #expect(before < 64)
      try mounted.python(
        #"""
        import threading
        scarce = (errno.EMFILE, errno.ENFILE)
        answered, files, refused = {}, [], 0
        r = random.Random(3)
        for index in range(500):
            try: files.append((index, os.open('d/%d' % index, os.O_CREAT | os.O_RDWR)))
            except OSError as error:
                assert error.errno in scarce, error
                refused += 1
        def work(part):
            global refused
            for index, fd in part:
                data = random.Random(index).randbytes([10, 5000, 70000][index % 3])
                try:
                    assert os.write(fd, data) == len(data)
                    answered[index] = data
                    assert os.pread(fd, 1 << 20, 0) == data
                    if index % 50 == 0: os.fsync(fd)
                except OSError as error:
                    assert error.errno in scarce, error
                    refused += 1
        threads = [threading.Thread(target=work, args=(files[part::8],)) for part in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        os.listdir('.llvs/versions'); get('.llvs/head/first'); get('.llvs/status')
        for index, fd in files: os.close(fd)
        assert len(answered) > 400, (len(answered), refused)
        for index, data in answered.items(): same(get('d/%d' % index), data)
        put('../answered', '%d' % len(answered))
        """#, seconds: 50)
      try mounted.run(
        "echo commit > .llvs/control; ls .llvs/head/d | wc -l; cmp first .llvs/head/first")
      try mounted.verify()
      // Connections to the catalog and a few segments stay open for the next time.
      #expect(try #require(Int(try mounted.run(count).trimmed)) <= before + 12)
      let answered = try mounted.run("cat ../answered")
      try mounted.kill()
      try mounted.mount()
      #expect(try mounted.run("ls d | wc -l").trimmed == answered.trimmed)
      try mounted.unmount()
    }

    @Test(
      "a clock that jumps back and forth: versions are made and stay in order, nothing hangs or is lost",
      .timeLimit(.minutes(1)), .enabled(if: FakeClock.isPossible, "needs Debian's faketime"))
    func clock() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      let clock = try FakeClock(file: mounted.directory + "/clock")
      try mounted.mount(environment: clock.environment())
      try mounted.run(
        "echo 'set settle=300ms' > .llvs/control; echo 0 > f; echo commit > .llvs/control")
      var count = try mounted.versionCount()
      // Two days back, ten years on, and back to an hour ago: each time a version comes by itself.
      for (index, offset) in ["-20h", "+3650d", "-1h", "-4000d"].enumerated() {
        try clock.set(offset)
        let status = try mounted.run("cat .llvs/status")
        #expect(status.contains("days ahead of this clock") == (index >= 2), "\(status)")
        let told = try mounted.run("'\(MountedStore.program)' status")
        #expect(told.contains("days ahead of this machine's clock") == (index >= 2), "\(told)")
        try mounted.run("echo \(index) > new\(index); echo \(index) >> f")
        try mounted.waitForVersion(after: count, seconds: 5)
        count = try mounted.versionCount()
        try mounted.run(
          "cmp f .llvs/head/f; cmp new\(index) .llvs/head/new\(index); ls .llvs/at .llvs/versions")
      }
      let year = try mounted.run("stat -c %y new3").prefix(4)
      #expect(Int(year).map { $0 < 2020 } == true, "the clock was not turned back: \(year)")
      // Killed with changes pending, and mounted with another time of day.
      try mounted.run(
        "echo pending > pending; echo 'set settle=1h' > .llvs/control; echo more > more")
      try mounted.kill()
      try clock.set("-5000d")
      try mounted.mount(environment: clock.environment())
      try mounted.run("cat pending more; echo 'set settle=300ms' > .llvs/control; echo x > x")
      try mounted.waitForVersion(after: count, seconds: 5)
      try mounted.run(
        "echo undo > .llvs/control; echo redo > .llvs/control; echo commit > .llvs/control")
      try clock.set("+0")
      try mounted.run("echo last > last; echo commit > .llvs/control; cmp last .llvs/head/last")
      let versions = try StoredVersions(mounted)
      let all = try versions.all()
      #expect(all.count >= 7)
      for record in all {
        for number in record.predecessors {
          let before = try #require(all.first { $0.number == number })
          // One that is more than a day ahead is not followed, which status tells
          // (docs/merging.md, M4).
          #expect(
            before.timestamp < record.timestamp || before.timestamp > record.timestamp + 80_000,
            "\(before.name) \(record.name)")
        }
      }
      #expect(try mounted.run("cat f new0 new3 pending more last").contains("pending\nmore\nlast"))
      try mounted.verify()
      try mounted.unmount()
    }

    @Test("a store of a newer format is refused with a sentence", .timeLimit(.minutes(1)))
    func newerFormat() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      try mounted.run("echo x > f")
      try mounted.unmount()
      // Whoever closes the store last brings all of it into the one file.
      do { _ = try Store.open(path: mounted.store) }
      // The number of the format stands in SQLite's header, at byte 60.
      let catalog = try File(mounted.store + "/store.sqlite", .readWrite)
      let old = try catalog.read(4, at: 60)
      try catalog.write([0, 0, 0, 9], at: 60)
      for verb in ["mount '\(mounted.store)' '\(mounted.path)'", "log --store '\(mounted.store)'"] {
        let refused = try TestSupport.shell("'\(MountedStore.program)' \(verb)")
        #expect(refused.status != 0)
        #expect(
          refused.output.contains("the store has format 9, this program knows up to"),
          "\(refused.output)")
      }
      try catalog.write(old, at: 60)
      try mounted.mount()
      #expect(try mounted.run("cat f") == "x\n")
      try mounted.unmount()
    }
  }
}

extension String {
  var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
