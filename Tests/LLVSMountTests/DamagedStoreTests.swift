import Foundation
import TestSupport
import Testing

extension Mounted {
  /// A store of which a part is gone, under a mount and at its end.
  @Suite(.serialized) struct DamagedStoreTests {
    private func llvs(_ words: String) throws -> ShellResult {
      try TestSupport.shell("'\(MountedStore.program)' \(words)")
    }

    @Test(
      "llvs unmount says that the last version could not be made, and the next mount has what it lacks",
      .timeLimit(.minutes(1)))
    func lastVersion() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("echo kept > f; mv '\(mounted.store)/segments' '\(mounted.store)/away'")
        let result = try llvs("unmount '\(mounted.path)'")
        #expect(
          result.status == 6 && result.output.contains("the last version was not made: "),
          "\(result.status) \(result.output)")
        let back = try TestSupport.shell("mv away segments", in: mounted.store)
        #expect(back.status == 0, "\(back.output)")
        try mounted.mount()
        #expect(try mounted.run("cat f") == "kept\n")
        try mounted.run("echo commit > .llvs/control; rm -rf '\(mounted.store)'/*")
        let gone = try llvs("unmount '\(mounted.path)'")
        #expect(gone.status == 3 && gone.output.contains("is not there any more"), "\(gone.output)")
      }
    }
  }
}
