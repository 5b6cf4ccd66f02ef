import TestSupport
import Testing

extension Mounted {
  /// Names through the mount, as on a local disk.
  @Suite(.serialized) struct PosixNamesTests {
    @Test(
      "rename replaces, refuses and exchanges as rename(2) and renameat2(2) say",
      .timeLimit(.minutes(1)))
    func renames() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
          put('a', 'A'); put('b', 'B')
          node = os.stat('a').st_ino
          os.rename('a', 'b')
          same(get('b'), b'A'); raises(errno.ENOENT, os.stat, 'a')
          same(os.stat('b').st_ino, node)
          os.rename('b', 'b')
          same(get('b'), b'A')
          # A file that is replaced while it is open goes on for its handle.
          put('victim', 'old')
          with open('victim', 'r+b') as open_file:
              put('fresh', 'new'); os.rename('fresh', 'victim')
              same(open_file.read(), b'old')
              same(os.fstat(open_file.fileno()).st_nlink, 0)
              open_file.write(b'more'); open_file.flush()
              same(get('victim'), b'new')
          # Directories.
          os.makedirs('d/e'); os.makedirs('empty'); put('d/e/f', 'F')
          raises(errno.EINVAL, os.rename, 'd', 'd/e/inside')
          raises(errno.ENOTEMPTY, os.rename, 'empty', 'd')
          raises(errno.EISDIR, os.rename, 'b', 'empty')
          raises(errno.ENOTDIR, os.rename, 'empty', 'b')
          raises(errno.ENOTDIR, os.rename, 'b', 'victim/x')
          raises(errno.ENOENT, os.rename, 'b', 'missing/x')
          os.rename('d', 'empty')
          same(get('empty/e/f'), b'F'); same(os.listdir('empty'), ['e'])
          os.rename('empty/e', 'moved'); same(os.listdir('empty'), []); same(get('moved/f'), b'F')
          # Flags.
          put('x', 'X'); put('y', 'Y')
          raises(errno.EEXIST, renameat2, 'x', 'y', NOREPLACE)
          renameat2('x', 'z', NOREPLACE); same(get('z'), b'X')
          renameat2('z', 'y', EXCHANGE); same((get('y'), get('z')), (b'X', b'Y'))
          renameat2('y', 'moved', EXCHANGE)
          same(get('moved'), b'X'); same(get('y/f'), b'F')
          raises(errno.ENOENT, renameat2, 'moved', 'nothing', EXCHANGE)
          raises(errno.EINVAL, renameat2, 'moved', 'y', NOREPLACE | EXCHANGE)
          raises(errno.ENOENT, renameat2, 'y', 'y/sub', EXCHANGE); raises(errno.EINVAL, renameat2, 'y', 'y/f', EXCHANGE)
          raises(errno.EINVAL, renameat2, 'moved', 'w', WHITEOUT)
          # Across directories and back again.
          os.makedirs('one/two'); put('one/two/n', 'N')
          for _ in range(50):
              os.rename('one/two/n', 'n'); os.rename('n', 'one/two/n')
          same(get('one/two/n'), b'N')
          """#)
      }
    }

    @Test(
      "Names of any bytes, up to 255 of them, stand and come back after a remount",
      .timeLimit(.minutes(1)))
    func anyName() throws {
      try MountedStore.with { mounted in
        let names = #"""
          names = [b'n' * 255, b'\xff\xfe not text', b'line\nbreak', b' lead and trail ', b'-rf', b'*?[]',
                   b"quote's \"", b'tab\t', b'\x01\x7f', 'é'.encode(), b'e\xcc\x81', b'%llvs%41', b'%41', b'.hidden',
                   b'...', b'~', b'\\', b'con', 'ｗｉｄｅ'.encode(), b'\xf0\x9f\x98\x80', b'llvs', b'.llvs2', b'a:b',
                   ('\u0378' * 100).encode()]
          here = os.getcwdb() + b'/names'

