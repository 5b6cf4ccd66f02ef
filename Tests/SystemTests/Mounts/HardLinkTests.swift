import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Hard links: one file under several names, through versions, exchanges and remounts.
  @Suite(.serialized) struct HardLinkTests {
    /// Names of one file have one inode number and count each other; of two files they have not.
    private static let groups = #"""
      def groups(top='.'):
          found = {}
          for base, below, names in os.walk(top):
              for n in names:
                  p = os.path.normpath(os.path.join(base, n)); found.setdefault(os.lstat(p).st_ino, []).append(p)
          for inode, names in found.items():
              for n in names: same((n, os.lstat(n).st_nlink), (n, len(names)))
          return sorted(sorted(names) for names in found.values())

      """#

    /// Links, unlinks, renames and writes at random, and keeps what must be there in a file.
    private static let worker =
      groups + #"""
        import pickle
        state, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
        r = random.Random(seed)
        names, files = pickle.load(open(state, 'rb')) if os.path.exists(state) else ({}, {})
        def check():
            expected = {}
            for n, f in names.items(): expected.setdefault(f, []).append(n)
            same(groups(), sorted(sorted(v) for v in expected.values()))
            for n, f in names.items(): same((n, get(n)), (n, files[f]))
        check()
        folders = ['a', 'b', 'c/d']
        for f in folders: os.makedirs(f, exist_ok=True)
        def name(): return r.choice(folders) + '/n%d' % r.randrange(12)
        for step in range(steps):
            kind = r.randrange(12); new = name(); old = r.choice(sorted(names)) if names else None
            if kind < 2 or not names:
                f = names.get(new, len(files)); names[new] = f; files[f] = b'%d' % r.randrange(10**6); put(new, files[f])
            elif kind < 6:
                if new in names: raises(errno.EEXIST, os.link, old, new)
                else: os.link(old, new); names[new] = names[old]
            elif kind < 8:
                os.unlink(old); del names[old]
            elif kind < 10:
                os.rename(old, new)
                if names.get(new) != names[old]: names[new] = names.pop(old)
            elif kind < 11:
                data = b'+%d' % r.randrange(1000); put(old, data, 'ab'); files[names[old]] += data
            elif r.randrange(4) == 0:
                put('.llvs/control', 'commit')
            else:
                os.chmod(old, r.choice([0o600, 0o644])); same(os.stat(old).st_mode & 0o777, os.stat(old).st_mode & 0o777)
        check()
        pickle.dump((names, files), open(state, 'wb'))
        """#

    /// Each cut of 12,000 removed names took minutes when it looked at all names for each of them.
    @Test(
      "Thousands of names of a file that go while a version has them taken hold nobody up",
      .timeLimit(.minutes(1)))
    func namesThatGo() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.python(
          """
          os.mkdir('d'); put('d/f', '')
          for i in range(12000): os.link('d/f', f'd/{i}')
          """, seconds: 20)
        try mounted.shell(
          "(echo commit > .llvs/control) & sleep 0.2; rm -r d; echo x > new; wait", seconds: 20)
        try mounted.commit()
        #expect(try mounted.run("ls") == "new\n")
      }
    }

    /// The file that has lost its name to a directory is the same file still: it has as many names as it
    /// shows, and what is written through any of them is in the next version.
    @Test(
      "A linked file whose name a directory of another store took keeps its names, and its edits",
      .timeLimit(.minutes(1)), arguments: [false, true])
    func displaced(keepsEmpty: Bool) throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          func sync(_ stores: [MountedStore]) throws {
            for store in stores { try store.run("echo sync > .llvs/control", seconds: 60) }
          }
          try a.run(
            """
            mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder
            mkdir d; echo one > f0; ln f0 f1; ln f0 d/f1
            """)
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder")
          try sync([a, b])
          try b.run("cat f0 f1 d/f1; exec 3< d/f1")
          try a.run(
            "rm d/f1; mkdir d/f1" + (keepsEmpty ? "; chmod 700 d/f1" : "; echo x > d/f1/in"))
          try b.run("echo two > f1")
          try sync([b, a, b])
          for store in [a, b] {
            #expect(try store.run("stat -c %h f0 f1 d/%*") == "3\n3\n3\n")
            #expect(try store.run("stat -c %F d/f1") == "directory\n")
            #expect(try store.run("cat f0 f1 d/%*") == "two\ntwo\ntwo\n")
          }
          try b.run("echo three > \"$(echo d/%*)\"; echo commit > .llvs/control")
          #expect(try b.run("cat f0 .llvs/head/f0 .llvs/head/f1") == "three\nthree\nthree\n")
          try sync([b, a])
          #expect(try a.run("cat f0 d/%*") == "three\nthree\n")
          #expect(
            try b.run("cat d/f1/in 2>/dev/null || stat -c %A d/f1")
              == (keepsEmpty ? "drwx------\n" : "x\n"))
          // The directory goes: the name is the file's again.
          try a.run(
            "rm -r d/f1; ! stat d/f1 2>/dev/null; echo commit > .llvs/control"
          )
          #expect(try a.run("ls d; cat d/f1") == "f1\nthree\n")
          try sync([a, b])
          for store in [a, b] {
            #expect(
              try store.run("ls d .llvs/head/d; cat d/f1; stat -c %h f0")
                == ".llvs/head/d:\nf1\n\nd:\nf1\nthree\n3\n")
          }
          // Where the directory above it moves, it is under its new key.
          try a.run("rm d/f1; mkdir d/f1; echo x > d/f1/in")
          try b.run("echo four > f1")
          try sync([a, b, a, b])
          try a.run("ls d; mv d e; echo commit > .llvs/control; ls e > ../live")
          #expect(try a.run("cat ../live") == "%llvs%e%2Ff1\nf1\n")
          #expect(try a.run("ls .llvs/head/e; cat e/%*") == "%llvs%e%2Ff1\nf1\nfour\n")
          try b.run("mv d/f1 d/g; echo commit > .llvs/control; ls d > ../live")
          #expect(try b.run("cat ../live d/f1") == "f1\ng\nfour\n")
        }
      }
    }

    /// What each name costs must not grow with the number of names: at this number it took minutes once.
    @Test(
      "A file of thousands of names is listed, in history too, removed and brought back",
      .timeLimit(.minutes(1)))
    func manyNames() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        let count = 4000
        try mounted.python(
          """
          os.mkdir('d'); put('d/0', b'x')
          for i in range(1, \(count)): os.link('d/0', f'd/{i}')
          for i in range(0, \(count), 3): os.rename(f'd/{i}', f'd/renamed {i}')
          put('.llvs/control', 'commit')
          """, seconds: 40)
        try mounted.unmount()
        try mounted.mount()
        let listing = "find d -type f -printf '%n names\\n' | sort | uniq -c | tr -s ' '"
        let expected = " \(count) \(count) names\n"
        #expect(try mounted.run(listing, seconds: 40) == expected)
        let inodes = "ls -i .llvs/head/d | awk '{print $1}' | sort -u | wc -l"
        #expect(try mounted.run(inodes, seconds: 40) == "1\n")
        try mounted.run(
          "rm -r d; echo commit > .llvs/control; echo undo > .llvs/control", seconds: 40)
        #expect(try mounted.run(listing, seconds: 40) == expected)
      }
    }

    @Test(
      "What links, unlinks, renames and writes leave is there after versions, remounts and kills",
      .timeLimit(.minutes(4)))
    func lasts() throws {
      let rounds = Int(ProcessInfo.processInfo.environment["LLVS_TEST_KILLS"] ?? "") ?? 8
      var random = SeededRandom(seed: .random(in: 0..<UInt64.max))
      try MountedStore.with(stored: ["settle": "1s"]) { mounted in
        for round in 0..<rounds {
          try mounted.python(
            Self.worker, arguments: "../state \(random.next() >> 1) \(20 + random.next() % 120)")
          switch round % 3 {
          case 0: try mounted.kill()
          case 1:
            try mounted.commit()
            try mounted.kill()
          default: try mounted.unmount()
          }
          try mounted.mount()
        }
        try mounted.python(Self.worker, arguments: "../state 1 0")
        try mounted.commit()
        try mounted.run("diff -r --no-dereference . .llvs/head/")
        // In history the names of one file are one inode too.
        try mounted.python(
          Self.groups + #"""
            def numbers(top):
                found = {}
                for base, below, names in os.walk(top):
                    for n in names:
                        p = os.path.join(base, n); found.setdefault(os.lstat(p).st_ino, []).append(os.path.relpath(p, top))
                return sorted(sorted(v) for v in found.values())
            same(numbers('.llvs/head/'), numbers('.'))
            """#)
        try mounted.unmount()
        try mounted.verify()
        try mounted.mount()
      }
    }

    @Test(
      "cp -a, rsync -aH and tar keep links, into the mount and out of it", .timeLimit(.minutes(2)))
    func copies() throws {
      try MountedStore.with(stored: [:]) { mounted in
        try mounted.run(
          """
          mkdir -p ../plain/one/two; cd ../plain; echo text > a; ln a one/b; ln a one/two/c; echo other > d; ln d e
          ln -s a link; cp -al one copy; cd - > /dev/null
          cp -a ../plain by-cp; rsync -aH ../plain/ by-rsync/; tar c -C ../plain . | (mkdir by-tar; tar x -C by-tar)
          echo commit > .llvs/control
          """)
        let shape = "find . -type f -links +1 | sort | xargs -n1 stat -c '%h %n'"
        let expected = try mounted.run("cd ../plain; \(shape)")
        #expect(expected.split(separator: "\n").count == 7)
        for copy in ["by-cp", "by-rsync", "by-tar"] {
          #expect(try mounted.run("cd \(copy); \(shape)") == expected, "\(copy)")
        }
        try mounted.unmount()
        try mounted.mount()
        try mounted.run(
          "for c in by-cp by-rsync by-tar; do rm -rf ../back; rsync -aH $c/ ../back/; (cd ../back; \(shape)) > ../$c.shape; done"
        )
        for copy in ["by-cp", "by-rsync", "by-tar"] {
          #expect(try mounted.run("cat ../\(copy).shape") == expected, "\(copy)")
        }
        try mounted.run("echo more >> by-cp/one/b; grep -q more by-cp/a; grep -q more by-cp/copy/b")
      }
    }

    @Test(
      "Links travel: a file edited through any name on either side is one file on both",
      .timeLimit(.minutes(3)))
    func travel() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run("mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder")
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder")
          func sync() throws {
            for _ in 0..<2 {
              try a.run("echo sync > .llvs/control")
              try b.run("echo sync > .llvs/control")
            }
          }
          func same(_ script: String) throws -> String {
            let first = try a.run(script)
            #expect(try b.run(script) == first)
            return first
          }
          try a.run("mkdir d; echo one > x; ln x d/y; echo alone > z")
          try sync()
          #expect(try same("stat -c '%h %n' x d/y z") == "2 x\n2 d/y\n1 z\n")
          #expect(try same("test x -ef d/y; echo $?") == "0\n")
          // Written through one name there, while it is known here.
          try b.run("echo two >> d/y")
          try sync()
          #expect(try same("cat x") == "one\ntwo\n")
          #expect(try same("test x -ef d/y; echo $?") == "0\n")
          // A third name made there, seen here at once.
          try a.run("exec 5< x; stat x > /dev/null")
          try b.run("ln x third")
          try sync()
          #expect(try same("stat -c %h x; test third -ef d/y; echo $?") == "3\n0\n")
          try a.run("echo three >> third; grep -q three x; grep -q three d/y")
          try sync()
          #expect(try same("tail -n 1 d/y") == "three\n")
          // In history too they are one inode, whoever made the version.
          let inodes = "cd .llvs/head/; stat -c %i x d/y third | sort -u | wc -l"
          #expect(try same(inodes) == "1\n")
          #expect(
            try same(
              "ls -iR .llvs/head/ | grep -E ' (x|y|third)$' | awk '{print $1}' | sort -u | wc -l")
              == "1\n")
          // A name that parts on one side parts on both; the others stay together.
          try b.run("cp x fresh; mv fresh d/y; echo mine > d/y")
          try a.run("mv third 3rd")
          try sync()
          #expect(try same("cat d/y; stat -c '%h %n' x 3rd d/y") == "mine\n2 x\n2 3rd\n1 d/y\n")
          // Two changes of one file that meet: whatever comes of it is the same on both sides.
          try a.run("echo 'of a' >> x")
          try b.run("sed -i 1s/^/b:/ 3rd; ln x fourth")
          try sync()
          _ = try same("cat x; echo; cat 3rd; echo; cat fourth; stat -c '%h %n' x 3rd fourth")
          try sync()
          #expect(try same("readlink .llvs/head").count > 10)
        }
        try a.verify()
      }
    }

    @Test("A link from history or into it is refused", .timeLimit(.minutes(1)))
    func history() throws {
      try MountedStore.with(stored: [:]) { mounted in
        try mounted.run("echo x > f; echo commit > .llvs/control")
        try mounted.python(
          #"""
          raises(errno.EROFS, os.link, '.llvs/head/f', 'g')
          raises(errno.EROFS, os.link, 'f', '.llvs/g')
          raises(errno.EEXIST, os.link, 'f', '.llvs')
          """#)
      }
    }
  }
}
