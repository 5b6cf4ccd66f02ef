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
      llvs peer p ./documents -q --store s 2>&1; echo $?
      llvs peer p ./documents -q --force --store s; llvs import d --store s -q
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
      llvs peer usb "$PWD/usb" -q --store s; llvs peer home /nowhere/at/all -q --store s 2> /dev/null
      llvs sync --store s; echo $?
      mv usb away; mkdir usb; llvs sync --store s; echo $?; ls usb
      llvs sync usb --store s > out 2> err; echo $?; cat out err; ls usb
      llvs sync home --json --store s; echo $?
      llvs peer usb --reset --store s; llvs sync usb --store s; ls usb
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 17, "\(result.output)")
    let home = "home is away: /nowhere/at/all is not there"
    #expect(
      lines[...3] == ["No changes here", "usb: received nothing, sent 1 version", home, "0"])
    #expect(lines[4] == "No changes here" && lines[5...6].contains(home) && lines[7] == "0")
    #expect(
      lines[5...6].contains { $0.hasPrefix("usb is away: ") && $0.contains("lacks the version") })
    #expect(lines[8...9] == ["4", "No changes here"])
    #expect(lines[10].hasPrefix("llvs: usb: ") && lines[10].contains("llvs peer usb --reset"))
    #expect(lines[11].contains(#""ok":false"#) && lines[11].contains(#""state":"failed""#))
    #expect(lines[12...13] == ["4", "what was seen at usb is forgotten"])
    #expect(lines[14...15] == ["No changes here", "usb: received nothing, sent 1 version"])
    #expect(lines[16] == "bundles")
  }

  @Test("a new peer is looked at, and what cannot be a peer is refused")
  func found() throws {
    let tool = try Tool()
    let here = try tool.run("pwd -P").output.dropLast()
    let result = try tool.run(
      """
      llvs init s -q; mkdir d hub; echo 1 > d/a; llvs import d --store s -q
      llvs peer '' --store s 2>&1; llvs peer hub ./hub --store s; llvs sync --store s -q
      llvs peer again ./hub --store s; llvs peer own ./s --store s 2>&1
      llvs peer gone /nowhere/at/all --store s 2>&1; echo $?; llvs peer --store s | wc -l
      llvs peer ghost http+webdav://127.0.0.1:9/x --store s 2>&1 | grep -o '^llvs: ghost: no answer'
      """)
    #expect(
      result.output == """
        llvs: a name is missing.
        hub is \(here)/hub, which is empty
        again is \(here)/hub, which has 1 bundle
        llvs: \(here)/s is this store itself.
        llvs: gone: /nowhere/at/all is not there.
        gone is /nowhere/at/all
        0
        3
        llvs: ghost: no answer

        """, "\(result.output)")
  }

  @Test("a directory that cannot be written is named when it becomes a peer")
  func readOnly() throws {
    let tool = try Tool()
    let peer = "'\(MountedStore.program)' peer p \"$PWD/p\" --store s"
    let result = try tool.run(
      """
      llvs init s -q; mkdir p; chmod 555 p
      if [ $(id -u) = 0 ]; then chmod 777 . s; chown -R 65534 s p
        setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$PWD" \(peer)
      else \(peer); fi
      """)
    #expect(
      result.output.hasSuffix("/p, which is empty and is read-only here, so nothing can be sent\n"),
      "\(result.output)")
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
          llvs peer sub '\(other.path)/sub' -q --force $at; llvs sync sub $at 2>&1; echo $?
          llvs peer sub rm $at; llvs peer o '\(other.path)' $at; llvs retrieve o $at; echo $?
        done
        ls -A '\(other.path)'
        """)
      #expect(
        result.output.contains("o: received 1 version\n1 head to merge\n"), "\(result.output)")
      #expect(
        result.output.components(separatedBy: "is in the mount of another store").count == 3,
        "\(result.output)")
      #expect(result.output.hasSuffix("f\nsub\n"), "\(result.output)")
    }
  }
}
