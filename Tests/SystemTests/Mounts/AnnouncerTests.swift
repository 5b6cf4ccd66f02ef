import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Programs that watch directories hear of what a sync changed there, and nothing else comes of that.
  @Suite(.serialized) struct AnnouncerTests {
    /// Two stores that exchange through one directory.
    private func withTwo(_ body: (MountedStore, MountedStore) throws -> Void) throws {
      try MountedStore.with(settings: ["settle=1h"]) { a in
        try MountedStore.with(settings: ["settle=1h"]) { b in
          try a.run("mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder")
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder")
          try body(a, b)
        }
      }
    }

    private static let sync = "echo sync > .llvs/control"
    /// All that stat(2) tells of the tree, without what differs by itself.
    private static let look = "find . -printf '%P %y %m %U %G %n %s %T@ %C@ %i %l\\n' | sort"

    private func make(in a: MountedStore, _ b: MountedStore) throws {
      try a.run(
        """
        mkdir d keep gone; for f in changed removed moved attr run; do echo 1 > d/$f; done
        chmod +x d/run; echo x > gone/in; ln -s foo d/link; echo 1 > keep/same; \(Self.sync)
        """)
      try b.run(Self.sync)
      try a.run(
        """
        echo 22 > d/changed; rm d/removed; mv d/moved d/renamed; rm -r gone; chmod 600 d/attr
        echo 2 > d/run; mkdir -p fresh/deep; echo n > fresh/deep/f; echo new > d/created
        ln -s x d/newlink; ln -sfn bar d/link; \(Self.sync)
        """)
    }

    @Test(
      "names that a sync made, changed and removed are told of, and the tree stays as it was",
      .timeLimit(.minutes(1)))
    func tells() throws {
      try withTwo { a, b in
        try make(in: a, b)
        let watched = try WatchedNames(["", "d", "keep"], below: b.path)
        try b.run(Self.sync)
        let events = watched.events(until: "create fresh/")
        #expect(
          Set(events) == [
            "delete gone/", "delete d/removed", "delete d/moved", "modify d/changed",
            "written d/changed", "attrib d/attr", "modify d/run", "create d/created",
            "written d/created", "modify d/link", "create d/newlink", "create d/renamed",
            "written d/renamed", "create fresh/",
          ], "\(events)")
        #expect(Set(events).count == events.count)
        let shown = try b.run(Self.look)
        #expect(try b.versions().count == 2)
        try b.run("echo commit > .llvs/control")
        #expect(try b.versions().count == 2)
        try b.run("sync; echo 2 > /proc/sys/vm/drop_caches || true")
        #expect(try b.run(Self.look) == shown)
        #expect(try b.run("diff -r --no-dereference . '\(a.path)'") == "")
        // What came through the daemon's own calls cannot be written.
        try b.run("echo more >> d/created; echo commit > .llvs/control; cat d/created")
        #expect(try b.versions().count == 3)
        try b.unmount()
        try b.mount()
        #expect(try b.run("cat d/created d/changed") == "new\nmore\n22\n")
      }
    }

    @Test(
      "undo and restore are told of, and nothing is where announce=off",
      .timeLimit(.minutes(1)))
    func commands() throws {
      try withTwo { a, b in
        try make(in: a, b)
        try b.run("echo 'set announce=off' > .llvs/control")
        let watched = try WatchedNames(["", "d"], below: b.path)
        try b.run("\(Self.sync); echo mine > d/mine; echo commit > .llvs/control")
        #expect(
          watched.events(until: "create d/created", seconds: 0.5) == [
            "create d/mine", "modify d/mine", "written d/mine",
          ])
        try b.run("echo 'set announce=on' > .llvs/control; echo undo > .llvs/control")
        #expect(watched.events(until: "delete d/mine") == ["delete d/mine"])
        try b.run("echo redo > .llvs/control")
        #expect(watched.events(until: "written d/mine") == ["create d/mine", "written d/mine"])
      }
    }

    @Test(
      "a sync of many files under programs that list, enter and change them ends as it does alone",
      .timeLimit(.minutes(2)))
    func manyUnderWork() throws {
      try withTwo { a, b in
        let loop = "for i in $(seq 600); do"
        try a.run("mkdir d e; \(loop) echo 1 > d/$i; done; \(Self.sync)", seconds: 90)
        try b.run(Self.sync)
        try a.run(
          """
          \(loop) if ((i % 3)); then echo 22 > d/$i; else rm d/$i; mkdir e/$i; echo x > e/$i/f; fi; done
          \(Self.sync)
          """, seconds: 90)
        let watched = try WatchedNames(["d", "e"], below: b.path)
        let left = try b.run(
          """
          (while ! test -e ../stop; do
            ls -lR . > /dev/null 2>&1 || true; for x in 150 300 450 600; do
              (cd e/$x 2>/dev/null && sleep 0.02 && test "$(/bin/pwd -P)" = '\(b.path)'/e/$x && cat f > /dev/null ||
                test ! -e e/$x/f || echo lost $x)
            done; done) > ../lost 2>&1 &
          (for i in $(seq 200); do echo $i > d/own; rm d/own; mkdir e/own; rmdir e/own; done) &
          \(Self.sync); wait %2; sleep 1; touch ../stop; wait; cat ../lost
          """, seconds: 90)
        #expect(left == "")
        let events = Set(watched.events(until: "-", seconds: 1))
        for told in ["modify d/1", "delete d/3", "create e/3/", "create e/600/"] {
          #expect(events.contains(told) as Bool, "\(told)")
        }
        #expect(try b.run("diff -r . '\(a.path)'") == "")
        #expect(try b.run("ls d | wc -l; ls e | wc -l") == "400\n200\n")
      }
    }

    @Test(
      "what is mounted in a directory that came just now stays mounted",
      .enabled(if: getuid() == 0), .timeLimit(.minutes(1)))
    func keepsMounts() throws {
      try withTwo { a, b in
        try a.run("mkdir e; \(Self.sync)")
        try b.run("\(Self.sync); mkdir own ../else; mount --bind ../else own")
        defer { _ = try? b.shell("umount -l own; umount -l e/1") }
        try a.run("mkdir -p e/1/sub e/2; echo f > e/1/sub/f; \(Self.sync)")
        let watched = try WatchedNames(["e"], below: b.path)
        try b.run("\(Self.sync); mount --bind ../else e/1; touch ../else/there; ls e/1")
        let events = watched.events(until: "create e/2/")
        #expect(events.contains("create e/2/"), "\(events)")
        #expect(try b.run("sleep 0.3; ls e/1 own") == "e/1:\nthere\n\nown:\nthere\n")
      }
    }

    @Test(
      "nothing is done in another file system that is mounted over the tree",
      .enabled(if: getuid() == 0), .timeLimit(.minutes(1)))
    func covered() throws {
      try withTwo { a, b in
        try b.run("touch start; \(Self.sync)")
        try a.run("\(Self.sync); echo new > new; mkdir dir; rm start; \(Self.sync)")
        let watched = try WatchedNames([""], below: b.path)
        // The control file stays open below what covers it.
        let shown = try b.run(
          """
          exec 3> .llvs/control; mount -t tmpfs none '\(b.path)'; touch '\(b.path)/start'
          echo sync >&3; sleep 1; ls '\(b.path)'; umount '\(b.path)'
          """)
        #expect(shown == "start\n")
        #expect(watched.events().isEmpty)
        #expect(try b.run("ls") == "dir\nnew\n")
      }
    }

    @Test(
      "an unmount and a death of the daemon while it tells wait for nothing",
      .timeLimit(.minutes(2)))
    func endsWhileTelling() throws {
      try withTwo { a, b in
        let loop = "for i in $(seq 3000); do"
        try a.run("mkdir d; \(loop) echo 1 > d/$i; done; \(Self.sync)", seconds: 90)
        try b.run(Self.sync)
        for (round, kills) in [false, true, false, true].enumerated() {
          try a.run("\(loop) echo \(round)more > d/$i; done; \(Self.sync)", seconds: 90)
          do {
            let watched = try WatchedNames(["d"], below: b.path)
            try b.run(Self.sync)
            #expect(!watched.events(until: "modify d/1", seconds: 5).isEmpty)
            if kills { try b.kill() } else { try b.unmount() }
          }
          try b.mount()
          #expect(try b.run("cat d/* | sort | uniq -c | tr -s ' '") == " 3000 \(round)more\n")
        }
      }
    }
  }
}
