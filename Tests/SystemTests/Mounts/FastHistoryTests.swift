import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

extension MountedStore {
  /// Where versions stand.
  var history: String { path + "/.llvs/versions" }

  /// True if versions are shown by a mount of their own.
  var hasOwnHistory: Bool {
    let table = String(
      decoding: (try? FileSystem.read("/proc/self/mountinfo", atMost: 64 << 20)) ?? [],
      as: UTF8.self)
    return table.contains(" \(history) ")
  }

  /// Mounts with `-o fasthistory`, and returns once that is in force.
  func mountWithHistory(options: String = "") throws {
    try mount(options: ["-o", "fasthistory" + options])
    let isUp = eventually(seconds: 30) { hasOwnHistory }
    try #require(isUp, "history did not come up: \(daemonLog)")
  }

  static func withHistory(
    options: String = "", _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore()
    defer { mounted.tearDown() }
    try mounted.mountWithHistory(options: options)
    try mounted.run("echo 'set settle=1h' > .llvs/control")
    try body(mounted)
    try mounted.unmount()
  }
}

extension Mounted {
  /// `-o fasthistory`: versions as a file system of their own.
  @Suite(
    .serialized, .timeLimit(.minutes(2)),
    .enabled(if: SystemProcess.effectiveUser == 0, "only root may mount inside a mount"))
  struct FastHistoryTests {
    /// One of everything that a version can hold, in several versions.
    private static let sample = """
      mkdir -p d/e empty; echo text > d/f; ln d/f d/g; ln -s ../f d/e/l; mkfifo d/p; echo secret > k; chmod 640 k
      python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("d/s")'; mknod d/n c 1 3; chown 7:8 d/f
      setfattr -n user.a -v 1 d/f; touch -d 2001-02-03T04:05:06.7 d/e; truncate -s 3M holes; echo x >> holes
      for i in {1..700}; do echo $i > d/e/a-file-with-a-rather-long-name-$i; done; head -c 300000 /dev/urandom > big
      echo 'commit one' > .llvs/control; echo more >> d/f; rm d/e/*-7; mv k moved; echo 'commit two' > .llvs/control
      rm -r empty; echo 'commit three' > .llvs/control
      """

    /// All that a program can find out about what is below a directory, but for sizes of made texts.
    private static let survey = #"""
      def survey(top):
          found = {}
          for directory, names, files in os.walk(top):
              for name in ['', '.llvs'] + names + files:
                  path = os.path.join(directory, name) if name else directory
                  s = os.lstat(path)
                  made = '/.llvs/' in path or path.endswith('/.llvs')
                  fact = [s.st_mode, s.st_nlink, s.st_uid, s.st_gid, s.st_rdev, s.st_mtime_ns, s.st_ctime_ns]
                  # The directory of versions itself and directories in it are numbered as they are met.
                  if not stat.S_ISDIR(s.st_mode) and not made: fact += [s.st_ino, s.st_size, s.st_blocks]
                  if stat.S_ISLNK(s.st_mode): fact.append(os.readlink(path))
                  if stat.S_ISREG(s.st_mode): fact.append(get(path))
                  if not stat.S_ISLNK(s.st_mode):
                      fact.append([(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path))])
                  if stat.S_ISREG(s.st_mode) and not made:
                      fact.append([os.getxattr(path, 'user.llvs.' + n) for n in ('key', 'version')])
                      with open(path, 'rb') as file:
                          if s.st_size: fact += [os.lseek(file.fileno(), 0, w) for w in (os.SEEK_DATA, os.SEEK_HOLE)]
                  if stat.S_ISDIR(s.st_mode): fact.append(sorted(os.listdir(path)))
                  found[os.path.relpath(path, top)] = fact
              if '.llvs' not in directory:
                  for name in ['info', 'changes']:
                      found[os.path.relpath(directory, top) + ' ' + name] = get(directory + '/.llvs/' + name)
                  parents = directory + '/.llvs/parents'
                  found[os.path.relpath(directory, top) + ' parents'] = [
                      os.readlink(parents + '/' + n) for n in sorted(os.listdir(parents))]
          return found
      """#

    @Test("Versions look the same with the option and without, in every respect")
    func same() throws {
      try MountedStore.withHistory { mounted in
        try mounted.run(Self.sample)
        let script =
          Self.survey + #"""

