import Foundation
import TestSupport
import Testing

/// What a user asks of history: who wrote a line, where a word was, what takes room.
@Suite("llvs grep, blame, space and open", .timeLimit(.minutes(3)))
struct SearchTests {
  /// Three versions of a file, the last under another name.
  private static let setup = #"""
    mkdir d; llvs init s -q; at='--store s'
    printf 'one\ntwo\nthree\n' > d/a; llvs import d -q $at -m first; llvs tag first -q $at
    printf 'one\nTWO\nthree\n' > d/a; llvs import d -q $at -m second; llvs tag second -q $at
    rm -r d; mkdir d; printf 'one\nTWO\nthree\n' > d/b; printf 'x\0one' > d/bin
    llvs import d -q $at -m third; llvs tag third -q $at
    names() {
      for t in first second third; do
        sed "s/$(llvs show $t --json $at | sed 's/.*"name":"\([^"]*\)".*/\1/')/$t/g" > t < "${f:-in}"
        cp t in; f=in
      done; cat in
    }
    """#

  @Test("grep finds every content once, with the version that brought it, newest first")
  func grep() throws {
    let result = try Tool().run(
      Self.setup + #"""

        { llvs grep 't[wh]' $at; echo $?; llvs grep -i two first..third $at; llvs grep one first $at
          llvs grep -F 't[wh]' $at; echo $?; llvs grep -l one third $at
          llvs grep one third $at -- bin; llvs grep -I one third $at -- bin; echo $?; llvs grep '(' $at; echo $?
          llvs grep -i two --json a $at; } > in 2>&1
        names
        """#)
    #expect(
      result.output == #"""
        third:b:3:three
        second:a:3:three
        first:a:2:two
        first:a:3:three
        0
        third:b:2:TWO
        second:a:2:TWO
        first:a:1:one
        1
        third:a
        third:b
        third:bin
        Binary file third:bin matches
        1
        llvs: ( is not a pattern: Unmatched ( or \(.
        2
        {"version":"second","path":"a","line":2,"text":"TWO"}
        {"version":"first","path":"a","line":2,"text":"two"}

        """#, "\(result.output)")
  }

  @Test("blame names the version and the author of each line, also before a file was renamed")
  func blame() throws {
    let result = try Tool().run(
      #"""
      llvs init s -q; at='--store s'; mkdir d; llvs set author=Ann machine=desk $at -q
      printf 'one\ntwo\nthree\n' > d/a; llvs import d -q $at -m first; llvs tag first -q $at
      llvs set author=Bob $at -q
      printf 'zero\none\nTWO\nthree\n' > d/a; llvs import d -q $at -m second; llvs tag second -q $at
      { llvs blame a $at; llvs blame a first $at; llvs blame a --json $at | head -n 1
        llvs blame none $at; echo $?; } > in 2>&1
      f=in
      for t in first second; do
        sed -i "s/$(llvs show $t --json $at | sed 's/.*"name":"\([^"]*\)".*/\1/')/$t/g" in
      done
      sed 's/"time":"[0-9TZ:.-]*"/"time":T/' in
      """#)
    #expect(
      result.output == """
        second Bob@desk 1 zero
        first Ann@desk 2 one
        second Bob@desk 3 TWO
        first Ann@desk 4 three
        first Ann@desk 1 one
        first Ann@desk 2 two
        first Ann@desk 3 three
        {"line":1,"version":"second","time":T,"author":"Bob","machine":"desk","path":"a","text":"zero"}
        llvs: second has no file none.
        3

        """, "\(result.output)")
  }

  @Test(
    "a renamed file is blamed under both names, in a mount", .enabled(if: MountedStore.isPossible))
  func renamed() throws {
    let result = try Tool().run(
      #"""
      mkdir m; llvs mount s m -q && cd m && trap 'cd ..; llvs unmount m -q' EXIT
      printf 'a\nb\n' > old; llvs commit -q; mv old new; llvs commit -q; echo c >> new; llvs commit -q
      llvs blame new --json | sed 's/.*"path":"\([^"]*\)","text":"\([^"]*\)".*/\1 \2/'
      """#)
    #expect(result.output == "old a\nold b\nnew c\n", "\(result.output)")
  }

  @Test("space counts each content once, for versions, paths and peers")
  func space() throws {
    let tool = try Tool()
    let script = #"""
      llvs init s -q; at='--store s'; mkdir -p d/sub hub; head -c 100000 /dev/urandom > d/sub/big
      cp d/sub/big d/copy; echo small > d/a; llvs import d -q $at; echo other > d/a; llvs import d -q $at
      llvs peer hub "$PWD/hub" -q $at; llvs peer away /nowhere/at/all -q $at 2> /dev/null; llvs sync hub -q $at
      """#
    let report = try tool.json("\(script)\nllvs space --json $at")
    #expect(report["versions"] as? Int == 2 && report["contentBytes"] as? Int == 100_012)
    let largest = try #require(report["largestVersions"] as? [[String: Any]])
    #expect(largest.map { $0["bytes"] as? Int } == [100_006, 6])
    let paths = try #require(report["paths"] as? [[String: Any]])
    let sizes = paths.map {
      "\($0["path"] ?? "") \($0["headBytes"] ?? "") \($0["historyBytes"] ?? "")"
    }
    // Equal contents are counted where they were seen first.
    #expect(sizes == ["copy 100000 100000", "a 6 12", "sub 100000 0"], "\(sizes)")
    let parts = try #require(report["parts"] as? [String: Int])
    #expect(parts["head"] ?? 0 >= 100_000 && parts["history"] ?? 0 < 1000, "\(parts)")
    let months = try #require(report["months"] as? [[String: Any]])
    #expect(months.reduce(0) { $0 + ($1["versions"] as? Int ?? 0) } == 2)
    #expect(months.reduce(0) { $0 + ($1["bytes"] as? Int ?? 0) } >= 100_000)
    #expect(report["bytes"] as? Int == parts.values.reduce(0, +))
    let peers = try #require(report["peers"] as? [[String: Any]])
    #expect(peers.map { $0["peer"] as? String } == ["away", "hub"])
    #expect(peers[0]["bytes"] is NSNull && peers[1]["bytes"] as? Int ?? 0 > 100_000)
    let text = try tool.run("llvs space sub --store s; llvs space nowhere --store s; echo $?")
      .output
    #expect(text.contains("Files in sub whole: in all versions, and in head:\n"), "\(text)")
    #expect(text.hasSuffix("llvs: no version has anything at nowhere.\n3\n"), "\(text)")
  }

  @Test("open leads to the revisions of a file and the versions of a directory")
  func open() throws {
    let tool = try Tool()
    let unmounted = try tool.run("llvs init s -q; llvs open --store s 2>&1")
    #expect(unmounted.status == 3 && unmounted.output.contains("is not mounted"))
    guard MountedStore.isPossible else { return }
    let result = try tool.run(
      #"""
      mkdir m bin; llvs mount s m -q && cd m && trap 'cd ..; llvs unmount m -q' EXIT
      mkdir sub; echo 1 > sub/a; llvs commit -q
      (cd sub; llvs open a --print; llvs open --print; llvs open /sub --json) | sed "s|$PWD|M|"
      printf '#!/bin/sh\nls "$1" | wc -l\n' > ../bin/xdg-open; chmod +x ../bin/xdg-open
      PATH=$PWD/../bin:$PATH llvs open sub/a
      llvs open nothing 2>&1; echo $?
      """#)
    #expect(
      result.output == """
        M/.llvs/history/sub/a
        M/sub/.llvs/versions
        {"ok":true,"path":"M/sub/.llvs/versions"}
        1
        llvs: no version has a file nothing.
        3

        """, "\(result.output)")
  }

  @Test("watch shows what happens from now on", .enabled(if: MountedStore.isPossible))
  func watch() throws {
    let result = try Tool().run(
      #"""
      mkdir m; llvs mount s m -q && trap 'llvs unmount m -q' EXIT
      echo 1 > m/a; llvs commit -q --mount m
      (exec \#(MountedStore.program) watch --json --mount m) > seen & watch=$!
      sleep 1; echo 2 > m/b; llvs commit -q --mount m; sleep 1; kill $watch
      cat seen
      """#)
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 1 && lines[0].contains("\"kind\":\"version\""), "\(result.output)")
    #expect(lines.first?.contains("1 new: b") == true, "\(result.output)")
  }
}
