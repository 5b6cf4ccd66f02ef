import Foundation
import FuseSession
import Synchronization
import Testing

@Suite("A mounted session", .serialized, .enabled(if: Mounted.isPossible, "no usable /dev/fuse"))
struct FuseSessionTests {
  @Test("ordinary tools reach every operation with what they said", .timeLimit(.minutes(1)))
  func ordinaryTools() throws {
    try Mounted.with { mount in
      let result = try mount.shell(
        """
        set -e
        umask 022
        mkdir d; mkdir -m 700 d/e
        echo one > d/f; echo two >> d/f; cat d/f
        ln d/f d/g; ln -s ../target d/s; readlink d/s
        chmod 4751 d/f; truncate -s 3 d/f; touch -d '2020-01-02 03:04:05.123456789 UTC' d/f
        touch d/f2; stat -c '%a %h %s %n' d/f
        mkfifo p; mknod n c 1 3; stat -c '%t %T' n
        mv d/f2 h; mv -n h d/f; ls d; rm d/g h; rmdir d/e
        stat -f -c '%b %f %a %c' .
        sync d/f
        """)
      #expect(result.status == 0, "\(result.output)")
      #expect(
        result.output == """
          one
          two
          ../target
          4751 2 3 d/f
          1 3
          e
          f
          g
          s
          1000 600 500 42

          """)
      let fileSystem = mount.fileSystem
      for detail in [
        "mkdir d 40755 0", "mkdir e 40700 0", "create f 100644 0", "symlink s 120777 0", "link g",
        "setattr mode 4751", "setattr size 3 by handle", "setattr mtime 1577934245.123456789",
        "setattr mtime now", "mknod p 10644 0", "mknod n 20644 259", "rename flags 1", "unlink g",
        "rmdir e", "open appending", "fsync all", "release right handle", "lookup uid \(getuid())",
      ] { #expect(fileSystem.saw(detail), "\(detail)") }
      #expect(fileSystem.calls("flush") > 0)
      #expect(fileSystem.calls("forget too often") == 0)
    }
  }