          """#
        try mounted.python(
          names + #"""
            os.mkdir(here)
            for index, name in enumerate(names):
                put(here + b'/' + name, str(index))
                same(get(here + b'/' + name), str(index).encode())
            same(sorted(os.listdir(here)), sorted(names))
            raises(errno.ENAMETOOLONG, put, here + b'/' + b'n' * 256, '')
            raises(errno.ENAMETOOLONG, os.mkdir, here + b'/' + b'n' * 256)
            raises(errno.ENAMETOOLONG, os.stat, here + b'/' + b'n' * 256)
            for name in names:
                os.rename(here + b'/' + name, here + b'/t'); os.rename(here + b'/t', here + b'/' + name)
            # A path longer than PATH_MAX can be built step by step.
            fd = os.open(here, os.O_RDONLY)
            for depth in range(20):
                os.mkdir(b'd' * 255, dir_fd=fd)
                inner = os.open(b'd' * 255, os.O_RDONLY, dir_fd=fd); os.close(fd); fd = inner
            leaf = os.open(b'leaf', os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd); os.write(leaf, b'deep'); os.close(leaf)
            os.close(fd)
            """#)
        try mounted.unmount()
        try mounted.mount()
        try mounted.python(
          names + #"""
            same(sorted(os.listdir(here)), sorted(names + [b'd' * 255]))
            for index, name in enumerate(names):
                same(get(here + b'/' + name), str(index).encode())
            fd = os.open(here, os.O_RDONLY)
            for depth in range(20):
                inner = os.open(b'd' * 255, os.O_RDONLY, dir_fd=fd); os.close(fd); fd = inner
            leaf = os.open(b'leaf', os.O_RDONLY, dir_fd=fd)
            same(os.read(leaf, 10), b'deep')
            os.close(leaf); os.close(fd)
            subprocess.check_call(['rm', '-r', here])
            """#)
      }
    }

    @Test(
      "A directory of 20,000 files lists each once, also while it changes, and goes",
      .timeLimit(.minutes(2)))
    func bigDirectory() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          count = 20000 * int(sys.argv[1])
          os.mkdir('big')
          for i in range(count):
              os.close(os.open('big/file%d' % i, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
          same(len(os.listdir('big')), count); same(len(set(os.listdir('big'))), count)
          same(os.stat('big').st_nlink in (1, 2), True)
          # Names that stay are listed exactly once while others come and go.
          seen = []
          with os.scandir('big') as entries:
              for index, entry in enumerate(entries):
                  seen.append(entry.name)
                  if index % 100 == 0:
                      os.unlink('big/file%d' % (index // 2)); put('big/new%d' % index, '')
          assert len(seen) == len(set(seen)), 'a name was listed twice'
          gone = set('file%d' % (i // 2) for i in range(0, count * 2, 100))
          missing = set('file%d' % i for i in range(count)) - gone - set(seen)
          assert not missing, 'not listed: %r' % sorted(missing)[:5]
          """#, seconds: 100, arguments: "\(load)")
        // rm reads and unlinks by turns.
        try mounted.run("rm -r big; test -z \"$(ls)\"", seconds: 100)
      }
    }

    @Test(
      "A removed file or directory lives on for who has it open, and for nobody else",
      .timeLimit(.minutes(1)))
    func removedWhileOpen() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          fd = os.open('f', os.O_CREAT | os.O_RDWR, 0o600)
          os.write(fd, b'before'); os.unlink('f')
          raises(errno.ENOENT, os.stat, 'f'); same(os.listdir('.'), [])
          same(os.fstat(fd).st_nlink, 0)
          os.write(fd, b' after'); same(os.pread(fd, 100, 0), b'before after')
          os.fchmod(fd, 0o640); same(stat.S_IMODE(os.fstat(fd).st_mode), 0o640)
          os.ftruncate(fd, 3); same(os.pread(fd, 100, 0), b'bef')
          put('f', 'another'); same(os.pread(fd, 100, 0), b'bef')
          os.close(fd); same(get('f'), b'another')
          os.mkdir('d'); fd = os.open('d', os.O_RDONLY); os.rmdir('d')
          same(os.listdir(fd), [])
          raises(errno.ENOENT, os.open, 'x', os.O_CREAT | os.O_WRONLY, dir_fd=fd)
          raises(errno.ENOENT, os.mkdir, 'x', dir_fd=fd)
          os.close(fd)
          os.mkdir('d'); put('d/x', '')
          raises(errno.ENOTEMPTY, os.rmdir, 'd'); raises(errno.EISDIR, os.unlink, 'd')
          raises(errno.ENOTDIR, os.rmdir, 'f'); raises(errno.ENOENT, os.unlink, 'nothing')
          raises(errno.EEXIST, os.mkdir, 'd'); raises(errno.EEXIST, os.mkdir, 'f')
          raises(errno.EEXIST, os.mkdir, '.llvs'); raises(errno.ENOTDIR, os.stat, 'f/x')
          """#)
      }
    }

    @Test(
      "Symbolic links, FIFOs and sockets are what they are on a disk, and hard links are refused",
      .timeLimit(.minutes(1)))
    func otherKinds() throws {
      try MountedStore.with { mounted in
        try mounted.python(
          #"""
          import socket
          put('target', 'T')
          for name, to in [('s', 'target'), ('dangling', 'nowhere'), ('long', 'x' * 4000), ('up', '..'), ('b', b'\xff\n')]:
              os.symlink(to, name); same(os.fsencode(os.readlink(name)), os.fsencode(to))
              same(os.lstat(name).st_size, len(os.fsencode(to))); assert stat.S_ISLNK(os.lstat(name).st_mode)
          same(get('s'), b'T'); raises(errno.ENOENT, get, 'dangling')
          raises(errno.EEXIST, os.symlink, 'x', 's')
          os.symlink('loop', 'loop'); raises(errno.ELOOP, get, 'loop')
          raises(errno.EINVAL, os.readlink, 'target')
          os.utime('s', ns=(1, 2), follow_symlinks=False); same(os.lstat('s').st_mtime_ns, 2)
          """#)
        try mounted.python(
          #"""
          import socket
          os.mkfifo('fifo', 0o622); assert stat.S_ISFIFO(os.stat('fifo').st_mode)
          reader = subprocess.Popen(['cat', 'fifo'], stdout=subprocess.PIPE)
          put('fifo', 'through'); same(reader.communicate()[0], b'through')
          s = socket.socket(socket.AF_UNIX); s.bind('sock'); s.listen(1)
          assert stat.S_ISSOCK(os.stat('sock').st_mode)
          c = socket.socket(socket.AF_UNIX); c.connect('sock'); c.close(); s.close()
          """#)
      }
    }
  }
}
