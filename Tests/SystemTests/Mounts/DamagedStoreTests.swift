import Foundation
import Platform
import TestSupport
import Testing

extension Mounted {
  /// A store of which a part is gone, under a mount and at its end.
  @Suite(.serialized) struct DamagedStoreTests {
    private func llvs(_ words: String) throws -> ShellResult {
      try TestSupport.shell("'\(MountedStore.program)' \(words)")
    }

    @Test(
      "Where a segment is gone or is no file, reading is EIO at once and control says what is wrong",
      .timeLimit(.minutes(2)),
      arguments: ["rm S", "rm S; mkfifo S", "rm S; mkdir S", "mv S S.x; ln -s S.x S", ": > S"])
    func segmentGone(_ damage: String) throws {
      try MountedStore.with { mounted in
        try mounted.run("mkdir d; seq 30000 > d/f; echo y > g; echo commit > .llvs/control")
        try mounted.unmount()
        let segment = mounted.store + "/segments/00000001.seg"
        let done = try TestSupport.shell(
          damage.replacingOccurrences(of: "S", with: "'\(segment)'").replacingOccurrences(
            of: "'.x", with: ".x'"))
        #expect(done.status == 0, "\(done.output)")
        try mounted.mount()
        let seen = try mounted.shell(
          """
          cat d/f; cat .llvs/control > ../said; echo $?; cat ../said; grep -c seg .llvs/status.json
          """)
        let error = "Input/output error"
        #expect(seen.output.hasPrefix("cat: d/f: \(error)\n0\n"), "\(seen.output)")
        #expect(seen.output.contains("conflicts damaged: "), "\(seen.output)")
        #expect(seen.output.contains("00000001.seg"), "\(seen.output)")
        #expect(seen.output.contains("pending   "), "\(seen.output)")
        #expect(seen.output.hasSuffix("\n1\n"), "\(seen.output)")
        let verify = try llvs("verify --store '\(mounted.store)'")
        #expect(verify.status == 9 && verify.output.contains("00000001.seg"), "\(verify.output)")
      }
    }

    @Test(
      "llvs verify names damaged bytes that are in no version, mounted and after a kill",
      .timeLimit(.minutes(1)))
    func pendingBytes() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      try mounted.run(
        "echo set settle=1h > .llvs/control; mkdir d; ln -s somewhere d/link; echo x > f")
      let sound = try llvs("verify --mount '\(mounted.path)'")
      #expect(sound.status == 0, "\(sound.output)")
      let journal = "\(mounted.store)/journal"
      let name = try #require(
        try FileSystem.list(journal).filter { $0.hasSuffix(".journal") }.max())
      let bytes = try FileSystem.read("\(journal)/\(name)", atMost: 1 << 24)
      let place = try #require(bytes.firstRange(of: Array("somewhere".utf8)))
      try File("\(journal)/\(name)", .readWrite).write([0x53], at: UInt64(place.lowerBound))
      let verify = try llvs("verify --mount '\(mounted.path)'")
      #expect(verify.status == 9 && verify.output.contains("llvs: d/link: "), "\(verify.output)")
      let told = try mounted.shell("echo verify > .llvs/control; tail -1 '\(mounted.store)/log'")
      #expect(told.output.contains("d/link: "), "\(told.output)")
      _ = Foundation.kill(mounted.daemon, SIGKILL)
      #expect(eventually { (try? FileSystem.status(mounted.path + "/f")) == nil })
      _ = try TestSupport.shell("umount -l '\(mounted.path)'")
      // The kernel ends a killed process in its own time.
      var stored = sound
      _ = try eventually {
        stored = try llvs("verify --store '\(mounted.store)'")
        return stored.status == 9
      }
      #expect(stored.status == 9 && stored.output.contains("llvs: d/link: "), "\(stored.output)")
    }

    @Test(
      "llvs unmount says that the last version could not be made, and the next mount has what it lacks",
      .timeLimit(.minutes(1)))
    func lastVersion() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("echo kept > f; mv '\(mounted.store)/segments' '\(mounted.store)/away'")
        let result = try llvs("unmount '\(mounted.path)'")
        #expect(
          result.status == 6 && result.output.contains("the last version was not made: "),
          "\(result.status) \(result.output)")
        let back = try TestSupport.shell("mv away segments", in: mounted.store)
        #expect(back.status == 0, "\(back.output)")
        try mounted.mount()
        #expect(try mounted.run("cat f") == "kept\n")
        try mounted.run("echo commit > .llvs/control; rm -rf '\(mounted.store)'/*")
        let gone = try llvs("unmount '\(mounted.path)'")
        #expect(gone.status == 3 && gone.output.contains("is not there any more"), "\(gone.output)")
      }
    }

    @Test(
      "Where the store's directory is removed under a mount, commit, status and log say so",
      .timeLimit(.minutes(1)))
    func removed() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("echo x > f; echo commit > .llvs/control; rm -r '\(mounted.store)'")
        let seen = try mounted.shell(
          """
          echo commit > .llvs/control; cat .llvs/control > ../said; grep -c '^store .* any more' ../said
          grep -c 'error .*any more' .llvs/log; '\(MountedStore.program)' status 2>&1 | grep -c 'there is no store in'
          """)
        #expect(seen.output.contains("No such file or directory"), "\(seen.output)")
        #expect(seen.output.hasSuffix("\n1\n2\n1\n"), "\(seen.output)")
      }
    }
  }
}
