import TestSupport
import Testing

extension Mounted {
  /// Directories that were removed while a program works in them or has them open.
  @Suite(.serialized) struct RemovedDirectoryTests {
    /// Checks what a program may still do with a removed directory that it has open as `held`.
    private static let checks = #"""
      def check(held, number):
          status = os.fstat(held)
          assert (status.st_ino, status.st_nlink) == (number, 0), status
          os.fchdir(held)
          again = os.open('.', os.O_RDONLY | os.O_DIRECTORY)
          assert os.fstat(again).st_ino == number
          os.close(again)
          for mode in 0o700, 0o755:
              os.fchmod(held, mode)
              assert stat.S_IMODE(os.stat('.').st_mode) == mode
          raises(errno.ENOENT, os.stat, 'x')
          raises(errno.ENOENT, os.mkdir, 'x')
          raises(errno.ENOENT, os.open, 'x', os.O_CREAT | os.O_WRONLY)
          raises(errno.ENOENT, os.getcwd)
          os.chdir(home)

      def command(words, *where):
          put((where[0] if where else home) + '/.llvs/control', words)

      home = os.getcwd()

      """#

    @Test(
      "A removed directory that a program holds is the removed directory through any number of versions",
      .timeLimit(.minutes(1)), arguments: ["rmdir", "replace"], [false, true])
    func removed(how: String, isRecorded: Bool) throws {
      try MountedStore.with(stored: ["settle": "1h"]) { store in
        try store.python(
          Self.checks + #"""
            how, recorded = sys.argv[1:]
            os.mkdir('d')
            if recorded == 'true': command('commit')
            held, number = os.open('d', os.O_RDONLY), os.stat('d').st_ino
            if how == 'rmdir':
                os.rmdir('d')
            else:
                os.mkdir('e')
                os.rename('e', 'd')
            check(held, number)
            for turn in range(3):
                put('f', str(turn))
                command('commit')
                check(held, number)
            """#, arguments: "\(how) \(isRecorded)")
      }
    }

    @Test(
      "A directory that is removed while a version with it is made is removed for who holds it",
      .timeLimit(.minutes(2)))
    func removedInCut() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { store in
        try store.python(
          Self.checks + #"""
            for turn in range(12):
                os.mkdir('d')
                os.mkdir('many%d' % turn)
                for index in range(300): put('many%d/%d' % (turn, index), 'x')
                held, number = os.open('d', os.O_RDONLY), os.stat('d').st_ino
                commit = subprocess.Popen(['bash', '-c', 'echo commit > .llvs/control'])
                time.sleep(0.005 * turn)
                os.rmdir('d')
                check(held, number)
                commit.wait()
                check(held, number)
                time.sleep(0.2)
                check(held, number)
                command('commit')
                check(held, number)
                os.close(held)
            """#)
      }
    }

    @Test(
      "A directory that another store removed is a removed directory for who holds it, and may come back",
      .timeLimit(.minutes(2)))
    func removedElsewhere() throws {
      try withTwoStores { a, b in
        try a.run("mkdir -p d/e; echo 1 > d/e/f; echo sync > .llvs/control")
        try b.run("echo sync > .llvs/control; rm -r d; echo sync > .llvs/control")
        try a.python(
          Self.checks + #"""
            held = [(os.open(name, os.O_RDONLY), os.stat(name).st_ino) for name in ('d', 'd/e')]
            command('sync')
            raises(errno.ENOENT, os.stat, 'd')
            for one in held: check(*one)
            command('undo')
            assert get('d/e/f') == b'1\n'
            command('redo')
            for one in held: check(*one)
            os.makedirs('d/e')
            put('d/e/g', '2')
            command('commit')
            for one in held: check(*one)
            assert os.listdir('d/e') == ['g']
            """#)
      }
    }

    @Test(
      "A directory that was removed here and comes back with what another store added is another directory",
      .timeLimit(.minutes(2)))
    func comesBack() throws {
      try withTwoStores { a, b in
        try a.run("mkdir d; echo 1 > d/x; echo sync > .llvs/control")
        try b.run("echo sync > .llvs/control; echo 2 > d/y; echo sync > .llvs/control")
        try a.python(
          Self.checks + #"""
            held, number = os.open('d', os.O_RDONLY), os.stat('d').st_ino
            os.unlink('d/x')
            os.rmdir('d')
            command('sync')
            check(held, number)
            assert get('d/y') == b'2\n'
            assert os.stat('d').st_ino != number
            put('d/z', '3')
            os.mkdir('d/e')
            assert sorted(os.listdir('d')) == ['e', 'y', 'z']
            command('commit')
            check(held, number)
            """#)
      }
    }

    private func withTwoStores(_ body: (MountedStore, MountedStore) throws -> Void) throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run("mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder")
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder")
          try body(a, b)
        }
      }
    }
  }
}
