import Foundation
import TestSupport
import Testing

extension Mounted {
  /// The program that any directory can be held against: every check passes in a mount.
  @Suite(.serialized) struct ConformanceTests {
    private static var program: String {
      URL(fileURLWithPath: MountedStore.program).deletingLastPathComponent()
        .appendingPathComponent("conformance").path
    }

    @Test(
      "Every check of what POSIX and Linux promise passes in a mount", .timeLimit(.minutes(3)),
      arguments: [[], ["-o", "allow_other"]])
    func passes(options: [String]) throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: options)
      let result = try mounted.shell("'\(Self.program)' .", seconds: 150)
      #expect(result.status == 0, "\(result.output)")
      let passed = result.output.split(separator: "\n").last?.split(separator: " ").first
      #expect(passed.flatMap { Int($0) } ?? 0 > 500, "\(result.output)")
      // Nothing that the checks left or hid, and what they made in passing breaks no version.
      #expect(try mounted.run("ls -A") == "")
      try mounted.commit()
      try mounted.unmount()
      try mounted.verify()
    }
  }
}
