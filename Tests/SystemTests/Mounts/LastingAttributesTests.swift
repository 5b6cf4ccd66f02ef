import Foundation
import TestSupport
import Testing

extension Mounted {
  /// What stat(2) shows is the same after versions, remounts and kills.
  @Suite(.serialized) struct LastingAttributesTests {
    @Test(
      "Times of directories, and the mode, owner and attributes of the top, outlast a remount",
      .timeLimit(.minutes(1)))
    func directories() throws {
      try MountedStore.with(stored: ["settle": "100ms"]) { mounted in
        try mounted.run(
          """
          mkdir -p a/b c; touch a/b/file c/gone; mkdir implied; sleep 0.02; touch a/late; rm c/gone
          touch -d '2001-01-01 01:01:01.5' a/b; chmod 1770 .; setfattr -n user.top -v yes .
          """)
        let shown = "stat -c '%n %a %y' . a a/b c implied; getfattr --only-values -n user.top ."
        let before = try mounted.run(shown)
        #expect(before.hasPrefix(". 1770 "))
        try mounted.commit()
        #expect(try mounted.run(shown) == before)
        try mounted.unmount()
        try mounted.mount()
        #expect(try mounted.run(shown) == before)
        // Once more without a change, and after a kill with changes pending.
        try mounted.unmount()
        try mounted.mount()
        #expect(try mounted.run(shown) == before)
        try mounted.run("touch c/new; chmod 700 .")
        let changed = try mounted.run(shown)
        #expect(changed != before)
        try mounted.kill()
        try mounted.mount()
        #expect(try mounted.run(shown) == changed)
      }
    }

    @Test(
      "Holes stay holes in versions and after a remount: a terabyte costs nothing",
      .timeLimit(.minutes(1)))
    func holes() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        let script = #"""
          MIB = 1 << 20
          fd = os.open('huge', os.O_RDWR | os.O_CREAT)
          if sys.argv[1] == 'make':
              os.ftruncate(fd, 1 << 40)
              os.pwrite(fd, b'x' * MIB, 1 << 39)
              os.pwrite(fd, b'y' * MIB, 700 << 30)
          assert 4096 <= os.fstat(fd).st_blocks <= 4096 + 1024, os.fstat(fd).st_blocks
          same(os.lseek(fd, 0, os.SEEK_DATA) // MIB, (1 << 39) // MIB)
          hole = os.lseek(fd, 1 << 39, os.SEEK_HOLE); assert 0 <= hole - (1 << 39) - MIB <= 4096
          same(os.lseek(fd, hole, os.SEEK_DATA) // MIB, (700 << 30) // MIB)
          same(os.pread(fd, 3, (1 << 39) + MIB - 1), b'x\0\0')
          raises(errno.ENXIO, os.lseek, fd, 800 << 30, os.SEEK_DATA)
          same(os.lseek(fd, 800 << 30, os.SEEK_HOLE), 800 << 30)
          """#
        try mounted.python(script, arguments: "make")
        try mounted.commit()
        try mounted.python(script, arguments: "look")
        try mounted.unmount()
        try mounted.mount()
        try mounted.python(script, arguments: "look")
        // The same in history, and a write into what a version holds.
        try mounted.python(
          #"""
          fd = os.open('.llvs/head/huge', os.O_RDONLY)
          assert os.fstat(fd).st_blocks <= 4096 + 1024, os.fstat(fd).st_blocks
          same(os.lseek(fd, 0, os.SEEK_DATA) >> 20, (1 << 39) >> 20)
          fd = os.open('huge', os.O_RDWR); os.pwrite(fd, b'z' * 65536, 5 << 30)
          assert os.fstat(fd).st_blocks <= 4096 + 1024 + 128, os.fstat(fd).st_blocks
          same(os.lseek(fd, 0, os.SEEK_DATA), 5 << 30)
          fallocate(fd, 3, 5 << 30, 65536); same(os.lseek(fd, 0, os.SEEK_DATA) >> 20, (1 << 39) >> 20)
          """#)
        try mounted.run("cp --sparse=auto huge copy; test $(stat -c %b copy) -lt 6000; rm copy")
        let used = try mounted.run("du -sm ../store | cut -f1").split(separator: "\n").first
        #expect(used.flatMap { Int($0) } ?? .max < 40)
      }
    }

    @Test(
      "Extended attributes that no version could hold are refused, and those it can are committed",
      .timeLimit(.minutes(1)))
    func extendedLimit() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.python(
          #"""
          put('f', ''); os.setxattr('f', 'user.one', b'1' * 65536)
          os.setxattr('f', 'user.two', b'2' * 60000)
          raises(errno.ENOSPC, os.setxattr, 'f', 'user.three', b'3' * 60000)
          raises(errno.ENOSPC, os.setxattr, 'f', 'user.two', b'2' * 65536)
          """#)
        try mounted.commit()
        try mounted.unmount()
        try mounted.mount()
        try mounted.python("same(len(os.getxattr('f', 'user.two')), 60000)")
      }
    }

    @Test("The source and the flags of a mount are those that -o gives", .timeLimit(.minutes(1)))
    func options() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: ["-o", "fsname=of-my-own,suid,dev"])
      let line = try mounted.run("grep -F \" $PWD \" /proc/mounts")
      #expect(line.hasPrefix("of-my-own ") && line.contains("fuse.llvs"))
      #expect(!line.contains("nosuid") && !line.contains("nodev"))
      try mounted.unmount()
      try mounted.mount()
      let plain = try mounted.run("grep -F \" $PWD \" /proc/mounts")
      #expect(plain.contains("nosuid") && plain.contains("nodev"))
      try mounted.unmount()
      try mounted.mount(options: ["-o", #"fsname=a\,b\\c"#])
      #expect(try mounted.run("findmnt -no SOURCE .") == "a,b\\c\n")
    }

    @Test(
      "An option that cannot be had is refused with a sentence, and nothing is mounted",
      arguments: [
        ("subtype=bar", "settles"), ("max_read=4096", "settles"),
        ("remount,ro", "no store is mounted on"), ("nonsense", "no mount option nonsense"),
      ])
    func refusedOptions(_ option: String, _ says: String) throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      let result = try TestSupport.shell(
        "'\(MountedStore.program)' mount '\(mounted.store)' '\(mounted.path)' -o \(option); "
          + "grep -cF \" $PWD \" /proc/mounts", in: mounted.path, seconds: 20)
      #expect(result.output.contains(says) && result.output.hasSuffix("0\n"), "\(result.output)")
    }
  }
}
