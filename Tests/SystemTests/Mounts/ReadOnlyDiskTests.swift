import Foundation
import TestSupport
import Testing

extension Mounted {
  /// A store on a disk that cannot be written: a snapshot, or a disk that has had errors.
  @Suite(.serialized) struct ReadOnlyDiskTests {
    @Test(
      "The tool reads a store on a disk that cannot be written, also one whose daemon was killed",
      .timeLimit(.minutes(1)), arguments: [false, true])
    func toolReads(killed: Bool) throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run(
          """
          for i in 1 2 3; do echo text $i > f; echo commit > .llvs/control; done
          head -c 3M /dev/urandom > big; cp big ../big; echo commit > .llvs/control
          """)
        let path = mounted.path
        if killed { try mounted.kill() } else { try mounted.unmount() }
        if killed { #expect(try mounted.shell("test -s ../store/store.sqlite-wal").status == 0) }
        let disk = "\(mounted.directory)/disk"
        let ready = try mounted.shell(
          "mkdir '\(disk)' && mount --bind ../store '\(disk)' && mount -o remount,bind,ro '\(disk)'"
        )
        defer { _ = try? TestSupport.shell("umount -l '\(disk)'") }
        #expect(ready.status == 0, "\(ready.output)")
        #expect(try mounted.shell("touch '\(disk)/x'").output.contains("Read-only"))
        func shell(_ script: String) throws -> String {
          let result = try TestSupport.shell(
            script, in: mounted.directory, environment: ["TMPDIR": mounted.directory + "/tmp"])
          #expect(result.status == 0, "\(script): \(result.output)")
          return result.output
        }
        func llvs(_ words: String) throws -> String {
          try shell("'\(MountedStore.program)' \(words)")
        }
        _ = try shell("mkdir tmp")
        #expect(try llvs("log --oneline --store '\(disk)' | wc -l") == "4\n")
        #expect(
          try llvs("diff head~2 head~1 --store '\(disk)' | grep ^[-+]text") == "-text 2\n+text 3\n")
        _ = try llvs("export head out --store '\(disk)'")
        #expect(try shell("cmp out/big big; cat out/f") == "text 3\n")
        _ = try llvs("verify --store '\(disk)'")
        _ = try llvs("backup copy --store '\(disk)'")
        _ = try llvs("verify --store copy")
        #expect(try shell("ls -A tmp") == "")
        // A mount has to write; its message says why it cannot.
        let mount = try TestSupport.shell(
          "'\(MountedStore.program)' mount '\(disk)' '\(path)'", seconds: 20)
        #expect(mount.status != 0 && mount.output.contains("Read-only file system"))
      }
    }

    @Test("The tool reads a backup on a full disk", .timeLimit(.minutes(1)))
    func fullDisk() throws {
      try MountedStore.with { mounted in
        try mounted.run("echo text > f; echo commit > .llvs/control")
        let disk = "\(mounted.directory)/disk"
        defer { _ = try? TestSupport.shell("umount -l '\(disk)'") }
        let result = try mounted.shell(
          """
          cd ..; mkdir disk tmp; mount -t tmpfs -o size=4m tmpfs disk || exit 1
          '\(MountedStore.program)' backup disk/copy --store store || exit 2
          head -c 8M /dev/zero > disk/fill; export TMPDIR=$PWD/tmp
          for verb in 'show head:f' 'log --oneline' verify; do
            '\(MountedStore.program)' $verb --store disk/copy || exit 3
          done
          """)
        #expect(result.status == 0 && result.output.contains("text\n"), "\(result.output)")
      }
    }
  }
}
