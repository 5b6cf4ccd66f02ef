import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Two mounted stores over a cluster that loses a disk while they work.
  @Suite(.serialized, .timeLimit(.minutes(5))) struct CephMountTests {
    @Test("two mounted stores agree at the end though a disk of three is killed under load")
    func killedDisk() throws {
      let environment = ProcessInfo.processInfo.environment
      guard let pidFile = environment["LLVS_TEST_CEPH"],
        let servers = try? String(
          contentsOfFile: environment["LLVS_TEST_SERVERS"] ?? "", encoding: .utf8),
        let line = servers.split(separator: "\n").first(where: { $0.hasPrefix("ceph ") })
      else {
        print("Ceph is not here: mount-scripts/test-remotes runs it.")
        return
      }
      let words = line.split(separator: " ").map(String.init)
      try #require(words.count == 4)
      let keys = ["AWS_ACCESS_KEY_ID": words[2], "AWS_SECRET_ACCESS_KEY": words[3]]
      let address = "\(words[1])/mounts-\(UUID().uuidString.prefix(8))"
      let disk = try String(contentsOfFile: pidFile, encoding: .utf8).split(separator: " ")[0]
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let sides = try [MountedStore(), MountedStore()]
      defer { for side in sides { side.tearDown() } }
      for (index, side) in sides.enumerated() {
        try side.mount(environment: keys)
        try side.run("printf '%s' '\(address)' > .llvs/peers/ceph")
        // A store that begins with files of its own would have another history.
        if index > 0 { try side.run("printf 'sync\\n' > .llvs/control", seconds: 60) }
        try side.run("echo \(index) > who-\(index)")
        try side.run("printf 'sync\\n' > .llvs/control", seconds: 60)
      }
      // Both write and sync at once; the disk goes in the middle.
      let work = sides.enumerated().map { index, side in
        """
        (
          cd '\(side.path)'
          for i in $(seq 30); do
            head -c 60000 /dev/urandom > file-\(index)-$i; echo "\(index) $i" >> log-\(index)
            printf 'sync\\n' > .llvs/control || exit 1
            [ $i = 12 ] && [ \(index) = 0 ] && kill -9 \(disk)
          done; true
        ) & jobs="$jobs $!"
        """
      }
      let result = try shell(
        work.joined(separator: "\n") + "\nfor job in $jobs; do wait $job || exit 1; done",
        seconds: 220)
      #expect(result.status == 0, "\(result.output)")
      #expect(try shell("kill -0 \(disk)").status != 0, "the disk was not killed")
      for side in sides + sides {
        try side.run("printf 'sync\\n' > .llvs/control", seconds: 60)
      }
      let sums = try sides.map { try $0.run("ls -A | sort | xargs sha256sum") }
      #expect(sums[0] == sums[1])
      #expect(sums[0].split(separator: "\n").count == 64)
      let heads = try sides.map { try $0.run("readlink .llvs/head") }
      #expect(heads[0] == heads[1])
      for side in sides { #expect(try side.run("ls -A .llvs/conflicts").isEmpty) }
    }
  }
}
