import Platform
import TestSupport
import Testing

extension Mounted {
  /// When reading moves access times: by the options of the mount, also when those change.
  @Suite(.serialized) struct AccessTimeTests {
    /// Python that says `moved` or `stays` of the atime of a file and of a directory when they are read.
    private static let look = """
      def look():
          words = []
          for path, read in (('f', lambda: get('f')), ('d', lambda: os.listdir('d'))):
              before = os.stat(path).st_atime_ns
              time.sleep(0.02)
              read()
              words.append('moved' if os.stat(path).st_atime_ns > before else 'stays')
          print(*words)
      def change():
          time.sleep(0.02)
          put('f', 'text'); put('d/g', ''); os.unlink('d/g')
      os.makedirs('d', exist_ok=True)

      """

    private func run(_ mounted: MountedStore, _ script: String) throws -> [String] {
      try mounted.python(Self.look + script).split(separator: "\n").map(String.init)
    }

    @Test(
      "relatime, noatime, strictatime and nodiratime are as mount(8) has them",
      .timeLimit(.minutes(1)),
      arguments: [
        ([], ["moved moved", "stays stays"]), (["noatime"], ["stays stays", "stays stays"]),
        (["strictatime"], ["moved moved", "moved moved"]),
        (["nodiratime"], ["moved stays", "stays stays"]),
        (["strictatime", "nodiratime"], ["moved stays", "moved stays"]),
      ])
    func options(words: [String], expected: [String]) throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: words.isEmpty ? [] : ["-o", words.joined(separator: ",")])
      #expect(try run(mounted, "change(); look(); look()") == expected)
      try mounted.unmount()
    }

    @Test(
      "A remount changes it for what is mounted",
      .enabled(if: SystemProcess.effectiveUser == 0, "only root remounts"),
      .timeLimit(.minutes(1)))
    func remounted() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        func remount(_ words: String) throws {
          try mounted.run("mount -i -o remount,\(words) \"$PWD\"; sleep 0.3")
        }
        #expect(try run(mounted, "change(); look()") == ["moved moved"])
        try remount("noatime")
        #expect(try run(mounted, "change(); look()") == ["stays stays"])
        try remount("strictatime")
        #expect(try run(mounted, "look(); look()") == ["moved moved", "moved moved"])
        try remount("relatime")
        #expect(try run(mounted, "look(); look()") == ["stays stays", "stays stays"])
      }
    }

    @Test("Access times are in no version, and make none", .timeLimit(.minutes(1)))
    func notStored() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("echo text > f; mkdir d; echo commit > .llvs/control; cat f; ls d")
        let count = try mounted.versionCount()
        try mounted.run(
          "touch -a -d '2001-02-03 04:05:06 UTC' f; stat -c %X f; echo commit > .llvs/control")
        #expect(try mounted.run("stat -c %X f") == "981173106\n")
        #expect(try mounted.versionCount() == count)
      }
    }
  }
}
