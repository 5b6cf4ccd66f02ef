import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Two mounted stores that meet at an encrypted remote.
  @Suite(.serialized, .timeLimit(.minutes(3))) struct SealedPeerTests {
    @Test("two mounted stores agree through an encrypted remote, which shows no name and no byte")
    func agree() throws {
      let sides = try [MountedStore(), MountedStore()]
      defer { for side in sides { side.tearDown() } }
      let hub = "\(sides[0].directory)/hub"
      func tool(_ side: MountedStore, _ words: String) throws -> ShellResult {
        try shell(
          "LLVS_PASSPHRASE_FILE='\(hub).words' '\(MountedStore.program)' \(words) --mount '\(side.path)'",
          seconds: 60)
      }
      for side in sides { try side.mount() }
      _ = try shell("mkdir '\(hub)'; echo 'tulip field' > '\(hub).words'")
      for (index, side) in sides.enumerated() {
        let peer = try tool(side, "peer hub 'bundle+\(hub)' --encrypt --light")
        try #require(peer.status == 0, "\(peer.output)")
        // A store that begins with files of its own would have another history.
        if index > 0 { try side.run("echo sync > .llvs/control") }
        try side.run("echo marker-\(index) > secret-\(index); echo sync > .llvs/control")
      }
      try sides[0].run("echo sync > .llvs/control; mv secret-1 renamed; echo more >> secret-0")
      try sides[0].run("echo sync > .llvs/control")
      try sides[1].run("echo sync > .llvs/control")
      for side in sides {
        #expect(
          try side.run("ls; cat renamed secret-0")
            == "renamed\nsecret-0\nmarker-1\nmarker-0\nmore\n")
      }
      let found = try shell("ls '\(hub)'; grep -rlE 'marker|secret|renamed|tulip' '\(hub)'")
      #expect(found.output == "bundles\nkeys\n", "\(found.output)")
      // The keys are held by each store for itself: mounted again, nothing is asked.
      let again = sides[1]
      try again.unmount()
      try again.mount()
      try sides[0].run("echo last > last; echo sync > .llvs/control")
      #expect(try again.run("echo sync > .llvs/control; cat last") == "last\n")
    }
  }
}
