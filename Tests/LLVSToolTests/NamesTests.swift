import Foundation
import TestSupport
import Testing

/// Names of branches and tags, listed, removed and changed, mounted or not.
@Suite("llvs branch and tag", .timeLimit(.minutes(3)))
struct NamesTests {
  private static func setup(_ isMounted: Bool) -> String {
    """
    exec 2>&1
    mkdir d; echo 1 > d/a; llvs init s -q; llvs import d --store s -q
    \(isMounted ? "mkdir m && llvs mount s m -q && trap 'llvs unmount m -q' EXIT" : ":")
    at='--store s'
    versions() { sed 's/20[0-9T.-]*Z-[0-9A-F]*/V/g'; }
    """
  }

  @Test("branches are listed, renamed and removed; their versions stay", arguments: [false, true])
  func branches(isMounted: Bool) throws {
    guard MountedStore.isPossible || !isMounted else { return }
    let result = try Tool().run(
      Self.setup(isMounted) + """

        {
          llvs branch work -q $at; llvs branch $at; llvs branch --delete work $at; echo $?
          llvs branch -m work labour $at; llvs branch $at; llvs switch - -q $at
          llvs branch -d labour $at; llvs branch -d labour $at; echo $?; llvs branch $at
          llvs switch labour $at; echo $?
          llvs branch apart -q $at; llvs tag keep $at -q; echo 2 > d/b; llvs import d -q $at
          llvs switch - -q $at; llvs branch -d apart $at; echo $?; llvs branch -d apart --force $at
          llvs merge all $at; llvs branch apart -q $at; llvs branch --json $at
        } 2>&1 | versions
        """)
    #expect(
      result.output == """
          -     V  (the unnamed line)
        * work  V
        llvs: the tree is on work; "switch" to another branch first.
        6
        the branch work is called labour now
          -       V  (the unnamed line)
        * labour  V
        the branch labour is removed; it was at V
        llvs: there is no branch labour.
        3
        * -  V  (the unnamed line)
        llvs: there is no version labour.
        3
        llvs: no other branch holds V of apart: merge it, or remove the name all the same with "branch --delete apart --force"; its versions stay.
        6
        the branch apart is removed; it was at V
        nothing to merge
        {"ok":true,"branches":[{"branch":"-","version":"V","isCurrent":false},{"branch":"apart","version":"V","isCurrent":true}],"text":"  -      V  (the unnamed line)\\u000a* apart  V"}

        """, "\(result.output)")
  }

  @Test("tags are renamed and removed", arguments: [false, true])
  func tags(isMounted: Bool) throws {
    guard MountedStore.isPossible || !isMounted else { return }
    let result = try Tool().run(
      Self.setup(isMounted) + """

        {
          llvs tag one -q $at; llvs tag -m one uno $at; llvs tag $at; llvs show one $at | head -n 1; 
          llvs tag -d uno $at; llvs tag $at; llvs tag uno $at; llvs tag -m uno head $at; echo $?
          llvs tag -d one --json $at
        } 2>&1 | versions
        """)
    #expect(
      result.output.contains("uno is V, renamed from one\nuno  V\nllvs: there is no version one"),
      "\(result.output)")
    #expect(
      result.output.contains("the tag uno is removed; it was V\nno tags\nuno is V\n"),
      "\(result.output)")
    #expect(result.output.contains("head is a version's name.\n11\n"), "\(result.output)")
  }

  @Test("what is removed here is removed there, and a version made there meanwhile brings it back")
  func exchanged() throws {
    let result = try Tool().run(
      """
      exec 2>&1
      mkdir d hub; echo 1 > d/a
      for s in s t; do llvs init $s -q; llvs peer hub "$PWD/hub" -q --store $s; done
      llvs import d --store s -q
      for b in one two; do llvs branch $b -q --store s; llvs switch - -q --store s; done
      llvs tag v1 -q --store s; llvs sync -q --store s; llvs sync -q --store t
      names() { llvs branch --store $1 | tr -d '*' | tr -s ' ' | cut -d ' ' -f 2 | tr '\\n' ' '
        llvs tag --store $1 | cut -d ' ' -f 1; }
      names t
      llvs branch -d one -q --store s; llvs branch -d two -q --store s; llvs tag -d v1 -q --store s
      llvs switch two -q --store t; echo 2 > d/b; llvs import d -q --store t; llvs switch - -q --store t
      llvs sync -q --store s; llvs sync -q --store t; llvs sync -q --store s
      names t; names s
      """)
    #expect(result.output == "- one two v1\n- two no\n- two no\n", "\(result.output)")
  }

  @Test(
    "a removed name is free again, and .llvs does not show it",
    .enabled(if: MountedStore.isPossible))
  func reused() throws {
    let result = try Tool().run(
      """
      mkdir m && llvs mount s m -q && cd m && trap 'cd ..; llvs unmount m -q' EXIT
      echo 1 > a; llvs commit -q; llvs branch x -q; llvs switch - -q; llvs tag t -q
      ls .llvs/branches .llvs/tags | tr '\\n' ' '
      llvs branch -d x -q; llvs tag -d t -q; ls .llvs/branches .llvs/tags | tr '\\n' ' '
      ls .llvs/branches/x .llvs/tags/t 2>&1 | grep -c 'No such'
      llvs branch t -q; llvs tag x -q; ls .llvs/branches .llvs/tags | tr '\\n' ' '
      """)
    #expect(
      result.output == """
        .llvs/branches: - x  .llvs/tags: t .llvs/branches: -  .llvs/tags: 2
        .llvs/branches: - t  .llvs/tags: x 
        """, "\(result.output)")
  }

  @Test("commit does not take what is a file for a message", arguments: [false, true])
  func commitOfPath(isMounted: Bool) throws {
    guard MountedStore.isPossible || !isMounted else { return }
    let result = try Tool().run(
      Self.setup(isMounted) + """

        llvs commit a $at; echo $?; llvs commit a nothing $at; llvs commit -m a $at; llvs log --oneline $at | wc -l
        """)
    #expect(
      result.output == """
        llvs: a is a file; commit makes a version of everything that is saved, and takes a message: llvs commit -m 'a'.
        2
        nothing to commit
        nothing to commit
        1

        """, "\(result.output)")
  }
}
