import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Old versions are forgotten while a mount is in use.
  @Suite(.serialized) struct CompactionTests {
    /// Works for ten seconds with everything at once, and prints what is wrong at the end.
    private static let load = #"""
      import hashlib, os, random, sqlite3, subprocess, threading, time
      faults, sums, rows, compactions, syncs = [], {}, [0], [0], [0]
      held = open('held-version').read().strip()
      file = os.open('.llvs/versions/%s/held' % held, os.O_RDONLY)
      text = os.pread(file, 1 << 24, 0)
      end = time.time() + 10

      def watched(work):
          def run():
              try:
                  while time.time() < end and not faults: work()
              except Exception as error:
                  faults.append('%s: %r' % (work.__name__, error))
          return threading.Thread(target=run)

      def command(line):
          with open('.llvs/control', 'r+b', buffering=0) as control: control.write(line)

      def write():
          name = 'f%d' % random.randrange(8)
          data = os.urandom(random.choice([100, 5000, 120000]))
          with open(name + '.new', 'wb') as new: new.write(data)
          os.rename(name + '.new', name)
          sums[name] = hashlib.sha256(data).hexdigest()
          time.sleep(0.02)

      def insert():
          base = sqlite3.connect('x.db', timeout=30)
          base.execute('CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, v BLOB)')
          base.execute('INSERT INTO t(v) VALUES(?)', (os.urandom(3000),))
          base.execute('UPDATE t SET v=? WHERE id=abs(random()) % 100', (os.urandom(3000),))
          base.commit(); base.close(); rows[0] += 1

      def read():
          at = random.randrange(len(text))
          os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
          part = os.pread(file, 5000, at)
          if part != text[at:at + len(part)] or not part: faults.append('an open file changed')

      def compact():
          command(b'compact\n'); compactions[0] += 1
          time.sleep(0.1)

      def sync():
          command(b'sync\n'); syncs[0] += 1
          time.sleep(0.2)

      threads = [watched(work) for work in (write, insert, read, compact, sync)]
      for thread in threads: thread.start()
      for thread in threads: thread.join()
      for name, digest in sums.items():
          found = hashlib.sha256(open(name, 'rb').read()).hexdigest()
          if found != digest: faults.append('%s is not what was written' % name)
      base = sqlite3.connect('x.db')
      if base.execute('PRAGMA integrity_check').fetchall() != [('ok',)]: faults.append('x.db is damaged')
      if base.execute('SELECT count(*) FROM t').fetchone()[0] != rows[0]: faults.append('x.db lacks rows')
      base.close()
      command(b'sync\n')
      os.close(file)
      command(b'compact\n')
      file = os.open('.llvs/versions/%s/held' % held, os.O_RDONLY)
      os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
      try:
          os.pread(file, 5000, 0)
          faults.append('the bytes are still there')
      except OSError as error:
          if error.errno != 61: faults.append('reading what is forgotten: %r' % error)
      command(b'verify\n')
      print('faults', faults, compactions[0] > 2, syncs[0] > 2, rows[0] > 5)
      """#

    @Test(
      "a mount under load forgets old versions, syncs and stays whole", .timeLimit(.minutes(3)))
    func load() throws {
      try MountedStore.with(settings: ["settle=100ms", "keep=all:0s"]) { mounted in
        let setup = try mounted.shell(
          """
          set -e; mkdir ../hub; echo "$PWD/../hub" > .llvs/peers/hub
          head -c 700000 /dev/urandom > held; echo commit > .llvs/control
          basename "$(readlink .llvs/head)" > held-version; rm held; echo sync > .llvs/control
          """)
        #expect(setup.status == 0, "\(setup.output)")
        let script = mounted.directory + "/load.py"
        try Self.load.write(toFile: script, atomically: true, encoding: .utf8)
        let result = try mounted.shell("python3 '\(script)' 2>&1; cat .llvs/log", seconds: 90)
        let end = try #require(result.output.firstRange(of: "\n"))
        #expect(
          result.output[..<end.lowerBound] == "faults [] True True True", "\(result.output)")
        // Another machine gets the head whole.
        let other = try mounted.shell(
          """
          '\(MountedStore.program)' clone ../hub ../other -q 2>&1
          '\(MountedStore.program)' verify --store ../other 2>&1
          '\(MountedStore.program)' export head ../tree --store ../other -q 2>&1
          diff -r . ../tree && echo the same
          """, seconds: 60)
        #expect(other.output.hasSuffix("the same\n"), "\(other.output)")
      }
    }

    @Test(
      "a daemon that is killed while it forgets loses nothing that is kept",
      .timeLimit(.minutes(3)))
    func killed() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      let setup = try mounted.shell(
        """
        set -e; echo 'set settle=1h' > .llvs/control; echo 'set keep=all:0s' > .llvs/control
        for i in $(seq 60); do
          head -c 200000 /dev/urandom > f; head -c $((i * 100)) /dev/urandom > g$((i % 7))
          echo commit > .llvs/control
          if [ $i = 20 ]; then echo 'tag kept' > .llvs/control; sha256sum f g* > ../kept; fi
        done
        sha256sum f g* > ../head
        """, seconds: 60)
      #expect(setup.status == 0, "\(setup.output)")
      for delay in ["0", "0.05", "0.1", "0.2", "0.3"] {
        _ = try mounted.shell(
          "(echo compact > .llvs/control) > /dev/null 2>&1 & sleep \(delay); echo")
        try mounted.kill()
        try mounted.mount()
        let found = try mounted.shell(
          """
          sha256sum --quiet -c ../head && (cd .llvs/tags/kept && sha256sum --quiet -c "$OLDPWD/../kept")
          echo verify > .llvs/control && echo whole
          """)
        #expect(found.output == "whole\n", "after \(delay) s: \(found.output)")
      }
      let last = try mounted.shell(
        """
        echo compact > .llvs/control && { echo 'json keep' >&3; cat <&3; } 3<>.llvs/control
        sha256sum --quiet -c ../head; echo verify > .llvs/control && echo whole
        """)
      #expect(last.output.contains(#""forgottenVersions":58"#), "\(last.output)")
      #expect(last.output.hasSuffix("whole\n"), "\(last.output)")
    }
  }
}
