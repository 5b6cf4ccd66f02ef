import Foundation
import TestSupport
import Testing

/// A second machine is one command.
@Suite("llvs clone", .timeLimit(.minutes(3)))
struct CloneTests {
  private static let hub = """
    mkdir d hub; echo one > d/a; llvs init s -q; llvs import d --store s -q
    llvs peer hub "$PWD/hub" --store s; llvs sync --store s -q

    """

  @Test("a new store has all that a peer has, and the peer", arguments: ["", "bundle+"])
  func clones(prefix: String) throws {
    let tool = try Tool()
    let result = try tool.run(
      Self.hub.replacing("\"$PWD/hub\"", with: "\"\(prefix)$PWD/hub\"")
        + """
        llvs clone ./hub t; llvs export head out --store t -q; cat out/a; llvs peer --store t
        echo two > d/a; llvs import d --store t -q; llvs sync --store t; llvs verify --store t -q; echo $?
        """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 5, "\(result.output)")
    #expect(
      lines[0].contains("holds 1 version of ") && lines[0].hasSuffix(", with 1 file or directory"))
    #expect(lines[1] == "one" && lines[2].hasPrefix("origin  /"))
    #expect(lines[3] == "Nothing new here. From origin: nothing. To origin: 1 version.")
    #expect(lines[4] == "0")
  }

  @Test("what is no peer with versions makes no store, and what is there stays")
  func refused() throws {
    let result = try Tool().run(
      Self.hub + """
        mkdir empty full; echo mine > full/letter
        llvs clone ./empty t 2>/dev/null; echo $?; ls -d t 2>/dev/null
        llvs clone /nowhere/at/all t 2>/dev/null; echo $?; ls -d t 2>/dev/null
        llvs clone ./hub full 2>/dev/null; echo $?; ls full
        llvs clone ./hub s 2>/dev/null; echo $?; llvs verify --store s -q; echo $?
        """)
    #expect(result.output == "3\n4\n11\nletter\n11\n0\n", "\(result.output)")
  }

  @Test("an encrypted peer is cloned with its passphrase alone")
  func encrypted() throws {
    let result = try Tool().run(
      """
      mkdir d hub plain; echo one > d/a; llvs init s -q; llvs import d --store s -q
      echo words > words; echo other > other; export LLVS_PASSPHRASE_FILE=$PWD/words
      llvs peer hub "bundle+$PWD/hub" --encrypt --light --store s -q; llvs sync --store s -q
      llvs peer plain "bundle+$PWD/plain" --store s; llvs sync --store s -q
      LLVS_PASSPHRASE_FILE=$PWD/other llvs clone ./hub t --encrypt 2>/dev/null; echo $?; ls -d t 2>/dev/null
      llvs clone ./hub t 2>/dev/null; echo $?; ls -d t 2>/dev/null
      llvs clone ./plain t --encrypt 2>/dev/null; echo $?; ls -d t 2>/dev/null
      llvs clone ./hub t --encrypt -q; llvs export head out --store t -q; cat out/a
      echo two > d/a; llvs import d --store t -q; llvs sync --store t
      llvs key list origin --store t | grep -c 'not encrypted'
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "8", "8", "11", "one", "Nothing new here. From origin: nothing. To origin: 1 version.", "0",
      ], "\(result.output)")
  }

  @Test("it is mounted where a mount point is named", .enabled(if: MountedStore.isPossible))
  func mounts() throws {
    let result = try Tool().run(
      Self.hub + """
        llvs clone ./hub t m --json | head -1; cat m/a; llvs unmount m -q
        """)
    #expect(result.output.contains(#""versions":1"#) && result.output.hasSuffix("one\n"))
  }
}
