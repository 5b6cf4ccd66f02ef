import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Everything that write(2) answered is there after the daemon was killed (docs/writes.md, rule
  /// 6).
  @Suite(.serialized) struct CrashTests {
    /// Works in a directory until a call fails, then tells what must be there.
    ///
    /// Everything is one system call a step, so that only the step in flight may or may not have happened.
    private static let worker = #"""
      import json, pickle
      home, result, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
      r = random.Random(seed)
      files, folders = {}, set()   # what every call that returned has made
      flight = None                # names that the call in flight touches
      told = []                    # of a write cut short, what it said that it wrote
      os.chdir(home)

      def name():
          base = r.choice(sorted(folders)) + '/' if folders and r.random() < 0.5 else ''
          return base + 'f%d' % r.randrange(25)

      def write(path, at, data, call):
          # The kernel may send a write as several; killed between them it says how far it came, and of the
          # rest, which is in flight, the next call says that nobody is there any more.
          global flight
          flight = [path]
          count = call(data)
          if count == len(data): return
          told.append((path, at, data[:count]))
          call(data[count:])
          raise AssertionError('%d of %d bytes were written to %s' % (count, len(data), path))

      def step():
          global flight
          kind = r.randrange(16)
          path = name()
          if kind < 5 or not files:
              flight = [path]
              fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
              files[path] = b''; flight = None
              for _ in range(r.randrange(3)):
                  data = r.randbytes(r.choice([10, 300, 5000, 140000]))
                  write(path, len(files[path]), data, lambda part: os.write(fd, part)); files[path] += data; flight = None
              if r.random() < 0.3: os.fsync(fd)
              os.close(fd)
          elif kind < 7:
              path = r.choice(sorted(files)); data = b'line %d\n' % r.randrange(10000); flight = [path]
              fd = os.open(path, os.O_WRONLY | os.O_APPEND)
              write(path, len(files[path]), data, lambda part: os.write(fd, part)); files[path] += data; flight = None
              os.close(fd)
          elif kind < 9:
              path = r.choice(sorted(files)); data = r.randbytes(r.choice([1, 4096])); flight = [path]
              at = r.randrange(len(files[path]) + 1)
              fd = os.open(path, os.O_RDWR)
              write(path, at, data, lambda part: os.pwrite(fd, part, at + len(data) - len(part)))
              old = files[path]; files[path] = old[:at] + data + old[at + len(data):]; flight = None
              os.close(fd)
          elif kind < 12:
              old = r.choice(sorted(files)); flight = [old, path]
              os.rename(old, path); data = files.pop(old); files[path] = data; flight = None
          elif kind < 13:
              path = r.choice(sorted(files)); flight = [path]
              os.unlink(path); del files[path]; flight = None
          elif kind < 14:
              path = r.choice(sorted(files)); size = r.randrange(2 * len(files[path]) + 1); flight = [path]
              os.truncate(path, size); files[path] = files[path][:size].ljust(size, b'\0'); flight = None
          elif len(folders) < 6:
              folder = 'd%d' % r.randrange(12)
              if folder in folders: return
              flight = [folder]; os.mkdir(folder); folders.add(folder); flight = None
          else:
              # A directory with all that is in it.
              old, new = r.choice(sorted(folders)), 'd%d' % r.randrange(12)
              if new in folders: return
              flight = [p for p in files if p.startswith(old + '/')] + [old, new]
              flight += [new + p[len(old):] for p in flight if p.startswith(old + '/')]
              os.rename(old, new); folders.remove(old); folders.add(new)
              for p in [p for p in files if p.startswith(old + '/')]: files[new + p[len(old):]] = files.pop(p)
              flight = None

      # What an earlier life left.
      def stop(error): raise error
      for base, below, names in os.walk('.', onerror=stop):
          for n in below: folders.add(os.path.normpath(os.path.join(base, n)))
          for n in names:
              p = os.path.normpath(os.path.join(base, n)); files[p] = get(p)
      steps = 0
      parent = os.getppid()
      put(result + '.ready', '')
      try:
          # No longer than there is somebody who waits for the daemon's end.
          while os.getppid() == parent:
              step(); steps += 1
      except OSError as error:
          if error.errno not in (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO):
              flight = ['failed: %r' % error]
      except AssertionError as error:
          flight = ['failed: %r' % error]
      pickle.dump((files, sorted(folders), flight, steps, told), open(result, 'wb'))
      """#

    private static let check = #"""
      import pickle
      home, result = sys.argv[1], sys.argv[2]
      files, folders, flight, steps, told = pickle.load(open(result, 'rb'))
      flight = set(flight or [])
      assert not any(f.startswith('failed') for f in flight), flight
      os.chdir(home)
      found, found_folders = {}, set()
      for base, below, names in os.walk('.'):
          for n in below: found_folders.add(os.path.normpath(os.path.join(base, n)))
          for n in names:
              p = os.path.normpath(os.path.join(base, n)); found[p] = get(p)
      for p in set(files) | set(found):
          if p in flight: continue
          assert p in found, '%s is not there' % p
          assert p in files, '%s is there again' % p
          assert found[p] == files[p], '%s: %d bytes that differ from the %d written' % (p, len(found[p]), len(files[p]))
      for p, at, part in told:
          assert found.get(p, b'')[at:at + len(part)] == part, '%s: not what was told at %d' % (p, at)
      assert found_folders ^ set(folders) <= flight, (found_folders, folders)
      print(steps)
      """#

    private static let rounds =
      Int(ProcessInfo.processInfo.environment["LLVS_TEST_KILLS"] ?? "") ?? 10

    @Test(
      "Killed at any moment under load, the next mount shows every write that returned",
      .timeLimit(.minutes(CrashTests.rounds > 10 ? 60 : 10)))
    func killedUnderLoad() throws {
      let rounds = CrashTests.rounds
      var random = SeededRandom(seed: .random(in: 0..<UInt64.max))
      try MountedStore.with(stored: ["settle": "50ms"]) { mounted in
        try mounted.run("mkdir 0 1 2")
        var steps = 0
        for round in 0..<rounds {
          let seeds = (0..<3).map { _ in random.next() >> 1 }
          let kill = Double.random(in: 0.3..<1.2, using: &random)
          for worker in 0..<3 {
            try mounted.launchPython(
              Self.worker,
              arguments:
                "'\(mounted.path)/\(worker)' '\(mounted.directory)/result-\(worker)' \(seeds[worker])"
            )
          }
          let areReady = eventually {
            (0..<3).allSatisfy {
              FileManager.default.fileExists(atPath: "\(mounted.directory)/result-\($0).ready")
            }
          }
          try #require(areReady, "the workers of round \(round) did not begin")
          // The moment of the kill is random.
          Thread.sleep(forTimeInterval: kill)
          try mounted.kill()
          for worker in 0..<3 {
            let isDone = eventually {
              FileManager.default.fileExists(atPath: "\(mounted.directory)/result-\(worker)")
            }
            try #require(isDone, "worker \(worker) of round \(round) did not end")
          }
          try mounted.mount()
          for worker in 0..<3 {
            let told = try mounted.python(
              Self.check,
              arguments: "'\(mounted.path)/\(worker)' '\(mounted.directory)/result-\(worker)'")
            steps += Int(told.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
            try mounted.run("rm ../result-\(worker)*")
          }
        }
        #expect(steps > rounds * 20, "seed \(random.seed): too little was done")
        try mounted.unmount()
        try mounted.verify()
        try mounted.mount()
        // What versions hold is what the tree shows, once writers that were cut off are made up for.
        try mounted.python(
          #"""
          for base, below, names in os.walk('.'):
              for n in names:
                  p = os.path.join(base, n)
                  if os.getxattr(p, 'user.llvs.state') == b'unsaved': put(p, get(p))
          """#)
        try mounted.commit()
        try mounted.run("diff -r . .llvs/head/")
      }
    }

    @Test(
      "A file that was synced is whole after the daemon was killed at once", .timeLimit(.minutes(1))
    )
    func syncedThenKilled() throws {
      try MountedStore.with(stored: [:]) { mounted in
        for round in 0..<4 {
          try mounted.python(
            #"""
            n = int(sys.argv[1])
            for i in range(20):
                fd = os.open('f%d' % i, os.O_CREAT | os.O_TRUNC | os.O_RDWR); os.write(fd, b'%d ' % n * 3000)
                os.fsync(fd); os.close(fd); os.rename('f%d' % i, 'g%d' % i)
            m = mmap.mmap(os.open('g0', os.O_RDWR), 0); m[0:4] = b'map '; m.flush()
            """#, arguments: "\(round)")
          try mounted.kill()
          try mounted.mount()
          try mounted.python(
            #"""
            n = int(sys.argv[1])
            for i in range(1, 20): same(get('g%d' % i), b'%d ' % n * 3000)
            same(get('g0')[:4], b'map '); same(sorted(os.listdir('.')), sorted('g%d' % i for i in range(20)))
            """#, arguments: "\(round)")
        }
        try mounted.unmount()
        try mounted.verify()
        try mounted.mount()
      }
    }
  }
}
