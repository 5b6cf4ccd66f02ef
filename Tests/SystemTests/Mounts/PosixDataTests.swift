import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Bytes and attributes through the mount, as on a local disk.
  @Suite(.serialized) struct PosixDataTests {
    @Test(
      "O_EXCL makes a file once, and appends of two writers never overwrite each other",
      .timeLimit(.minutes(1)))
    func exclusiveAndAppend() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          put('there', '')
          raises(errno.EEXIST, os.open, 'there', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
          os.symlink('nowhere', 'link'); raises(errno.EEXIST, os.open, 'link', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
          wins = []
          code = "import os,sys\nn=0\nfor i in range(300):\n try: os.close(os.open('race%d'%i,os.O_CREAT|os.O_EXCL|os.O_WRONLY)); n+=1\n except FileExistsError: pass\nprint(n)"
          racers = [subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE) for _ in range(3)]
          same(sum(int(r.communicate()[0]) for r in racers), 300)

          writer = "import os,sys\nfd=os.open('log',os.O_CREAT|os.O_WRONLY|os.O_APPEND)\nfor i in range(1000): os.write(fd,b'%s %06d\\n'%(sys.argv[1].encode(),i))"
          writers = [subprocess.Popen([sys.executable, '-c', writer, name]) for name in 'ab']
          for w in writers: same(w.wait(), 0)
          lines = get('log').split(b'\n')
          same(lines.pop(), b''); same(len(lines), 2000)
          for name in (b'a', b'b'):
              same([l for l in lines if l[:1] == name], [b'%s %06d' % (name, i) for i in range(1000)])
          """#)
      }
    }

    @Test(
      "Sparse files, truncation and random writes read back as on a disk", .timeLimit(.minutes(1)))
    func sparseAndRandom() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          fd = os.open('sparse', os.O_CREAT | os.O_RDWR)
          os.pwrite(fd, b'end', 10 << 30); same(os.fstat(fd).st_size, (10 << 30) + 3)
          same(os.pread(fd, 8, (10 << 30) - 4), b'\0\0\0\0end'); same(os.pread(fd, 4096, 5 << 30), bytes(4096))
          os.ftruncate(fd, 1); os.ftruncate(fd, 5); same(os.pread(fd, 10, 0), bytes(5)); os.close(fd)
          os.truncate('sparse', 0); same(os.stat('sparse').st_size, 0)
          raises(errno.EFBIG, os.truncate, 'sparse', (1 << 63) - 1)
          put('huge', 'x'); os.truncate('huge', 1 << 50)
          raises(errno.EISDIR, os.truncate, '.', 0)

          seed = random.randrange(1 << 32); r = random.Random(seed)
          model = bytearray(); fd = os.open('random', os.O_CREAT | os.O_RDWR)
          for step in range(1500):
              kind = r.randrange(12)
              if kind < 6:
                  at = r.randrange(300000); data = r.randbytes(r.choice([1, 10, 4096, 5000, 70000]))
                  os.pwrite(fd, data, at)
                  if len(model) < at: model.extend(bytes(at - len(model)))
                  model[at:at + len(data)] = data
              elif kind < 8:
                  at = r.randrange(350000); n = r.choice([1, 100, 100000])
                  assert os.pread(fd, n, at) == model[at:at + n], 'seed %d step %d' % (seed, step)
              elif kind == 8:
                  size = r.randrange(350000); os.ftruncate(fd, size)
                  if size < len(model): del model[size:]
                  else: model.extend(bytes(size - len(model)))
              elif kind == 9:
                  at = r.randrange(300000); n = r.randrange(1, 50000); fallocate(fd, 3, at, n)
                  end = min(len(model), at + n)
                  if at < end: model[at:end] = bytes(end - at)
              elif kind == 10:
                  os.close(fd); fd = os.open('random', os.O_RDWR)
              elif step % 40 == 0: os.fsync(fd)
              assert os.fstat(fd).st_size == len(model), 'seed %d step %d' % (seed, step)
          os.close(fd)
          assert get('random') == model, 'seed %d' % seed
          put('expected', bytes(model))
          """#)
        try mounted.unmount()
        try mounted.mount()
        try mounted.run("cmp random expected")
      }
    }

    @Test(
      "Times to the nanosecond, modes and extended attributes hold, and their limits are said",
      .timeLimit(.minutes(1)))
    func attributes() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          put('f', 'x')
          for ns in (0, 1, 1700000000123456789, -1, -1500000001, 4102444800999999999):
              os.utime('f', ns=(ns, ns)); same(os.stat('f').st_mtime_ns, ns)
          before = time.time_ns(); put('f', 'y'); assert abs(os.stat('f').st_mtime_ns - before) < 2e9
          c = os.stat('f').st_ctime_ns; time.sleep(0.02); os.chmod('f', 0o4751)
          same(stat.S_IMODE(os.stat('f').st_mode), 0o4751); assert os.stat('f').st_ctime_ns > c
          put('f', 'z'); os.mkdir('d', 0o750); same(stat.S_IMODE(os.stat('d').st_mode), 0o750)
          m = os.stat('d').st_mtime_ns; time.sleep(0.02); put('d/x', ''); assert os.stat('d').st_mtime_ns > m
          os.utime('d', ns=(5, 7)); same(os.stat('d').st_mtime_ns, 7)

          for path in ('f', 'd'):
              os.setxattr(path, 'user.a', b'1'); os.setxattr(path, 'user.empty', b'')
              same(os.getxattr(path, 'user.a'), b'1'); same(os.getxattr(path, 'user.empty'), b'')
              same(sorted(os.listxattr(path)), ['user.a', 'user.empty'])
              raises(errno.EEXIST, os.setxattr, path, 'user.a', b'2', os.XATTR_CREATE)
              raises(errno.ENODATA, os.setxattr, path, 'user.b', b'2', os.XATTR_REPLACE)
              os.setxattr(path, 'user.a', b'2', os.XATTR_REPLACE); same(os.getxattr(path, 'user.a'), b'2')
              os.removexattr(path, 'user.a'); raises(errno.ENODATA, os.getxattr, path, 'user.a')
              raises(errno.ENODATA, os.removexattr, path, 'user.a')
              os.setxattr(path, 'user.' + 'n' * 250, b'v'); same(os.getxattr(path, 'user.' + 'n' * 250), b'v')
              raises(errno.ERANGE, os.setxattr, path, 'user.' + 'n' * 251, b'v')
              os.removexattr(path, 'user.' + 'n' * 250)
          for size in (0, 1, 255, 4000, 65536):
              value = os.urandom(size)
              try: os.setxattr('f', 'user.size', value)
              except OSError as error: assert error.errno in (errno.ENOSPC, errno.E2BIG) and size > 4000, (size, error)
              else: same(os.getxattr('f', 'user.size'), value)
          raises(errno.E2BIG, os.setxattr, 'f', 'user.size', bytes(65537))
          raises(errno.EOPNOTSUPP, os.setxattr, 'f', 'system.posix_acl', struct.pack('<I', 2))
          # An empty list is none.
          os.setxattr('f', 'system.posix_acl_access', struct.pack('<I', 2))
          raises(errno.ENODATA, os.getxattr, 'f', 'system.posix_acl_access')
          raises(errno.ENODATA, os.getxattr, 'f', 'security.capability')
          os.symlink('f', 's'); raises(errno.EPERM, os.setxattr, 's', 'user.a', b'', 0, follow_symlinks=False)
          # What answers but is in no listing.
          same(os.getxattr('f', 'user.llvs.key'), b'f')
          assert not any(n.startswith('user.llvs') for n in os.listxattr('f'))

          s = os.statvfs('.')
          assert s.f_bsize > 0 and s.f_frsize > 0 and s.f_namemax == 255, s
          assert 0 < s.f_bavail <= s.f_bfree <= s.f_blocks and s.f_files > 0, s
          host = os.statvfs('/tmp')
          assert s.f_blocks * s.f_frsize == host.f_blocks * host.f_frsize, (s, host)
          """#)
      }
    }

    @Test("Locks hold between processes and go with their owner", .timeLimit(.minutes(1)))
    func locks() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          put('f', 'x' * 100)
          holder = "import fcntl,sys,time\nf=open('f','r+b')\n%s\nprint('held',flush=True)\nsys.stdin.read()"
          for take, try_it in (
              ('fcntl.flock(f,fcntl.LOCK_EX)', lambda f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)),
              ('fcntl.lockf(f,fcntl.LOCK_EX,10,20)', lambda f: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 25))):
              p = subprocess.Popen([sys.executable, '-c', holder % take], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
              same(p.stdout.readline(), b'held\n')
              with open('f', 'r+b') as f:
                  raises(errno.EAGAIN, try_it, f)
                  fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 50)
                  p.stdin.close(); same(p.wait(), 0)
                  try_it(f)
          # One that waits gets the lock when its holder dies.
          p = subprocess.Popen([sys.executable, '-c', holder % 'fcntl.lockf(f,fcntl.LOCK_EX)'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
          p.stdout.readline()
          q = subprocess.Popen([sys.executable, '-c', holder % 'fcntl.lockf(f,fcntl.LOCK_EX)'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
          time.sleep(0.2); p.kill(); p.wait()
          same(q.stdout.readline(), b'held\n'); q.stdin.close(); q.wait()
          """#)
      }
    }

    @Test(
      "Mapped pages are shared with readers and writers, and arrive in the file",
      .timeLimit(.minutes(1)))
    func mapping() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          put('m', bytes(20000))
          fd = os.open('m', os.O_RDWR); m = mmap.mmap(fd, 20000)
          m[5000:5003] = b'abc'; m.flush(); same(get('m')[5000:5003], b'abc')
          os.pwrite(fd, b'xyz', 9000); same(m[9000:9003], b'xyz')
          other = subprocess.check_output([sys.executable, '-c', "import mmap\nf=open('m','r+b')\nm=mmap.mmap(f.fileno(),0)\nm[0:2]=b'hi'\nprint(m[5000:5003].decode())"])
          same(other, b'abc\n'); same(m[0:2], b'hi')
          os.close(fd); m[19998:20000] = b'ZZ'; m.close()
          same(get('m')[19998:], b'ZZ')
          private = mmap.mmap(os.open('m', os.O_RDONLY), 20000, access=mmap.ACCESS_COPY); private[0:2] = b'no'
          same(get('m')[:2], b'hi')
          """#)
        try mounted.unmount()
        try mounted.mount()
        try mounted.python("same(get('m')[19998:], b'ZZ'); same(get('m')[5000:5003], b'abc')")
      }
    }

    @Test(
      "fsync of files and directories succeeds, and a remount keeps inode numbers and everything",
      .timeLimit(.minutes(1)))
    func remount() throws {
      try MountedStore.with { mounted in
        let walk = #"""
          def walk(top):
              found = {}
              for base, folders, files in os.walk(top):
                  for name in folders + files:
                      path = os.path.join(base, name); s = os.lstat(path)
                      # A directory's time is kept where somebody set it.
                      time_kept = not stat.S_ISDIR(s.st_mode) or s.st_mtime_ns < 1000
                      found[path] = (s.st_ino, oct(s.st_mode), s.st_size, time_kept and s.st_mtime_ns, s.st_uid, s.st_gid, s.st_nlink,
                          os.readlink(path) if stat.S_ISLNK(s.st_mode) else
                          get(path) if stat.S_ISREG(s.st_mode) else None,
                          sorted((n, os.getxattr(path, n, follow_symlinks=False)) for n in os.listxattr(path, follow_symlinks=False)))
              return found

          """#
        try mounted.python(
          walk + #"""
            import pickle
            os.makedirs('a/b/c')
            for i in range(200):
                put('a/f%d' % i, os.urandom(i * 50)); os.chmod('a/f%d' % i, 0o600 + i % 64)
                os.utime('a/f%d' % i, ns=(i, i * 1000003))
            os.symlink('f1', 'a/b/link'); os.setxattr('a/f3', 'user.tag', b'red')
            put('a/b/big', os.urandom(3000000)); os.mkdir('a/empty', 0o700)
            os.utime('a/empty', ns=(1, 1))
            fd = os.open('a/b/big', os.O_RDWR); os.fsync(fd); os.fdatasync(fd); os.close(fd)
            fd = os.open('a', os.O_RDONLY); os.fsync(fd); os.close(fd); os.sync()
            pickle.dump(walk('a'), open('../before', 'wb'))
            """#)
        // The first remount shows what the last cut took, the second what the journal held.
        try mounted.unmount()
        try mounted.mount()
        try mounted.python(
          walk
            + #"""
            import pickle
            before, now = pickle.load(open('../before', 'rb')), walk('a')
            same(sorted(now), sorted(before))
            for path in now: same((path, now[path]), (path, before[path]))
            os.rename('a/f5', 'a/renamed'); os.chmod('a/f6', 0o611); put('a/f7', 'changed')
            os.unlink('a/f8'); os.rename('a/b', 'a/moved'); os.setxattr('a/f3', 'user.tag', b'blue')
            os.utime('a/moved', ns=(3, 4))
            pickle.dump(walk('a'), open('../before', 'wb'))
            """#)
        try mounted.kill()
        try mounted.mount()
        try mounted.python(
          walk
            + #"""
            import pickle
            before, now = pickle.load(open('../before', 'rb')), walk('a')
            same(sorted(now), sorted(before))
            for path in now: same((path, now[path]), (path, before[path]))
            """#)
      }
    }
  }
}
