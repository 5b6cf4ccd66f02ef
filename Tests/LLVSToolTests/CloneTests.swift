import Foundation
import TestSupport
import Testing

/// A second machine is one command.
@Suite("llvs clone", .timeLimit(.minutes(3)))
struct CloneTests {
  private static let hub = """
    mkdir d hub; echo one > d/a; llvs init s -q; llvs import d --store s -q
    llvs peer hub "$PWD/hub" -q --store s; llvs sync --store s -q

    """

  @Test("a new store has all that a peer has, and the peer", arguments: ["plain+", ""])
  func clones(prefix: String) throws {
    let tool = try Tool()
    let result = try tool.run(
      Self.hub.replacing("\"$PWD/hub\"", with: "\"\(prefix)$PWD/hub\"")
        + """
        llvs clone ./hub t; llvs export head out --store t -q; cat out/a; llvs peer --store t
        echo two > d/a; llvs import d --store t -q; llvs sync --store t; llvs verify --store t -q; echo $?
        """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 6, "\(result.output)")
    #expect(
      lines[0].contains("holds 1 version of ") && lines[0].hasSuffix(", with 1 file"))
    #expect(lines[1] == "one" && lines[2].hasPrefix("origin  /"))
    #expect(lines[3...4] == ["No changes here", "origin: received nothing, sent 1 version"])
    #expect(lines[5] == "0")
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
      llvs peer hub "$PWD/hub" --encrypt --light --store s -q; llvs sync --store s -q
      llvs peer plain "$PWD/plain" -q --store s; llvs sync --store s -q
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
        "8", "8", "11", "one", "No changes here", "origin: received nothing, sent 1 version", "0",
      ], "\(result.output)")
  }

  /// Twelve versions in a bundle each, the fourth of which is damaged.
  private static let damaged = """
    mkdir d hub; llvs init s -q; llvs peer hub "$PWD/hub" -q --store s
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 20000 /dev/urandom > d/photo$i; llvs import d --store s -q
    llvs sync --store s -q; done
    f=$(ls hub/bundles/* | sed -n 4p)
    printf '\\0\\0\\0\\0' | dd of="$f" bs=1 seek=9000 conv=notrunc 2>/dev/null

    """

  @Test("what cannot be read of a damaged peer is told, and comes with the next sync")
  func incomplete() throws {
    let result = try Tool().run(
      Self.damaged + """
        llvs clone ./hub t 2>err; echo $?; grep -c 'INCOMPLETE: 9 of 12 versions cannot be read' err
        llvs retrieve --store t 2>err >out; echo $?; grep -c 'INCOMPLETE: 9 versions cannot be read' out
        llvs verify hub --store s 2>err; echo $?; grep -c 'verify hub --repair' err
        llvs sync --store s; llvs verify hub --store s; echo $?
        llvs sync --store t -q; echo $?; llvs export head o --store t -q; ls o | wc -l
        llvs clone ./hub u -q; echo $?
        """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 15, "\(result.output)")
    #expect(lines[0].contains("holds 3 of 12 versions of "))
    #expect(lines[1...6] == ["9", "1", "9", "1", "9", "1"], "\(result.output)")
    #expect(lines[9] == "hub: 1 lost or damaged bundle replaced")
    #expect(lines[10].contains("no damage found in 12 versions"))
    #expect(lines[11...] == ["0", "0", "12", "0"], "\(result.output)")
  }

  @Test("damage of the newest bundles, or of all, is told and is no success")
  func newest() throws {
    let result = try Tool().run(
      """
      mkdir d hub; llvs init s -q; llvs peer hub "$PWD/hub" -q --store s
      for i in 1 2 3; do echo $i > d/f$i; llvs import d --store s -q; llvs sync --store s -q; done
      harm() { printf XX | dd of="$1" bs=1 seek=100 conv=notrunc 2>/dev/null; }
      harm "$(ls hub/bundles/* | tail -1)"; llvs clone ./hub t -q 2>err; echo $?
      grep -c 'INCOMPLETE: the newest versions cannot be read (1 bundle damaged)' err
      llvs retrieve --store t -q 2>/dev/null; echo $?
      for f in hub/bundles/*; do harm $f; done; llvs clone ./hub u -q 2>err; echo $?; ls -d u 2>/dev/null
      grep -c 'INCOMPLETE' err; llvs verify hub --store s -q 2>/dev/null; echo $?
      llvs status --store s | grep -c 'INCOMPLETE there'; llvs sync --store s -q
      llvs status --store s | grep -c 'up to date'; llvs clone ./hub v -q; echo $?
      """)
    #expect(result.output == "9\n1\n9\n9\n1\n9\n1\n1\n0\n", "\(result.output)")
  }

  @Test(
    "a newest bundle that another store filled is no fault for a clone",
    arguments: ["rm", "truncate -s 200", "flip"])
  func filled(how: String) throws {
    let result = try Tool().run(
      """
      flip() { printf XX | dd of="$1" bs=1 seek=100 conv=notrunc 2>/dev/null; }
      mkdir d hub; llvs init s -q; llvs peer hub "$PWD/hub" -q --store s
      for i in 1 2 3; do echo $i > d/f$i; llvs import d --store s -q; llvs sync --store s -q; done
      llvs clone ./hub o -q; \(how) "$(ls hub/bundles/* | tail -1)"
      llvs verify origin --store o -q 2>/dev/null; llvs sync --store o -q; llvs clone ./hub t -q; echo $?
      llvs verify origin --store t -q; echo $?; llvs verify hub --store s -q; echo $?
      llvs sync --store s -q; llvs status --store s | grep -c 'up to date'; llvs clone ./hub u -q; echo $?
      """)
    #expect(result.output == "0\n0\n0\n1\n0\n", "\(result.output)")
  }

  @Test("a store that forgot what a damaged bundle held makes clones whole all the same")
  func forgotten() throws {
    let result = try Tool().run(
      """
      mkdir d hub; llvs init s -q; llvs peer hub "$PWD/hub" -q --store s
      for i in 1 2 3; do echo $i > d/f$i; llvs import d --store s -q; llvs sync --store s -q; done
      llvs clone ./hub o -q; llvs clone ./hub p -q
      printf XX | dd of="$(ls hub/bundles/* | tail -1)" bs=1 seek=100 conv=notrunc 2>/dev/null
      llvs peer origin --reset --store o -q; llvs sync --store o | grep -c 'INCOMPLETE'
      llvs status --store o | grep -c 'up to date'
      llvs clone ./hub t | grep -c 'nothing there needs it'
      llvs verify origin --store t | grep -c 'nothing there needs it'
      llvs sync --store s | tail -1; llvs verify origin --store t | wc -l
      printf XX | dd of="$(ls hub/bundles/* | tail -1)" bs=1 seek=100 conv=notrunc 2>/dev/null
      llvs peer origin --reset --store p -q
      llvs verify origin --repair --store p >/dev/null; echo $?; llvs clone ./hub u -q; echo $?
      """)
    #expect(
      result.output
        == "0\n1\n1\n1\nhub: 1 lost or damaged bundle replaced\n1\n0\n0\n", "\(result.output)")
  }

  @Test("a bundle that changed after a verify read it stops no sync")
  func changedAfterVerify() throws {
    let result = try Tool().run(
      """
      mkdir d hub q; llvs init s -q; llvs peer hub "$PWD/hub" -q --store s
      echo 1 > d/f; llvs import d --store s -q; llvs sync --store s -q; llvs clone ./hub o -q
      echo 2 > d/g; llvs import d --store s -q; llvs sync --store s -q
      llvs verify origin --store o -q; b="$(ls hub/bundles/* | tail -1)"
      head -c "$(stat -c %s "$b")" /dev/zero > "$b"
      llvs sync --store o | grep -c 'nothing there needs it'
      llvs peer q "$PWD/q" -q --store s; llvs peer q "$PWD/q" -q --store o
      llvs sync q -q --store s; llvs retrieve q -q --store o
      llvs sync origin -q --store o; echo $?; llvs clone ./hub u -q; echo $?
      """)
    #expect(result.output == "1\n0\n0\n", "\(result.output)")
  }

  @Test("all commands count the same versions that cannot be read, and name the cause once")
  func sameCounts() throws {
    let result = try Tool().run(
      """
      mkdir d hub; llvs init s -q; llvs peer hub "$PWD/hub" -q --store s
      for i in 1 2 3 4; do echo $i > d/f$i; llvs import d --store s -q; llvs sync --store s -q
      if [ $i = 1 ]; then llvs clone ./hub o -q; fi; done
      truncate -s 100 "$(ls hub/bundles/* | sed -n 2p)"
      llvs sync --store o | grep -c 'INCOMPLETE: 3 versions cannot be read (1 bundle not whole)$'
      llvs status --store o | grep -c 'INCOMPLETE there: 3 versions cannot be read (1 bundle not whole); last'
      for store in o s; do
        llvs verify $(test $store = o && echo origin || echo hub) --store $store 2>&1 |
          grep -c '^ *3 versions cannot be read there'
      done
      llvs status --store o | grep -o INCOMPLETE | wc -l
      llvs clone ./hub c 2>&1 | grep -c 'INCOMPLETE: 3 of 4 versions cannot be read (1 bundle not whole)'
      llvs clone ./hub c 2>&1 | grep -c '"llvs sync" in it gets what is new'
      """)
    #expect(result.output == "1\n1\n1\n1\n1\n1\n1\n", "\(result.output)")
  }

  @Test("a passphrase of an older key alone is told")
  func olderKey() throws {
    let result = try Tool().run(
      """
      mkdir d hub; llvs init s -q; for w in one two three; do echo $w words > $w; done
      export LLVS_PASSPHRASE_FILE=$PWD/one
      llvs peer hub "$PWD/hub" --encrypt --light --store s -q; echo 1 > d/a; llvs import d --store s -q
      llvs sync --store s -q; LLVS_PASSPHRASE_FILE=$PWD/two llvs key add hub safe --light --store s -q
      LLVS_PASSPHRASE_FILE=$PWD/three llvs key rotate hub --light --store s -q
      echo 2 > d/a; llvs import d --store s -q; llvs sync --store s -q
      LLVS_PASSPHRASE_FILE=$PWD/two llvs clone ./hub t --encrypt -q 2>err; echo $?
      grep -c 'INCOMPLETE.*llvs key open' err
      rm -r hub/keys s/secrets/hub:keys.files; llvs sync --store s | grep -c 'llvs key add hub'
      llvs status --store s | grep -c 'llvs key add hub'
      llvs verify hub --store s 2>&1 | grep -c 'llvs key add hub'
      llvs clone ./hub u --encrypt 2>&1 | grep -c 'key files are lost'
      llvs key add hub again --light --store s -q; llvs verify hub --store s -q; echo $?
      llvs sync --store s -q; llvs status --store s | grep -c 'key add'
      rm s/secrets/hub:keys.files; for k in hub/keys/*; do printf Z | dd of=$k bs=1 seek=60 conv=notrunc 2>/dev/null; done
      llvs sync --store s | grep -c damaged; llvs clone ./hub v --encrypt 2>&1 | grep -c '[.]key is damaged'
      """)
    #expect(result.output == "9\n1\n1\n1\n1\n1\n0\n0\n2\n1\n", "\(result.output)")
  }

  @Test("a store that knows lost key files puts them back, and says where it lacks a key")
  func lostKeyFiles() throws {
    let result = try Tool().run(
      """
      mkdir d hub; llvs init s -q; for w in one two; do echo $w words > $w; done
      export LLVS_PASSPHRASE_FILE=$PWD/one
      llvs peer hub "$PWD/hub" --encrypt --light --store s -q; echo 1 > d/a; llvs import d --store s -q
      llvs sync --store s -q; llvs clone ./hub b --encrypt -q; cp -r hub/keys before
      export LLVS_PASSPHRASE_FILE=$PWD/two; llvs key rotate hub new --light --store s -q
      echo 2 > d/a; llvs import d --store s -q; llvs sync --store s -q
      llvs verify origin --store b 2>&1 | grep -c 'llvs key open origin'
      rm hub/keys/new-*; llvs verify hub --store s 2>err; echo $?; grep -c 'puts back' err
      llvs sync --store s | grep -c 'key files put back'; llvs verify hub --store s -q; echo $?
      llvs clone ./hub t --encrypt -q; echo $?
      rm -r hub/keys; cp -r before hub/keys; llvs verify hub --repair --store s -q; echo $?
      llvs clone ./hub u --encrypt -q; echo $?
      rm hub/keys/new-* s/secrets/hub:keys.files; llvs verify hub --store s 2>err; echo $?
      grep -c 'llvs key add hub' err; llvs sync --store s | grep -c 'llvs key add hub'
      llvs status --store s | grep -c 'llvs key add hub'
      rm hub/keys/*; llvs clone ./hub v --encrypt -q 2>/dev/null; echo $?
      """)
    #expect(
      result.output == "1\n9\n1\n1\n0\n0\n0\n0\n9\n1\n1\n1\n9\n", "\(result.output)")
  }

  @Test(
    "a place whose only bundle has another length is repaired",
    arguments: ["truncate -s 300", "truncate -s +1", "truncate -s 0"])
  func onlyBundle(how: String) throws {
    let result = try Tool().run(
      """
      mkdir d hub; llvs init s -q; llvs peer hub "$PWD/hub" -q --store s
      echo 1 > d/f; llvs import d --store s -q; llvs sync --store s -q
      \(how) hub/bundles/*; llvs sync --store s | grep -c 'sent 1 version'
      llvs verify hub --store s -q; echo $?; llvs clone ./hub t -q; echo $?
      """)
    #expect(result.output == "1\n0\n0\n", "\(result.output)")
  }

  @Test("verify with --repair replaces what is damaged or missing at a peer")
  func repaired() throws {
    let result = try Tool().run(
      Self.damaged + """
        rm "$(ls hub/bundles/* | sed -n 8p)"
        llvs verify hub --repair --store s >out; echo $?; grep -c repaired out
        llvs verify hub --store s -q; echo $?; llvs clone ./hub t -q; echo $?
        """)
    #expect(result.output == "0\n1\n0\n0\n", "\(result.output)")
  }

  @Test("a clone that was stopped goes on with the same command")
  func stopped() throws {
    let result = try Tool().run(
      Self.hub + """
        llvs init t -q; llvs clone ./hub t -q; echo $?; llvs verify --store t -q; echo $?
        llvs clone ./hub t -q 2>/dev/null; echo $?
        mkdir -p u/segments; : > u/store.sqlite; llvs clone ./hub u -q; echo $?; llvs verify --store u -q; echo $?
        """)
    // An empty catalog is what a stopped clone leaves at first, then a store without a version and a peer.
    #expect(result.output == "0\n0\n11\n0\n0\n", "\(result.output)")
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
