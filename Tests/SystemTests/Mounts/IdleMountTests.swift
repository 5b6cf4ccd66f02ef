import Foundation
import TestSupport
import Testing

extension Mounted {
  /// What a mount keeps of large files while nothing happens.
  @Suite(.serialized, .timeLimit(.minutes(2)))
  struct IdleMountTests {
    @Test("The journal keeps no file of what a version has")
    func journal() throws {
      try MountedStore.with { mounted in
        _ = try mounted.shell("head -c 3000000 /dev/urandom > large; echo commit > .llvs/control")
        let left = {
          try FileManager.default.contentsOfDirectory(atPath: "\(mounted.store)/journal")
        }
        let isEmptied = eventually(seconds: 30) {
          (try? left().filter { $0 != "reserve" }.count) == 1
        }
        #expect(isEmptied, "\((try? left()) ?? [])")
        let same = try mounted.shell("cmp large .llvs/head/large && echo same")
        #expect(same.output == "same\n")
      }
    }

    @Test("After an import, a sync and verifying the peer the daemon has the memory that it had")
    func memory() throws {
      try MountedStore.with { mounted in
        let before = try memory(mounted)
        let made = try mounted.shell(
          """
          mkdir ../d ../hub; for i in $(seq 12); do head -c 10000000 /dev/urandom > ../d/$i; done
          llvs() { '\(MountedStore.program)' "$@" -q; }
          llvs import ../d && llvs peer hub "$PWD/../hub" && llvs sync && llvs verify hub && llvs verify
          """)
        #expect(made.status == 0, "\(made.output)")
        let grown = try memory(mounted) - before
        #expect(grown < 24 << 10, "\(grown) KiB")
      }
    }

    private func memory(_ mounted: MountedStore) throws -> Int {
      let script = "awk '/RssAnon/ { print $2 }' /proc/\(mounted.daemon)/status"
      return Int(try TestSupport.shell(script).output.filter(\.isNumber)) ?? 0
    }
  }
}
