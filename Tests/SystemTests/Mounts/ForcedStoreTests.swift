import Foundation
import TestSupport
import Testing

extension Mounted {
  /// A store that lies on a file system whose locks and syncs hold nothing: here another store's mount.
  @Suite(.serialized) struct ForcedStoreTests {
    /// Runs a script beside a mount; it must succeed.
    private func run(
      _ script: String, beside mounted: MountedStore, status: Int32 = 0,
      sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
      let result = try TestSupport.shell(
        "llvs() { '\(MountedStore.program)' \"$@\"; }\nset -eo pipefail\n" + script,
        in: mounted.directory, seconds: 60, environment: ["TMPDIR": mounted.directory + "/tmp"])
      try #require(
        result.status == status, "\(result.status): \(result.output)",
        sourceLocation: sourceLocation)
      return result.output
    }

    /// A store with two versions and something in none, on a mount.
    private func make(beside mounted: MountedStore) throws {
      _ = try run(
        """
        mkdir tmp inner
        llvs mount mnt/s inner -o force
        cd inner; echo 'set settle=1h' > .llvs/control
        echo one > f; echo commit first > .llvs/control
        echo two > f; echo commit second > .llvs/control
        echo three > pending
        """, beside: mounted)
    }

    private func tearDown(_ mounted: MountedStore) {
      _ = try? TestSupport.shell(
        "'\(MountedStore.program)' unmount --force inner || umount -l inner", in: mounted.directory)
    }

    @Test("what was mounted by force is read through its mount", .timeLimit(.minutes(1)))
    func mounted() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try make(beside: mounted)
        defer { tearDown(mounted) }
        for place in ["--store mnt/s", "--mount inner"] {
          #expect(try run("llvs status \(place)", beside: mounted).contains("+ pending"))
          #expect(try run("llvs log --oneline \(place) | wc -l", beside: mounted) == "2\n")
          #expect(try run("llvs show head:f \(place)", beside: mounted) == "two\n")
          #expect(try run("llvs diff head~ head \(place)", beside: mounted).contains("+two"))
          #expect(try run("llvs diff \(place)", beside: mounted).contains("+three"))
          #expect(try run("llvs history f \(place) | wc -l", beside: mounted) == "2\n")
          #expect(
            try run("llvs verify \(place)", beside: mounted).hasPrefix(
              "no damage found: 2 versions"))
          #expect(
            try run(
              "llvs peer usb /media/usb -q \(place) 2> /dev/null; llvs peer \(place)",
              beside: mounted)
              == "usb  /media/usb\n")
          #expect(
            try run("llvs export head out \(place); cat out/f; rm -r out", beside: mounted)
              .hasSuffix("two\n"))
          _ = try run(
            "llvs backup copy \(place); llvs verify --store copy; rm -r copy", beside: mounted)
        }
      }
    }

    @Test(
      "a store that is not mounted is read by a copy of its databases, and written by force alone",
      .timeLimit(.minutes(1)))
    func unmounted() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try make(beside: mounted)
        defer { tearDown(mounted) }
        _ = try run("llvs backup mnt/copy --mount inner; llvs unmount inner", beside: mounted)
        let before = try run("ls -A mnt/copy mnt/s; sha256sum mnt/copy/* || :", beside: mounted)
        #expect(
          try run("llvs verify --store mnt/copy", beside: mounted).hasPrefix(
            "no damage found: 2 versions"))
        #expect(
          try run("llvs verify --store mnt/s", beside: mounted).hasPrefix(
            "no damage found: 3 versions"))
        #expect(try run("llvs log --oneline --store mnt/s | wc -l", beside: mounted) == "3\n")
        #expect(try run("llvs show head:pending --store mnt/s", beside: mounted) == "three\n")
        #expect(
          try run("ls -A mnt/copy mnt/s; sha256sum mnt/copy/* || :", beside: mounted) == before)
        #expect(try run("ls -A tmp", beside: mounted) == "")
        let refused = try run("llvs undo --store mnt/s", beside: mounted, status: 8)
        #expect(refused.contains("is on FUSE") && refused.contains("--force"), "\(refused)")
        #expect(
          try run("llvs status --store mnt/s", beside: mounted, status: 8).contains("--force"))
        #expect(
          try run("llvs status --force --store mnt/s", beside: mounted).contains(
            "Everything is in a version."))
        _ = try run("llvs undo --force --store mnt/s", beside: mounted)
        #expect(
          try run("llvs log --force --oneline --store mnt/s | wc -l", beside: mounted) == "4\n")
        let mount = try run("llvs mount mnt/s inner", beside: mounted, status: 8)
        #expect(mount.contains("-o force"), "\(mount)")
        let made = try run("llvs init mnt/new", beside: mounted, status: 8)
        #expect(made.contains("is on FUSE"), "\(made)")
      }
    }
  }
}
