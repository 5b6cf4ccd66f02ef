import Foundation
import Platform
import TestSupport
import Testing

extension Mounted {
  /// The program that any directory can be held against: every check passes in a mount.
  @Suite(.serialized) struct ConformanceTests {
    private static var program: String {
      URL(fileURLWithPath: MountedStore.program).deletingLastPathComponent()
        .appendingPathComponent("conformance").path
    }

    /// What the README says is there, so that its absence is no reason to skip.
    private static let features = "--must=fallocate,direct,acl,handles,counts"

    @Test(
      "Every check of what POSIX and Linux promise passes in a mount", .timeLimit(.minutes(4)),
      arguments: [[], ["-o", "allow_other"]])
    func passes(options: [String]) throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: options)
      let result = try mounted.shell("'\(Self.program)' . \(Self.features)", seconds: 210)
      #expect(result.status == 0, "\(result.output)")
      let lines = result.output.split(separator: "\n")
      let numbers = (lines.last ?? "").split { !$0.isNumber }.compactMap { Int($0) }
      let listed = try mounted.run("'\(Self.program)' --list | wc -l")
      let count = (Int(listed.split(separator: "\n").first ?? "") ?? 0) - 1
      #expect(count >= 860 && numbers.reduce(0, +) == count, "\(result.output)")
      // Only what cannot be checked here is skipped, and that by name.
      var reasons: Set = ["65,000 names of a file take too long", "the disk is nearly full"]
      if SystemProcess.effectiveUser != 0 {
        reasons.insert("needs root")
      } else {
        if options.isEmpty {
          reasons.insert("other users are not let in (mount with allow_other)")
        }
        // In a container root may not be one who mounts, and kernels before 6.6 have no fchmodat2.
        reasons.formUnion([
          "no mounts can be made", "the kernel has no fchmodat2",
          "root may not open files by handles here", "the kernel's caches cannot be dropped",
        ])
      }
      let skipped = lines.filter { $0.hasPrefix("skipped ") }.compactMap {
        $0.split(separator: ":", maxSplits: 1).last?.drop { $0 == " " }
      }
      #expect(reasons.isSuperset(of: skipped.map(String.init)), "\(skipped)")
      // Nothing that the checks left or hid, and what they made in passing breaks no version.
      #expect(try mounted.run("ls -A") == "")
      try mounted.commit()
      try mounted.unmount()
      try mounted.verify()
    }

    @Test(
      "Versions that are made between calls at random hold the bytes of that moment",
      .timeLimit(.minutes(2)))
    func versions() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      let arguments =
        "--must=fallocate,direct --versions=\"$PWD\" --seed=100 --seeds=3 'random calls'"
      let result = try mounted.shell("'\(Self.program)' . \(arguments)", seconds: 100)
      #expect(result.status == 0, "\(result.output)")
      #expect(result.output.hasSuffix("12 passed, 0 failed, 0 skipped\n"), "\(result.output)")
      #expect(try mounted.run("ls .llvs/versions | wc -l") != "0\n")
      try mounted.unmount()
      try mounted.verify()
    }

    @Test(
      "What is mounted for reading alone says EROFS to every change, and is read",
      .enabled(if: SystemProcess.effectiveUser == 0, "only root mounts for reading alone"),
      .timeLimit(.minutes(1)))
    func readOnly() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      try mounted.python(
        """
        put('file', 'text'); os.setxattr('file', 'user.a', b'\\1')
        os.mkdir('directory'); put('directory/inner', '')
        os.symlink('file', 'link'); os.mkfifo('fifo')
        """)
      try mounted.commit()
      try mounted.unmount()
      try mounted.mount(options: ["-o", "ro"])
      let result = try mounted.shell("'\(Self.program)' . --read-only")
      #expect(result.status == 0, "\(result.output)")
      try mounted.run("! echo x > file; grep -q text .llvs/head/file")
      try mounted.unmount()
      try mounted.verify()
    }
  }
}
