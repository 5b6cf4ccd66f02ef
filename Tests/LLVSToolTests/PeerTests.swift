import Foundation
import TestSupport
import Testing

/// Peers as users name them, and what is said of those that cannot be used.
@Suite("llvs peer", .timeLimit(.minutes(3)))
struct PeerTests {
  @Test("a word that is no full path is answered with the full path")
  func relative() throws {
    let tool = try Tool()
    let result = try tool.run("llvs init s -q; llvs peer p nosuchdir --store s 2>&1; echo $?")
    let here = try tool.run("pwd -P").output.dropLast()
    #expect(
      result.output == "llvs: \"nosuchdir\" is not a full path. Write \(here)/nosuchdir.\n2\n")
  }

  @Test("a directory that holds other things is refused, and taken with --force")
  func occupied() throws {
    let result = try Tool().run(
      """
      llvs init s -q; mkdir d documents; echo 1 > d/a; echo dear > documents/letter
      llvs peer p ./documents --store s 2>&1; echo $?
      llvs peer p ./documents --force --store s; llvs import d --store s -q
      llvs sync --store s -q && ls documents
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 4, "\(result.output)")
    #expect(lines[0].contains("documents holds other things (letter)"))
    #expect(lines[1...] == ["11", "bundles", "letter"])
  }

  @Test("a sync whose peer is away is done, says so, and fills no empty place")
  func away() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      llvs init s -q; mkdir d usb; echo 1 > d/a; llvs import d --store s -q
      llvs peer usb "$PWD/usb" --store s; llvs peer home /nowhere/at/all --store s
      llvs sync --store s; echo $?
      mv usb away; mkdir usb; llvs sync --store s; echo $?; ls usb
      llvs sync usb --store s > out 2> err; echo $?; cat out err; ls usb
      llvs sync home --json --store s; echo $?
      llvs peer usb --reset --store s; llvs sync usb --store s; ls usb
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 12, "\(result.output)")
    #expect(
      lines[0]
        == "Nothing new here. From usb: nothing. To usb: 1 version. home is away: /nowhere/at/all is not there."
    )
    #expect(lines[1] == "0")
    #expect(
      lines[2].contains("usb is away: ") && lines[2].contains("lacks the version that it had"))
    #expect(lines[3...4] == ["0", "4"])
    #expect(lines[5] == "Nothing new here.")
    #expect(lines[6].hasPrefix("llvs: usb: ") && lines[6].contains("llvs peer usb --reset"))
    #expect(lines[7].contains(#""ok":false"#) && lines[7].contains(#""state":"failed""#))
    #expect(lines[8] == "4")
    #expect(lines[9] == "what was seen at usb is forgotten")
    #expect(lines[10] == "Nothing new here. From usb: nothing. To usb: 1 version.")
    #expect(lines[11] == "bundles")
  }

  @Test(
    "the mount of another store stands for that store, and a directory in it is no peer",
    .enabled(if: MountedStore.isPossible))
  func otherMount() throws {
    try MountedStore.with(settings: ["settle=1h"]) { other in
      _ = try other.shell("echo theirs > f; mkdir sub; echo commit > .llvs/control")
      let tool = try Tool()
      let result = try tool.run(
        """
        llvs init s -q; mkdir m; llvs mount s m -q; trap 'llvs unmount m -q' EXIT
        for at in '--store s' '--mount m'; do
          llvs peer sub '\(other.path)/sub' --force $at; llvs sync sub $at 2>&1; echo $?
          llvs peer sub rm $at; llvs peer o '\(other.path)' $at; llvs retrieve o $at; echo $?
        done
        ls -A '\(other.path)'
        """)
      #expect(result.output.contains("From o: 1 version. 1 head to merge."), "\(result.output)")
      #expect(
        result.output.components(separatedBy: "is in the mount of another store").count == 3,
        "\(result.output)")
      #expect(result.output.hasSuffix("f\nsub\n"), "\(result.output)")
    }
  }
}
