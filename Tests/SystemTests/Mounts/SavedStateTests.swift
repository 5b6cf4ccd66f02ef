import Foundation
import LLVSCore
import TestSupport
import Testing

extension Mounted {
  /// The writes that go into a version (docs/writes.md, rules 1 to 4), with real programs.
  @Suite(.serialized) struct SavedStateTests {
    @Test(
      "A copy that stands still in the middle is in no version, and holds up no other file",
      .timeLimit(.minutes(1)))
    func stoppedCopy() throws {
      try MountedStore.with(stored: ["settle": "300ms"]) { mounted in
        try mounted.run("echo old > target; head -c 60M /dev/urandom > ../source")
        try mounted.waitForVersion(after: 0)
        var count = try mounted.versionCount()
        try mounted.python(
          #"""
          writers = []
          for path in ('new', 'target'):
              copy = subprocess.Popen(['cp', '../source', path], start_new_session=True, stderr=subprocess.DEVNULL)
              while True:
                  try: size = os.stat(path).st_size
                  except FileNotFoundError: size = 0
                  if 4 < size < (60 << 20): break
                  assert copy.poll() is None, 'the copy was too fast'
              copy.send_signal(signal.SIGSTOP)
              writers.append(copy.pid)
          put('../pids', ' '.join(map(str, writers)))
          """#)
        try mounted.run("echo beside > beside")
        try mounted.waitForVersion(after: count)
        // Versions that must not have the halves would come within this time.
        Thread.sleep(forTimeInterval: 1.5)
        let stopped = try mounted.run("stat -c %s new target").split(separator: "\n")
        let versions = try StoredVersions(mounted)
        for version in try versions.all().dropFirst(count) {
          #expect(try versions.text("beside", in: version) == "beside\n")
          if stopped[0] != "62914560" { #expect(try versions.bytes("new", in: version) == nil) }
          if stopped[1] != "62914560" {
            #expect(try versions.text("target", in: version) == "old\n")
          }
        }
        count = try mounted.versionCount()
        try mounted.run("kill -CONT $(cat ../pids)")
        let isWhole = eventually(seconds: 20) {
          guard let versions = try? StoredVersions(mounted), let last = try? versions.all().last
          else { return false }
          return (try? versions.bytes("new", in: last)?.count) == 60 << 20
            && (try? versions.bytes("target", in: last)?.count) == 60 << 20
        }
        #expect(isWhole, "the copies never became a version")
        try mounted.run("cmp new ../source; cmp target ../source")
      }
    }

    @Test(
      "What a shell writes through a descriptor it keeps open is taken whole or not",
      .timeLimit(.minutes(1)))
    func shellDescriptor() throws {
      try MountedStore.with(stored: ["settle": "500ms"]) { mounted in
        try mounted.run(
          """
          exec 3>f
          for i in $(seq 30); do echo line $i >&3; /bin/true; [ $i = 10 ] && echo x > other; sleep 0.1; done
          exec 3>&-
          """)
        try mounted.waitForVersion(after: 0)
        let versions = try StoredVersions(mounted)
        let all = try versions.all()
        for version in all {
          let text = try versions.text("f", in: version)
          #expect(text == nil || text?.split(separator: "\n").count == 30)
        }
        #expect(try versions.text("other", in: versions.newest()) == "x\n")
      }
    }

    @Test(
      "Stores into a mapping after its descriptor was closed are in the version",
      .timeLimit(.minutes(1)))
    func mappedAfterClose() throws {
      try MountedStore.with(stored: ["settle": "300ms"]) { mounted in
        try mounted.run("head -c 100000 /dev/zero > m")
        try mounted.waitForVersion(after: 0)
        let count = try mounted.versionCount()
        try mounted.python(
          #"""
          fd = os.open('m', os.O_RDWR); m = mmap.mmap(fd, 100000); os.close(fd)
          # Longer than `settle`: a version without this would have been made.
          time.sleep(1); m[70000:70005] = b'later'
          """#)
        try mounted.waitForVersion(after: count)
        let versions = try StoredVersions(mounted)
        let bytes = try #require(try versions.bytes("m", in: versions.newest()))
        #expect(bytes.count == 100_000)
        #expect(bytes[70_000..<70_005].elementsEqual("later".utf8))
      }
    }

    @Test(
      "An SQLite database under load passes its integrity check in every version",
      .timeLimit(.minutes(2)),
      arguments: [("wal", "full"), ("delete", "full"), ("wal", "off"), ("delete", "off")],
      [false, true])
    func databaseUnderLoad(
      mode: (journal: String, synchronous: String), isOpenedAgain: Bool
    ) throws {
      try MountedStore.with(stored: ["settle": "40ms"]) { mounted in
        try mounted.python(
          #"""
          import sqlite3
          def connect():
              db = sqlite3.connect('app.db', isolation_level=None)
              db.execute('pragma synchronous=\#(mode.synchronous)')
              return db
          def version(): open('.llvs/control', 'w').write('commit\n')
          db = connect()
          db.execute('pragma journal_mode=\#(mode.journal)').fetchone()
          db.execute('create table t(id integer primary key, a blob, b int)')
          db.execute('create index i on t(b, a)')
          seed = random.randrange(1 << 32); r = random.Random(seed)
          end = time.time() + 6; n = 0
          while time.time() < end:
              if \#(isOpenedAgain ? "True" : "False"): db.close(); db = connect()
              db.execute('begin')
              for _ in range(r.randrange(1, 40)):
                  db.execute('insert or replace into t values (?, ?, ?)', (r.randrange(2000), r.randbytes(r.randrange(600)), n))
              db.execute('delete from t where id = ?', (r.randrange(2000),))
              if r.random() < 0.05: version()
              db.execute('commit'); n += 1
              if r.random() < 0.05: version()
              if r.random() < 0.05: db.execute('pragma wal_checkpoint(truncate)').fetchall()
              time.sleep(r.choice([0, 0, 0.005, 0.05, 0.12]))
          same(db.execute('pragma integrity_check').fetchone(), ('ok',))
          """#)
        // The last of the versions that the program caused comes within this time.
        Thread.sleep(forTimeInterval: 1)
        let versions = try StoredVersions(mounted)
        let all = try versions.all()
        #expect(all.count >= 5, "only \(all.count) versions of busy seconds")
        let copies = mounted.directory + "/copies"
        for (index, version) in all.enumerated() {
          let folder = "\(copies)/\(index)"
          try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
          for name in ["app.db", "app.db-wal", "app.db-journal"] {
            guard let bytes = try versions.bytes(name, in: version) else { continue }
            try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
          }
        }
        let answer = try mounted.run(
          """
          for d in '\(copies)'/*/; do
            [ -e "$d/app.db" ] || continue
            r=$(sqlite3 "$d/app.db" 'pragma integrity_check' 2>&1 | sed -n 1p)
            [ "$r" = ok ] || echo "$d: $r"
          done
          """)
        #expect(answer.isEmpty, "\(answer)")
      }
    }

    @Test(
      "At 60 s without quiet, logs and databases are taken as they stand, and nothing half made",
      .timeLimit(.minutes(3)))
    func overdueCut() throws {
      try MountedStore.with(stored: ["settle": "2s"]) { mounted in
        try mounted.run(
          #"""
          cat > Makefile <<'END'
          all:
          	for i in $$(seq 320); do echo step $$i; sleep 0.2; done
          END
          (make >> log 2>&1 &)
          (tail -n +1 -F log > ../tailed 2> /dev/null & echo $! > ../tail)
          (exec 3>shell; for i in $(seq 320); do echo $i >&3; /bin/true; sleep 0.2; done) &
          (for i in $(seq 320); do echo part $i; sleep 0.2; done > half) &
          sqlite3 app.db 'pragma journal_mode=wal; create table t(a); create index i on t(a)' > /dev/null
          (for i in $(seq 300); do echo "insert into t values ($i);"; echo ".shell sleep 0.2"; done | sqlite3 app.db) &
          echo whole > whole
          sleep 62.5
          """#, seconds: 100)
        try mounted.waitForVersion(after: 0, seconds: 8)
        let versions = try StoredVersions(mounted)
        let first = try #require(try versions.all().first)
        #expect(try versions.text("whole", in: first) == "whole\n")
        #expect(try versions.bytes("Makefile", in: first) != nil)
        #expect(try versions.bytes("half", in: first) == nil)
        #expect(try versions.bytes("shell", in: first) == nil)
        let log = try #require(try versions.text("log", in: first))
        #expect(log.split(separator: "\n").count > 200)
        for name in ["app.db", "app.db-wal"] {
          guard let bytes = try versions.bytes(name, in: first) else { continue }
          try Data(bytes).write(to: URL(fileURLWithPath: "\(mounted.directory)/\(name)"))
        }
        let answer = try mounted.run(
          "cd ..; sqlite3 app.db 'pragma integrity_check'")
        #expect(answer == "ok\n")
        // tail(1) looks once a second.
        try mounted.run(
          """
          until tail -n 1 log | grep -qx 'step 320'; do sleep 0.2; done
          sleep 3; kill $(cat ../tail); cmp ../tailed log
          """, seconds: 60)
      }
    }
  }
}
