import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

extension Mounted {
  /// Mounting, ending, and what is refused (docs/life-cycle.md).
  @Suite(.serialized) struct LifeCycleTests {
    private func mountResult(
      _ store: String, _ path: String, options: String = ""
    ) throws -> ShellResult {
      try TestSupport.shell(
        "'\(MountedStore.program)' mount '\(store)' '\(path)' \(options)", seconds: 40)
    }

    @Test(
      "SIGTERM makes a version of what is saved, and unsaved bytes come back with the next mount",
      .timeLimit(.minutes(1)))
    func terminated() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        // The writer holds its file open, unsaved, until the mount has gone.
        try mounted.run(
          """
          echo saved > saved
          python3 -c 'import os, time
          fd = os.open("unsaved", os.O_CREAT | os.O_TRUNC | os.O_WRONLY); os.write(fd, b"half"); time.sleep(9)' \
            > /dev/null 2>&1 &
          until [ "$(cat unsaved 2>/dev/null)" = half ]; do sleep 0.05; done
          """)
        try mounted.unmount()
        let versions = try StoredVersions(mounted)
        let version = try versions.newest()
        #expect(try versions.text("saved", in: version) == "saved\n")
        #expect(try versions.all().count == 1)
        #expect(try versions.bytes("unsaved", in: version) == nil)
        try mounted.mount()
        #expect(try mounted.run("cat saved unsaved") == "saved\nhalf")
        #expect(try mounted.run("getfattr --only-values -n user.llvs.state unsaved") == "unsaved")
        try mounted.verify()
      }
    }

    @Test(
      "After a plain umount the version is made in the background, and the next mount waits for it",
      .timeLimit(.minutes(1)))
    func plainUnmount() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("head -c 40M /dev/urandom > big; echo x > small; cd /; umount \"$OLDPWD\"")
        try mounted.mount()
        #expect(try mounted.run("stat -c %s big; cat small") == "41943040\nx\n")
        #expect(try mounted.versionCount() == 1)
      }
    }

    @Test(
      "A command whose daemon dies says so, whether it was answered in part or not at all",
      .timeLimit(.minutes(1)))
    func daemonDies() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run(
          """
          echo 1 > f; echo commit > .llvs/control; echo 2 > f; echo commit > .llvs/control
          echo 'switch head~ as side' > .llvs/control; echo 3 > f; echo commit > .llvs/control
          echo "set arbiter='exec sleep 9; true \\$1'" > .llvs/control
          """)
        let said = try TestSupport.shell(
          """
          '\(MountedStore.program)' merge - --mount mnt & sleep 1
          kill -KILL \(mounted.daemon); wait $!; echo $?
          '\(MountedStore.program)' commit --mount mnt; echo $?
          '\(MountedStore.program)' status --mount mnt; echo $?
          """, in: mounted.directory)
        let lines = said.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 6, "\(said.output)")
        #expect(lines.count == 6 && lines[1] == "12" && lines[3] == "12" && lines[5] == "12")
        #expect(lines.first?.contains("ended before it answered") == true, "\(lines)")
        #expect(
          lines.filter { $0.contains("has ended; mount the store there again") }.count == 2,
          "\(lines)")
        try mounted.kill()
      }
    }

    @Test(
      "llvs unmount tells of what is in no version: files that rotted, those not saved, a daemon that was killed",
      .timeLimit(.minutes(1)))
    func leftOut() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        func unmount() throws -> ShellResult {
          try TestSupport.shell("'\(MountedStore.program)' unmount mnt", in: mounted.directory)
        }
        try mounted.run("echo well > a; echo 'the bytes that rot' > b")
        try mounted.python(
          """
          import glob
          for name in glob.glob('../store/journal/*.journal'):
              with open(name, 'r+b') as file:
                  at = file.read().find(b'bytes that rot')
                  if at >= 0: file.seek(at); file.write(b'B')
          """)
        let rotten = try unmount()
        #expect(rotten.status == 9, "\(rotten.output)")
        #expect(rotten.output.contains("damaged, in no version: b"), "\(rotten.output)")
        try mounted.mount()
        #expect(try mounted.run("cat .llvs/head/a; rm b; test ! -e .llvs/head/b") == "well\n")
        #expect(try unmount().status == 0)
        try mounted.mount()
        try mounted.run(
          """
          python3 -c 'import os, time
          fd = os.open("half", os.O_CREAT | os.O_TRUNC | os.O_WRONLY); os.write(fd, b"half"); time.sleep(20)' \
            > /dev/null 2>&1 &
          until [ "$(cat half 2>/dev/null)" = half ]; do sleep 0.05; done
          """)
        let unsaved = try TestSupport.shell(
          "'\(MountedStore.program)' unmount --force mnt", in: mounted.directory)
        #expect(
          unsaved.status == 0
            && unsaved.output.contains("not saved, and kept for the next mount: half"),
          "\(unsaved.output)")
        try mounted.mount()
        try mounted.run("echo new > new")
        // The last version waits for who holds the catalog: until then the daemon is not done.
        let killed = try TestSupport.shell(
          """
          python3 -c 'import sqlite3, time
          held = sqlite3.connect("store/store.sqlite", isolation_level=None)
          held.execute("BEGIN IMMEDIATE"); print("held", flush=True); time.sleep(30)' > held &
          holder=$!; until [ -s held ]; do sleep 0.05; done
          '\(MountedStore.program)' unmount --force mnt & unmounting=$!; sleep 3
          kill -KILL \(mounted.daemon); wait $unmounting; code=$?; kill $holder; exit $code
          """, in: mounted.directory)
        #expect(
          killed.status == 6 && killed.output.contains("the daemon was killed"), "\(killed.output)")
        try mounted.kill()
        try mounted.mount()
        #expect(try mounted.run("cat new half") == "new\nhalf")
      }
    }

    @Test(
      "llvs unmount refuses while something is mounted inside, and says where",
      .timeLimit(.minutes(1)))
    func mountedInside() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("mkdir in bound; mount --bind in bound")
        defer { _ = try? mounted.shell("umount bound") }
        let unmount = "'\(MountedStore.program)' unmount '\(mounted.path)'"
        let refused = try TestSupport.shell(unmount)
        #expect(
          refused.status == 6 && refused.output.contains("/bound is mounted inside"),
          "\(refused.output)")
        try mounted.run("umount bound")
        #expect(try TestSupport.shell(unmount).status == 0)
      }
    }

    @Test(
      "llvs unmount takes a bind mount of a mount away alone, and refuses to leave one dead",
      .timeLimit(.minutes(1)))
    func boundElsewhere() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run(
          "mkdir d ../all ../part; echo x > d/f; mount --bind . ../all; mount --bind d ../part")
        let unmount = "'\(MountedStore.program)' unmount"
        func run(_ words: String) throws -> ShellResult {
          try TestSupport.shell("\(unmount) \(words)", in: mounted.directory)
        }
        defer { _ = try? TestSupport.shell("umount -l all part", in: mounted.directory) }
        let refused = try run("mnt")
        #expect(refused.status == 6 && refused.output.contains("/all too"), "\(refused.output)")
        #expect(try mounted.run("cat d/f ../all/d/f ../part/f") == "x\nx\nx\n")
        for place in ["part", "all"] {
          let gone = try run(place)
          #expect(gone.status == 0 && gone.output.contains("still mounted on"), "\(gone.output)")
          #expect(try mounted.run("ls ../\(place); echo y >> d/f; tail -1 d/f") == "y\n")
        }
        // Where the daemon's own place was taken away, what is left ends it.
        try mounted.run("mount --bind . ../all; cd /; umount \"$OLDPWD\"")
        let last = try run("all")
        #expect(last.status == 0, "\(last.output)")
        try mounted.mount()
        #expect(try mounted.run("cat d/f") == "x\ny\ny\n")
        #expect(try mounted.run("mount --bind . ../all") == "")
        let forced = try run("--force mnt")
        #expect(forced.status == 0, "\(forced.output)")
        #expect(try TestSupport.shell("ls all", in: mounted.directory).output == "")
        try mounted.mount()
      }
    }

    @Test(
      "Closed input, output and errors make no failure of a mount, and are no place for its files",
      .timeLimit(.minutes(1)))
    func closedStreams() throws {
      let temporary = try TemporaryDirectory()
      try FileSystem.makeDirectory(temporary.file("m"))
      defer { _ = try? TestSupport.shell("umount -l m", in: temporary.path) }
      let result = try TestSupport.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        llvs mount s m 0<&- 1>&-; echo $?
        read -r pid < s/lock; readlink /proc/$pid/fd/0 /proc/$pid/fd/1
        llvs unmount m 0<&- 1>&- 2>&-; echo $?
        (llvs mount s m --foreground 0<&- 1>&- 2>&- &)
        until [ -e m/.llvs ]; do sleep 0.05; done; sleep 0.2
        read -r pid < s/lock; readlink /proc/$pid/fd/{0,1,2}
        llvs unmount m; echo $?
        """, in: temporary.path)
      #expect(
        result.output
          == "0\n/dev/null\n/dev/null\n0\n/dev/null\n/dev/null\n/dev/null\nm is unmounted\n0\n",
        "\(result.output)")
    }

    @Test(
      "llvs mount says that it is up once the tree answers, and llvs unmount waits for the end",
      .timeLimit(.minutes(1)))
    func background() throws {
      let temporary = try TemporaryDirectory()
      let (store, path) = (temporary.file("store"), temporary.file("mnt"))
      try FileSystem.makeDirectory(path)
      let up = try mountResult(store, path)
      try #require(up.status == 0, "\(up.output)")
      defer { _ = try? TestSupport.shell("umount -l '\(path)'") }
      let used = try TestSupport.shell("echo x > f && cat f .llvs/status", in: path)
      #expect(used.status == 0 && used.output.hasPrefix("x\n"), "\(used.output)")
      let down = try TestSupport.shell("'\(MountedStore.program)' unmount '\(path)'")
      #expect(down.status == 0, "\(down.output)")
      // Its writer's lock is free at once.
      let versions = try Store.open(path: store, mode: .writer).versions(afterName: nil, limit: 9)
      #expect(versions.count == 1)
    }

    @Test("A dead mount is recognised and replaced", .timeLimit(.minutes(1)))
    func staleMount() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      try mounted.run("echo x > f")
      _ = Foundation.kill(mounted.daemon, SIGKILL)
      #expect(eventually { (try? FileSystem.status(mounted.path + "/f")) == nil })
      // As people do: the command goes on in the background and returns once the tree answers.
      for round in 0..<3 {
        let result = try mountResult(mounted.store, mounted.path)
        #expect(result.status == 0, "\(result.output)")
        #expect(try mounted.run("cat f") == "x\n")
        guard round < 2 else { break }
        let lock = try FileSystem.read(mounted.store + "/lock", atMost: 32)
        let digits = lock.prefix { (0x30...0x39).contains($0) }
        let daemon = try #require(Int32(String(decoding: digits, as: UTF8.self)))
        _ = Foundation.kill(daemon, SIGKILL)
        #expect(eventually { (try? FileSystem.status(mounted.path + "/f")) == nil })
      }
      let result = try TestSupport.shell("'\(MountedStore.program)' unmount '\(mounted.path)'")
      #expect(result.status == 0, "\(result.output)")
    }

    @Test(
      "llvs unmount refuses while programs use files, and says which; --force detaches them",
      .timeLimit(.minutes(1)))
    func busy() throws {
      // A program in the background, and what is said of it.
      let uses = [
        ("exec 5>>f; cd /; read", "bash ([0-9]*) has .*/mnt/f open"),
        ("cd d; read", "bash ([0-9]*) works in .*/mnt/d"),
        ("exec 5< .llvs/versions; cd /; read", "bash ([0-9]*) has .*/mnt/.llvs/versions open"),
        (
          "cp /usr/bin/sleep .; p=$PWD; cd /; exec \"$p/sleep\" 60",
          "sleep ([0-9]*) has .*/mnt/sleep mapped"
        ),
      ]
      for (program, words) in uses {
        try MountedStore.with(stored: ["settle": "1h"]) { mounted in
          try mounted.run("mkdir d; echo x > f")
          let unmount = "'\(MountedStore.program)' unmount '\(mounted.path)'"
          let result = try TestSupport.shell(
            """
            mkfifo '\(mounted.directory)/wait'; exec 9<>'\(mounted.directory)/wait'
            (cd '\(mounted.path)'; \(program)) <&9 9<&- & sleep 0.5
            \(unmount) > '\(mounted.directory)/said' 2>&1; echo $?
            grep -c "mnt is busy: \(words); close .*--force" '\(mounted.directory)/said'
            cat '\(mounted.path)/f'
            \(unmount) --force; kill %1
            """)
          #expect(result.output.hasPrefix("6\n1\nx\n"), "\(words): \(result.output)")
          #expect(result.output.contains("mnt is unmounted"), "\(result.output)")
        }
      }
    }

    @Test(
      "llvs unmount of a bind mount that is in use says which path, and by which program",
      .timeLimit(.minutes(1)))
    func busyBindMount() throws {
      guard getuid() == 0 else { return }
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("mkdir d; echo x > f")
        let result = try TestSupport.shell(
          """
          cd '\(mounted.directory)'; mkdir bound; mount --bind mnt bound; mkfifo wait; exec 9<>wait
          (cd bound/d; read) <&9 9<&- & sleep 0.5
          '\(MountedStore.program)' unmount bound > said 2>&1; echo $?
          grep -c "bound is busy: bash ($!) works in .*/bound/d; close .*--force" said
          kill $!; wait $!; '\(MountedStore.program)' unmount bound; umount -l bound; cat mnt/f
          """)
        #expect(result.output.hasPrefix("6\n1\n"), "\(result.output)")
        #expect(result.output.contains("bound is unmounted"), "\(result.output)")
        #expect(result.output.hasSuffix("x\n"), "\(result.output)")
      }
    }

    @Test(
      "A second mount of a store, and a second store on a mount, are refused with their reason",
      .timeLimit(.minutes(1)))
    func secondMount() throws {
      try MountedStore.with(stored: [:]) { mounted in
        let other = mounted.directory + "/other"
        try FileSystem.makeDirectory(other)
        let again = try mountResult(mounted.store, other)
        #expect(again.status != 0)
        #expect(again.output.contains("\(mounted.daemon)"), "\(again.output)")
        let onTop = try mountResult(mounted.directory + "/store2", mounted.path)
        #expect(onTop.status != 0)
        #expect(onTop.output.contains("mounted"), "\(onTop.output)")
        try mounted.run("echo still here > f; cat f")
        // On a mount there is no place for a store, and what was begun there is gone again.
        let inside = try mountResult(mounted.path + "/new", other)
        #expect(inside.status == 8 && inside.output.contains("is on FUSE"), "\(inside.output)")
        let made = try TestSupport.shell("'\(MountedStore.program)' init '\(mounted.path)/made'")
        #expect(made.status == 8 && made.output.contains("is on FUSE"), "\(made.output)")
        #expect(try mounted.run("ls") == "f\n")
      }
    }

    @Test(
      "Places that cannot be a store or its mount are refused, and nothing is left behind",
      .timeLimit(.minutes(1)))
    func refusedPlaces() throws {
      let temporary = try TemporaryDirectory()
      try FileSystem.makeDirectory(temporary.file("mnt"))
      try FileSystem.makeDirectory(temporary.file("foreign"))
      try FileSystem.replace(temporary.file("foreign/letter.txt"), with: Array("mine".utf8))
      try FileSystem.replace(temporary.file("file"), with: Array("a file".utf8))
      try FileSystem.makeDirectory(temporary.file("parent"))
      let attempts: [(store: String, path: String, reason: String)] = [
        ("file", "mnt", "file"), ("foreign", "mnt", "foreign"),
        ("store", "file", "not a directory"),
        ("store", "missing", "not there"), ("parent/store", "parent", "above"),
        ("missing/store", "mnt", "missing"),
      ]
      for attempt in attempts {
        let result = try mountResult(temporary.file(attempt.store), temporary.file(attempt.path))
        #expect(result.status != 0, "\(attempt): \(result.output)")
        #expect(result.output.contains(attempt.reason), "\(attempt): \(result.output)")
      }
      let made = try TestSupport.shell("'\(MountedStore.program)' init '\(temporary.file("made"))'")
      #expect(made.status == 0, "\(made.output)")
      try FileSystem.makeDirectory(temporary.file("made/inside"))
      for path in ["made", "made/inside"] {
        let result = try mountResult(temporary.file("made"), temporary.file(path))
        #expect(result.status != 0, "\(path): \(result.output)")
        #expect(result.output.contains("store"), "\(path): \(result.output)")
      }
      let left = try TestSupport.shell(
        "ls foreign parent mnt; cat foreign/letter.txt; mount", in: temporary.path)
      #expect(
        left.output.hasPrefix("foreign:\nletter.txt\n\nmnt:\n\nparent:\nmine"), "\(left.output)")
      #expect(!left.output.contains(temporary.path))
    }

    @Test(
      "A store copied while it was not in use is another replica, and both go on",
      .timeLimit(.minutes(1)))
    func copied() throws {
      try MountedStore.with(stored: [:]) { mounted in
        try mounted.run("echo x > f")
        try mounted.unmount()
        _ = try TestSupport.shell("cp -a store store.copy", in: mounted.directory)
        let copy = try Store.open(path: mounted.directory + "/store.copy", mode: .writer)
        let original = try Store.open(path: mounted.store, mode: .reader)
        #expect(copy.replicaID != original.replicaID)
        #expect(copy.storeID == original.storeID)
        try mounted.mount()
        try mounted.run("cat f")
      }
    }
  }
}