  @Test("system calls without a tool reach their operations", .timeLimit(.minutes(1)))
  func systemCalls() throws {
    try Mounted.with { mount in
      let result = try mount.shell(
        """
        cat > /dev/null <<< ''
        python3 - <<'END'
        import os, ctypes, errno, fcntl, array
        open('a', 'wb').write(b'0123456789')
        open('b', 'wb').close()
        os.setxattr('a', 'user.x', b'v' * 300, os.XATTR_CREATE)
        print(len(os.getxattr('a', 'user.x')), os.listxattr('a'))
        os.removexattr('a', 'user.x')
        try: os.getxattr('a', 'user.x')
        except OSError as e: print(errno.errorcode[e.errno])
        f = os.open('a', os.O_RDWR); g = os.open('b', os.O_RDWR)
        os.posix_fallocate(f, 5, 100)
        print(os.lseek(f, 1, os.SEEK_DATA), os.lseek(f, 2, os.SEEK_HOLE))
        print(os.copy_file_range(f, g, 4, 2, 0)); print(open('b').read())
        os.fdatasync(f)
        c = ctypes.CDLL(None, use_errno=True)
        def rename(x, y, flags): return c.renameat2(-100, x, -100, y, flags), ctypes.get_errno()
        print(rename(b'a', b'b', 1), rename(b'a', b'b', 2)[0], rename(b'a', b'c', 1)[0])
        print(open('c').read())
        try: fcntl.ioctl(f, 0x5401, array.array('B', [0] * 64))
        except OSError as e: print(errno.errorcode[e.errno])
        fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
        open('d' * 255, 'w').close()
        END
        """)
      #expect(result.status == 0)
      #expect(
        result.output == """
          300 ['user.x']
          ENODATA
          8 9
          4
          2345
          (-1, 17) 0 0
          2345
          ENOTTY

          """)
      #expect(mount.fileSystem.saw("fallocate 0 5 100"))
      #expect(mount.fileSystem.saw("fsync data"))
      #expect(mount.fileSystem.saw("setxattr flags 1"))
      #expect(mount.fileSystem.saw("rename flags 2"))
    }
  }

  @Test("a large file arrives whole, in large pieces", .timeLimit(.minutes(1)))
  func largeFiles() throws {
    try Mounted.with { mount in
      try withTemporaryDirectory { directory in
        let file = directory + "/file"
        defer { unlink(file) }
        let made = try run("head -c 5000001 /dev/urandom > '\(file)'; md5sum < '\(file)'")
        mount.fileSystem.plant("planted", [UInt8](try Data(contentsOf: URL(fileURLWithPath: file))))
        let result = try mount.shell(
          "dd if='\(file)' of=copy bs=1M status=none; md5sum < copy; md5sum < planted")
        #expect(result.output == made.output + made.output)
        #expect(mount.fileSystem.calls("large write") >= 4)
      }
    }
  }

  @Test(
    "a directory larger than any buffer is listed once each name", .timeLimit(.minutes(1)),
    arguments: [ConnectionOptions.ReaddirPlus.never, .automatic, .always])
  func largeDirectories(plus: ConnectionOptions.ReaddirPlus) throws {
    var connection = ConnectionOptions()
    connection.readdirPlus = plus
    let fileSystem = MemoryFileSystem()
    for index in 0..<2000 {
      fileSystem.plant("\(index)-" + String(repeating: "n", count: index % 250))
    }
    try Mounted.with(fileSystem, connection: connection) { mount in
      let result = try mount.shell("ls | sort -u | wc -l; ls -l | wc -l; find . -type f | wc -l")
      #expect(result.output.split(separator: "\n") == ["2000", "2001", "2000"])
      #expect((fileSystem.calls("readdir") > 0) == (plus != .always))
      #expect((fileSystem.calls("readdirplus") > 0) == (plus != .never))
      #expect(fileSystem.calls("forget too often") == 0)
    }
  }

  @Test("opens can be ended once for all by ENOSYS", .timeLimit(.minutes(1)))
  func withoutOpens() throws {
    var connection = ConnectionOptions()
    connection.withoutOpens = true
    let fileSystem = MemoryFileSystem()
    for name in ["a", "b", "c"] { fileSystem.plant(name, Array(name.utf8)) }
    fileSystem.state.withLock { $0.openError = ENOSYS }
    try Mounted.with(fileSystem, connection: connection, configure: { $0.flags.isReadOnly = true })
    {
      let result = try $0.shell("cat a b c; touch a")
      #expect(result.output.hasPrefix("abc"))
      #expect(result.output.contains("Read-only file system"))
      #expect(fileSystem.calls("open") == 1)
    }
  }

  @Test("handlers that take long hold up nobody else", .timeLimit(.minutes(1)))
  func slowHandlers() throws {
    let fileSystem = MemoryFileSystem()
    fileSystem.plant("slow", Array("slow".utf8))
    fileSystem.state.withLock { $0.openOptions = .directIO }
    fileSystem.plant("quick", Array("quick".utf8))
    try Mounted.with(fileSystem) { mount in
      let slow = Thread.detached {
        try? mount.shell("for i in {1..8}; do cat slow > /dev/null & done; wait; echo done")
      }
      #expect(eventually { fileSystem.calls("read") > 7 })
      let start = ContinuousClock.now
      let quick = try mount.shell("for i in {1..20}; do cat quick; done")
      #expect(quick.output == String(repeating: "quick", count: 20))
      #expect(ContinuousClock.now - start < .seconds(1))
      #expect(slow.value()?.output == "done\n")
    }
  }

  @Test(
    "writes ask for no capabilities, and say when set-id bits are to go", .timeLimit(.minutes(1)),
    .enabled(if: getuid() == 0, "needs root, who can be another user too"))
  func privileges() throws {
    try Mounted.with(configure: { $0.allowOther = true }) { mount in
      let write = "exec 3<> f; for i in {1..100}; do echo -n x >&3 || exit 1; done"
      let byRoot = try mount.shell("umask 0; touch f; chmod 777 . f; \(write)")
      #expect(byRoot.status == 0, "\(byRoot.output)")
      let fileSystem = mount.fileSystem
      #expect(fileSystem.calls("write") == 100)
      #expect(fileSystem.calls("getxattr") <= 1, "once for an inode")
      let details = ["write clearing", "open clearing", "setattr clearing"]
      #expect(!details.contains { fileSystem.saw($0) }, "root keeps them")
      let byUser = try mount.shell(
        """
        setpriv --reuid 65534 --regid 65534 --clear-groups \\
          bash -ec '\(write); truncate -s 1 f; : > f'
        """)
      #expect(byUser.status == 0, "\(byUser.output)")
      #expect(fileSystem.calls("write") == 200)
      #expect(fileSystem.calls("getxattr") <= 4, "once more after attributes were refreshed")
      for detail in details { #expect(fileSystem.saw(detail), "\(detail)") }
      #expect(!fileSystem.saw("write marked") && !fileSystem.saw("open marked"))
    }
  }
}
