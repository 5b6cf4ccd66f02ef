import Foundation
import TestSupport
import Testing

extension Mounted {
  @Suite(.serialized, .timeLimit(.minutes(2)))
  struct LongAttributesTests {
    private static let count = 800

    /// Gives each of many files 130 KB of attributes.
    private static let make = """
      import os
      for i in range(\(count)):
          p = 'f%05d' % i
          with open(p, 'w') as f: f.write(str(i))
          for a in ('user.a', 'user.b'): os.setxattr(p, a, (b'%05d' % i + os.urandom(59)) * 1015)
      """

    @Test("A walk over names with long attributes holds them in no memory, and reads each once")
    func walk() throws {
      try MountedStore.with { mounted in
        let made = try mounted.shell("python3 - << 'E'\n\(Self.make)\nE")
        #expect(made.status == 0, "\(made.output)")
        _ = try mounted.shell("echo commit > .llvs/control")
        try mounted.unmount()
        try mounted.mount()
        let (memory, read) = (try memory(mounted), try bytesRead(mounted))
        let seen = try mounted.shell("ls -lR | grep -c f0")
        #expect(seen.output == "\(Self.count)\n")
        let size = try mounted.shell("du -sb ../store/segments | cut -f1").output
        let bytes = try #require(Int(size.filter(\.isNumber)))
        // The names of a directory come by their hashes, and the attributes stand beside the names.
        let all = try bytesRead(mounted) - read
        #expect(all < 3 * bytes, "\(all) of \(bytes)")
        // 100 MB of attributes.
        let grown = try self.memory(mounted) - memory
        #expect(grown < 64 << 10, "\(grown) KiB")
        let value = try mounted.shell("getfattr -n user.a --only-values f00007 | head -c 5")
        #expect(value.output == "00007")
      }
    }

    /// The most memory that the daemon has taken, in KiB.
    private func memory(_ mounted: MountedStore) throws -> Int {
      try number("awk '/VmHWM/ { print $2 }' /proc/\(mounted.daemon)/status")
    }

    private func bytesRead(_ mounted: MountedStore) throws -> Int {
      try number("awk '/rchar/ { print $2 }' /proc/\(mounted.daemon)/io")
    }

    private func number(_ script: String) throws -> Int {
      Int(try TestSupport.shell(script).output.filter(\.isNumber)) ?? 0
    }
  }
}
