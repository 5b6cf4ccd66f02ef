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
        let bytesNow = try bytesRead(mounted) - read
        #expect(bytesNow < 3 * bytes, "\(bytesNow) of \(bytes)")
        // 100 MB of attributes.
        let grown = try self.memory(mounted) - memory
        #expect(grown < 64 << 10, "\(grown) KiB")
        let values = try mounted.shell("getfattr -d --absolute-names * | grep -c ^user.")
        #expect(values.output == "\(2 * Self.count)\n")
        // A cache, and what it takes to read one node of the map.
        let all = try self.memory(mounted, "VmRSS") - memory
        #expect(all < 176 << 10, "\(all) KiB")
      }
    }

    /// Memory of the daemon, as a rule the most that it has taken, in KiB.
    private func memory(_ mounted: MountedStore, _ which: String = "VmHWM") throws -> Int {
      try number("awk '/\(which)/ { print $2 }' /proc/\(mounted.daemon)/status")
    }

    private func bytesRead(_ mounted: MountedStore) throws -> Int {
      try number("awk '/rchar/ { print $2 }' /proc/\(mounted.daemon)/io")
    }

    private func number(_ script: String) throws -> Int {
      Int(try TestSupport.shell(script).output.filter(\.isNumber)) ?? 0
    }
  }
}
