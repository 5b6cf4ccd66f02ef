import Foundation
import TestSupport
import Testing

extension Mounted {
  /// A disk that cannot read some of its blocks.
  @Suite(.serialized, .enabled(if: LoopDisk.isPossible, noLoop)) struct BadDiskTests {
    /// Forgets what the kernel remembers of a range of a file, and says where on the disk it stands.
    private static let forget = #"""
      import re
      path, start, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
      with open(path, 'rb') as file:
          os.fsync(file.fileno())
          os.posix_fadvise(file.fileno(), start, end - start, os.POSIX_FADV_DONTNEED)
      said = subprocess.run(['filefrag', '-v', '-b4096', path], stdout=subprocess.PIPE, check=True,
          env={**os.environ, 'PATH': os.environ['PATH'] + ':/usr/sbin:/sbin'}).stdout.decode()
      for line in said.splitlines():
          found = re.match(r'\s*\d+:\s*(\d+)\.\.\s*(\d+):\s*(\d+)\.\.', line)
          if found and int(found[1]) <= start // 4096 <= int(found[2]):
              print((int(found[3]) + start // 4096 - int(found[1])) * 4096)
              break
      """#

    /// Makes the disk unable to read a range of a file of the store, and whatever stands behind it on the
    /// disk and is not in memory.
    private func spoil(_ mounted: MountedStore, _ file: String, _ range: Range<Int>) throws {
      let at = try mounted.python(
        Self.forget, arguments: "'\(mounted.store)/\(file)' \(range.lowerBound) \(range.upperBound)"
      )
      let place = try #require(Int(at.trimmingCharacters(in: .whitespacesAndNewlines)), "\(at)")
      let cut = try TestSupport.shell(
        "sync -f '\(mounted.store)'; truncate -s \(place) image", in: mounted.directory)
      try #require(cut.status == 0, "\(cut.output)")
      let check = try TestSupport.shell(
        "dd if='\(mounted.store)/\(file)' of=/dev/null bs=4096 skip=\(range.lowerBound / 4096) count=4 2>&1"
      )
      try #require(check.output.contains("Input/output error"), "\(check.output)")
    }

    @Test(
      "a segment that cannot be read: EIO for its value, a line in the log, and all else goes on",
      .timeLimit(.minutes(1)))
    func segment() throws {
      try MountedStore.with(diskOf: 64) { mounted in
        try mounted.run("head -c 1000000 /dev/urandom > a; echo commit > .llvs/control")
        try mounted.unmount()
        try mounted.mount()
        try mounted.run(
          "head -c 4000000 /dev/urandom > b; echo commit > .llvs/control; sha256sum a > ../a")
        try mounted.unmount()
        let segments = try TestSupport.shell("ls -S '\(mounted.store)/segments'").output
        let segment = "segments/" + String(try #require(segments.split(separator: "\n").first))
        try spoil(mounted, segment, 1 << 20..<(1 << 20) + (256 << 10))
        try mounted.mount()
        let script = #"""
          raises(errno.EIO, get, 'b')
          raises(errno.EIO, get, '.llvs/head/b')
          put('c', 'c'); put('b.note', 'kept')
          """#
        try mounted.python(script)
        try mounted.run("sha256sum a | cmp - ../a; echo commit > .llvs/control; cat c .llvs/head/c")
        let log = try mounted.run("cat .llvs/log")
        #expect(
          log.contains(" b: ") && log.contains("in version") && log.contains(segment), "\(log)")
        let verified = try mounted.shell("echo verify > .llvs/control; cat .llvs/status")
        #expect(verified.output.contains("Input/output error"), "\(verified.output)")
        // A change of what cannot be read waits; the others do not.
        try mounted.run("printf x | dd of=b bs=1 seek=1150000 conv=notrunc 2>/dev/null; echo d > d")
        let reply = try mounted.run("{ echo commit >&3; cat <&3; } 3<> .llvs/control")
        #expect(reply.contains("damaged, in no version: b"), "\(reply)")
        try mounted.run(
          "test -e .llvs/head/d; rm b; echo commit > .llvs/control; ! test -e .llvs/head/b")
      }
    }

    @Test(
      "pending bytes that cannot be read: EIO, a line in the log, and the others get into a version",
      .timeLimit(.minutes(1)))
    func staging() throws {
      try MountedStore.with(diskOf: 64) { mounted in
        try mounted.run("echo set settle=1h > .llvs/control; echo small > small")
        try mounted.run(
          "dd if=/dev/urandom of=a bs=100000 count=1 status=none; dd if=/dev/urandom of=b bs=1M count=3 status=none; sync -f .; sha256sum a > ../a"
        )
        let stage =
          "journal/"
          + (try TestSupport.shell("ls '\(mounted.store)/journal' | grep -m1 stage")).output
          .trimmingCharacters(in: .whitespacesAndNewlines)
        try spoil(mounted, stage, 1 << 20..<2 << 20)
        // The mount's own pages too.
        try mounted.python(
          "fd = os.open('b', os.O_RDONLY); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED); os.close(fd)\nraises(errno.EIO, get, 'b')"
        )
        let reply = try mounted.run("{ echo commit >&3; cat <&3; } 3<> .llvs/control")
        #expect(reply.contains("damaged, in no version: b"), "\(reply)")
        try mounted.run(
          "sha256sum a | cmp - ../a; (cd .llvs/head && sha256sum a) | cmp - ../a; cat .llvs/head/small; ! test -e .llvs/head/b"
        )
        let log = try mounted.run("cat .llvs/log")
        #expect(log.contains(" b: ") && log.contains(stage), "\(log)")
      }
    }
  }
}