            import pickle
            found = {v: survey('.llvs/versions/' + v) for v in os.listdir('.llvs/versions')}
            if sys.argv[1] == 'put':
                pickle.dump(found, open('../found', 'wb'))
            else:
                before = pickle.load(open('../found', 'rb'))
                same(sorted(found), sorted(before))
                for version in found:
                    same(sorted(found[version]), sorted(before[version]))
                    for path in found[version]:
                        assert found[version][path] == before[version][path], (
                            version, path, found[version][path], before[version][path])
            """#
        try mounted.python(script, arguments: "put")
        try mounted.run("cp -r --no-dereference .llvs/versions ../copy 2> /dev/null || true")
        // The same tree without its own mount, and after a remount with neither in the kernel.
        try mounted.run("umount .llvs/versions")
        try mounted.python(script, arguments: "look")
        try mounted.unmount()
        try mounted.mount()
        try mounted.python(script, arguments: "look")
        try mounted.run(
          "diff -r -x p -x s -x n .llvs/versions ../copy; diff -r -x p -x s -x n ../copy .llvs/versions"
        )
        try mounted.unmount()
        try mounted.mountWithHistory()
        try mounted.python(script, arguments: "look")
        try mounted.run("diff -r -x p -x s -x n .llvs/versions ../copy")
      }
    }

    @Test("A version is listed and found by name as soon as it is committed")
    func newVersions() throws {
      try MountedStore.withHistory { mounted in
        try mounted.python(
          #"""
          before = set(os.listdir('.llvs/versions'))
          for i in range(60):
              put('f', str(i))
              put('.llvs/control', 'commit\n')
              head = os.path.basename(os.readlink('.llvs/head'))
              assert head not in before
              if i % 3 == 0: same(get('.llvs/versions/' + head + '/f'), str(i).encode())
              after = set(os.listdir('.llvs/versions'))
              same(after - before, {head})
              same(get('.llvs/versions/' + head + '/f'), str(i).encode())
              before = after
          # Also who goes on listing through one descriptor.
          top = os.open('.llvs/versions', os.O_RDONLY)
          same(set(os.listdir(top)), before)
          put('f', 'last'); put('.llvs/control', 'commit\n')
          same(len(os.listdir(top)), len(before) + 1)
          raises(errno.ENOENT, os.stat, '.llvs/versions/none')
          # By a whole id, as a link beside the names.
          id = [l.split()[1] for l in get('.llvs/head/.llvs/info').decode().splitlines() if l.startswith('id ')][0]
          same(os.readlink('.llvs/versions/' + id), os.path.basename(os.readlink('.llvs/head')))
          """#)
      }
    }

    @Test("Every change is refused as on a disk that is mounted read-only")
    func readOnly() throws {
      try MountedStore.withHistory { mounted in
        try mounted.commitSample()
        try mounted.python(
          #"""
          top = '.llvs/versions/' + os.listdir('.llvs/versions')[0]
          f, d, l = top + '/d/f', top + '/d', top + '/d/l'
          refused(f, d, l)
          calls = [
              (os.mkdir, top + '/../new'), (os.rmdir, top), (os.unlink, top + '/.llvs/info'), (os.mkdir, top + '/.llvs/x'),
          ]
          for call, *args in calls: raises(errno.EROFS, call, *args)
          # It is another file system.
          assert os.stat(top).st_dev != os.stat('.').st_dev
          for call, *args in [(os.rename, f, 'out'), (os.rename, 'own', d + '/in'), (os.link, f, 'out')]:
              raises(errno.EXDEV, call, *args)
          assert os.access(f, os.R_OK) and get(f) == b'text\n'
          same(sorted(os.listdir('.')), ['d', 'own'])
          same(subprocess.check_output(['find', '.llvs', '-xdev', '-path', '*/versions/*']), b'')
          with open(f) as file:
              os.fsync(file.fileno())
              memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
              same(memory[:], b'text\n')
          """#)
      }
    }

    @Test("It goes with the mount, whoever ends that, and plain umount says busy")
    func unmounting() throws {
      let program = MountedStore.program
      let ways = [
        "kill -TERM \"$daemon\"", "kill -INT \"$daemon\"", "'\(program)' unmount \"$mount\"",
        "umount -R \"$mount\"", "umount \"$mount/.llvs/versions\"; umount \"$mount\"",
        "umount -l \"$mount\"",
      ]
      for way in ways {
        let mounted = try MountedStore()
        defer { mounted.tearDown() }
        try mounted.mountWithHistory()
        try mounted.run("echo x > f; echo commit > .llvs/control; cat .llvs/head/f; echo y > g")
        let busy = try TestSupport.shell("umount '\(mounted.path)'")
        #expect(busy.status != 0 && busy.output.contains("busy"), "\(busy.output)")
        let ended = try TestSupport.shell(
          """
          mount='\(mounted.path)'; daemon=\(mounted.daemon); \(way) || exit 1
          for i in {1..200}; do grep -q "$mount" /proc/self/mountinfo || break; sleep 0.05; done
          ! grep "$mount" /proc/self/mountinfo
          """)
        #expect(ended.status == 0, "\(way): \(ended.output)")
        // Everything is in a version, and the lock is given up, once the daemon has gone.
        try mounted.unmount()
        let versions = try StoredVersions(mounted)
        #expect(try versions.text("g", in: versions.newest()) == "y\n", "\(way)")
      }
    }

    @Test("After kill -9 the next mount takes both dead ones away, and unmounting does too")
    func killed() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mountWithHistory()
      try mounted.run("echo x > f; echo commit > .llvs/control; cat .llvs/head/f")
      for _ in 0..<2 {
        _ = Foundation.kill(mounted.daemon, SIGKILL)
        #expect(eventually { (try? FileSystem.fileSystem(of: mounted.path)) == nil })
        // What the kernel remembers of the dead one still looks alive here and there.
        try mounted.mountWithHistory()
        try #require(
          eventually { (try? mounted.shell("cat f .llvs/head/f").status) == 0 }, "it stayed dead")
        let layers = try mounted.run(
          "grep -c ' \(mounted.path)' /proc/self/mountinfo; cat f .llvs/head/f")
        #expect(layers == "2\nx\nx\n")
      }
      _ = Foundation.kill(mounted.daemon, SIGKILL)
      #expect(eventually { (try? FileSystem.fileSystem(of: mounted.path)) == nil })
      let freed = try TestSupport.shell(
        "'\(MountedStore.program)' unmount '\(mounted.path)'; grep '\(mounted.path)' /proc/self/mountinfo"
      )
      #expect(freed.output.contains("is free") && freed.status == 1, "\(freed.output)")
    }

    @Test("Where it is unmounted by hand history is shown as without it, and open files go on")
    func byHand() throws {
      try MountedStore.withHistory { mounted in
        try mounted.run("head -c 5000000 /dev/urandom > f; echo commit > .llvs/control")
        try mounted.python(
          #"""
          want = get('f')
          file = open('.llvs/head/f', 'rb')
          same(file.read(100), want[:100])
          assert subprocess.call(['umount', '.llvs/versions'], stderr=subprocess.DEVNULL) != 0
          subprocess.check_call(['umount', '-l', '.llvs/versions'])
          same(os.stat('.llvs/versions').st_dev, os.stat('.').st_dev)
          same(get('.llvs/head/f'), want)
          put('g', 'g'); put('.llvs/control', 'commit\n')
          same(get('.llvs/head/g'), b'g'); same(len(os.listdir('.llvs/versions')), 2)
          os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
          same(file.read(), want[100:])
          """#)
        #expect(!mounted.hasOwnHistory)
      }
    }

    @Test("A file that is open through many versions and the loss of its name reads on")
    func openFile() throws {
      try MountedStore.withHistory { mounted in
        try mounted.run("head -c 3000000 /dev/urandom > f; echo commit > .llvs/control")
        try mounted.python(
          #"""
          want = get('f')
          file = open('.llvs/head/f', 'rb')
          os.unlink('f')
          for i in range(20):
              put('g', str(i)); put('.llvs/control', 'commit\n')
          open('/proc/sys/vm/drop_caches', 'w').write('3')
          same(file.read(), want)
          """#)
      }
    }

    @Test("An ordinary user is refused with the reason, and others are let in as the mount says")
    func users() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      let refused = try TestSupport.shell(
        """
        chmod 777 .; mkdir theirs; chown 65534 theirs
        setpriv --reuid 65534 --regid 65534 --clear-groups '\(MountedStore.program)' mount "$PWD/theirs/store" \
          "$PWD/theirs" -o fasthistory; echo $?; ls theirs
        """, in: mounted.directory)
      #expect(
        refused.output.contains("only root may use fasthistory")
          && refused.output.hasSuffix("\n8\n"),
        "\(refused.output)")
      func asNobody(_ script: String) throws -> ShellResult {
        try TestSupport.shell(
          "exec setpriv --reuid 65534 --regid 65534 --clear-groups bash -c '\(script)'", in: "/")
      }
      for isOpen in [false, true] {
        try mounted.mountWithHistory(options: isOpen ? ",allow_other,dev,suid" : "")
        try mounted.run(
          "echo open > f; echo closed > k; chmod 600 k; [ -e n ] || mknod -m 666 n c 1 3; echo commit > .llvs/control; cat .llvs/head/k"
        )
        let seen = try asNobody("cat \(mounted.history)/*/f")
        #expect((seen.status == 0) == isOpen, "\(seen.output)")
        let closed = try asNobody("cat \(mounted.history)/*/k")
        #expect(closed.status != 0 && !closed.output.contains("closed\n"), "\(closed.output)")
        let table = try TestSupport.shell("grep ' \(mounted.history) ' /proc/self/mountinfo")
        #expect(
          table.output.contains("ro,nosuid,nodev") && table.output.contains(" fuse.llvs ")
            && table.output.contains(mounted.store), "\(table.output)")
        try mounted.unmount()
      }
    }

    @Test("Commands given inside a version are for the store, and find it by its name")
    func commands() throws {
      try MountedStore.withHistory { mounted in
        try mounted.run(
          """
          mkdir d; echo x > d/f; echo commit > .llvs/control; echo y > d/f; cd .llvs/head/d
          '\(MountedStore.program)' commit; '\(MountedStore.program)' status > /dev/null
          '\(MountedStore.program)' log --store '\(mounted.store)' > /dev/null
          '\(MountedStore.program)' status --store '\(mounted.store)' > /dev/null
          """)
        #expect(try mounted.versions().count == 2)
      }
    }

    @Test("A value whose bytes are damaged answers EIO, and all else goes on")
    func damage() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      try mounted.run(
        "head -c 400000 /dev/urandom > bad; echo good > good; echo commit > .llvs/control")
      try mounted.unmount()
      let segments = try TestSupport.shell("ls -S '\(mounted.store)/segments'").output
      let segment = try #require(segments.split(separator: "\n").first)
      let spoiled = try TestSupport.shell(
        "printf XXXXXXXX | dd of='\(mounted.store)/segments/\(segment)' bs=1 seek=200000 conv=notrunc"
      )
      try #require(spoiled.status == 0)
      try mounted.mountWithHistory()
      try mounted.python(
        "raises(errno.EIO, get, '.llvs/head/bad'); same(get('.llvs/head/good'), b'good\\n'); raises(errno.EIO, get, '.llvs/head/bad')"
      )
      let log = try mounted.run("cat .llvs/log")
      #expect(log.contains("bad in version"), "\(log)")
      try mounted.unmount()
    }
  }
}
