import LLVSCore
import Platform
import TestSupport
import Testing

extension Mounted {
  /// A mounted store that forgot old versions while it was not mounted.
  @Suite(.serialized) struct ForgottenVersionTests {
    @Test(
      "Names and sizes of a forgotten version are shown, and reading its bytes is ENODATA",
      .timeLimit(.minutes(1)))
    func shown() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      let versions = try (1...3).map { number in
        _ = try mounted.shell(
          """
          mkdir -p d; head -c 100000 /dev/urandom > d/f; echo \(number) > short; chmod 640 d/f
          ln -sf target link; echo commit > .llvs/control
          """)
        return try mounted.shell("readlink .llvs/head").output.trimmed
      }
      let last = try mounted.shell("sha256sum < d/f").output
      try mounted.unmount()
      do {
        let store = try Store.open(path: mounted.store)
        let report = try store.forget(
          try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
        #expect(report.freedBytes > 150_000)
      }
      try mounted.mount()
      for (index, version) in versions.enumerated() {
        let path = ".llvs/\(version)"
        let size = try mounted.shell("stat -c %s \(path)/d/f").output
        #expect(size == "100000\n", "version \(index)")
        #expect(
          try mounted.shell("cat \(path)/short; readlink \(path)/link").output
            == "\(index + 1)\ntarget\n")
        if index < 2 {
          let said = try mounted.shell("cat \(path)/d/f 2>&1 > /dev/null || true").output
          #expect(said.contains("No data available"), "\(said)")
        } else {
          #expect(try mounted.shell("sha256sum < \(path)/d/f").output == last)
        }
      }
      #expect(try mounted.shell("sha256sum < d/f").output == last)
      let listed = try mounted.shell("ls .llvs/versions; ls .llvs/history/d/f").output
      let name = String(versions[2].dropFirst("versions/".count))
      #expect(listed == "\(name)\n\(name)\n", "\(listed)")
      let attributes = try mounted.shell(
        """
        get() { getfattr --only-values -n user.llvs.bytes "$1"; echo; }
        get .llvs/\(versions[0])/d/f; get .llvs/\(versions[0])/short; get d/f; get d
        cp -a .llvs/\(versions[0]) copy 2> errors; echo $?; ls copy; cat copy/short; cat errors; rm -r copy errors
        """
      ).output
      #expect(
        attributes.hasPrefix(
          "forgotten\nhere\nhere\nhere\n1\nd\nlink\nshort\n1\ncp: error "),
        "\(attributes)")
      for script in [
        "echo verify > .llvs/control", "cp d/f g && echo commit > .llvs/control && cmp g d/f",
      ] {
        let result = try mounted.shell(script)
        #expect(result.status == 0, "\(result.output)")
      }
    }
  }
}
