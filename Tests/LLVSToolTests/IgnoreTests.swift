import Foundation
import TestSupport
import Testing

/// What stays out of versions: patterns that travel, patterns of the store, and what is taken out.
@Suite("llvs ignore and untrack", .timeLimit(.minutes(3)))
struct IgnoreTests {
  private static let mount = """
    exec 2>&1
    mkdir m && llvs mount s m -q && cd m && trap 'cd ..; llvs unmount m -q' EXIT
    files() { (cd .llvs/head && find . ! -type d | sort | tr '\\n' ' '); }
    versions() { sed 's/20[0-9T.-]*Z-[0-9A-F]*/V/g'; }
    """

  @Test(
    ".llvsignore counts in its directory and below, with what is written beside it",
    .enabled(if: MountedStore.isPossible))
  func travelling() throws {
    let result = try Tool().run(
      Self.mount + #"""

        mkdir -p src/deep build; printf 'build/\n*.o\n' > .llvsignore; printf '!keep.o\n/gen\n' > src/.llvsignore
        touch build/x a.o src/a.o src/keep.o src/deep/keep.o src/gen src/deep/gen src/a.c
        llvs commit -q; files; echo
        echo '*.c' >> src/deep/.llvsignore; touch src/deep/b.c; llvs commit -q; files; echo
        echo '' > .llvsignore; llvs commit -q; files; echo
        rm src/.llvsignore; touch src/gen; llvs commit -q; files; echo
        getfattr --only-values -n user.llvs.state src/deep/b.c; echo
        llvs ignore --check src/gen; llvs status | grep -A 4 Ignored; grep ignored .llvs/status; llvs track src/keep.o
        llvs track src build | versions; files; echo; llvs status | grep -A 1 Ignored; llvs track . | versions
        """#)
    #expect(
      result.output == """
        ./.llvsignore ./src/.llvsignore ./src/a.c ./src/deep/gen ./src/deep/keep.o ./src/keep.o 
        ./.llvsignore ./src/.llvsignore ./src/a.c ./src/deep/.llvsignore ./src/deep/gen ./src/deep/keep.o ./src/keep.o 
        ./.llvsignore ./src/.llvsignore ./src/a.c ./src/deep/.llvsignore ./src/deep/gen ./src/deep/keep.o ./src/keep.o 
        ./.llvsignore ./src/a.c ./src/deep/.llvsignore ./src/deep/gen ./src/deep/keep.o ./src/keep.o 
        scratch
        src/gen: in no version, since it was ignored by a pattern that is gone; "track src/gen" puts it in
        Ignored, and still in no version, though no pattern matches any more; "llvs track PATH" puts one in:
          a.o
          build
          src/a.o
          src/gen
        ignored   4 ignored files stay out of versions, though no pattern matches any more: a.o, build, src/a.o, src/gen ("track PATH" puts it in)
        llvs: src/keep.o is not kept out by a pattern that is gone; try "ignore --check src/keep.o".
        V has src/a.o, src/gen, build
        ./.llvsignore ./build/x ./src/a.c ./src/a.o ./src/deep/.llvsignore ./src/deep/gen ./src/deep/keep.o ./src/gen ./src/keep.o 
        Ignored, and still in no version, though no pattern matches any more; "llvs track PATH" puts one in:
          a.o
        V has a.o

        """, "\(result.output)")
  }

  @Test("patterns are exchanged with .llvsignore", .enabled(if: MountedStore.isPossible))
  func exchanged() throws {
    let result = try Tool().run(
      """
      exec 2>&1
      mkdir hub m; llvs init o -q; for s in s o; do llvs init $s -q 2>/dev/null; llvs peer hub "$PWD/hub" -q --store $s; done
      mkdir d; echo '*.log' > d/.llvsignore; llvs import d --store o -q; llvs sync --store o -q
      llvs sync --store s -q; llvs mount s m -q && cd m && trap 'cd ..; llvs unmount m -q' EXIT
      touch a.log a; llvs commit -q; ls .llvs/head/; llvs ignore --check a.log
      """)
    #expect(
      result.output == "a\na.log: in no version, by .llvsignore, line 1\n", "\(result.output)")
  }

  @Test("--check tells which pattern keeps a path out", .enabled(if: MountedStore.isPossible))
  func check() throws {
    let result = try Tool().run(
      Self.mount + #"""

        mkdir sub; echo 1 > sub/a; llvs commit -q; printf '#\na\n' > sub/.llvsignore
        llvs ignore 'b c' '*.tmp'; cd sub; llvs ignore --check a b.tmp x ../'b c'; cd ..
        llvs ignore --check --json /sub/y/b.tmp; llvs ignore '['; echo $?
        llvs ignore | tail -n 2; llvs ignore '*.tmp' -q; llvs ignore | tail -n 2
        """#)
    #expect(
      result.output == #"""
        new names that match are in no version from now on: b c, *.tmp
        sub/a: in versions, since it was before sub/.llvsignore, line 2 matched; "untrack sub/a" takes it out
        sub/b.tmp: in no version, by .llvs/ignore, line 44
        sub/x: no pattern matches
        b c: in no version, by .llvs/ignore, line 43
        {"ok":true,"paths":[{"path":"sub/y/b.tmp","state":"ignored","file":".llvs/ignore","line":44}],"text":"sub/y/b.tmp: in no version, by .llvs/ignore, line 44"}
        llvs: [ is not a pattern of gitignore(5).
        2
        b c
        *.tmp
        b c
        *.tmp

        """#, "\(result.output)")
  }

  @Test(
    "the trash and what systems litter stay out of versions", .enabled(if: MountedStore.isPossible))
  func litter() throws {
    let result = try Tool().run(
      Self.mount + #"""

        mkdir -p .Trash-0/files d; touch .Trash-0/files/x Thumbs.db d/.DS_Store d/Desktop.ini .directory
        touch f.crdownload a.part plain; llvs commit -q; files
        """#)
    #expect(result.output == "./plain ", "\(result.output)")
  }

  @Test("untrack takes a directory out of versions and keeps it here", arguments: [false, true])
  func untrack(isMounted: Bool) throws {
    guard MountedStore.isPossible || !isMounted else { return }
    let result = try Tool().run(
      #"""
      exec 2>&1
      mkdir -p d/b/deep m hub; echo 1 > d/b/x; echo 2 > d/b/deep/y; ln -s x d/b/l; echo 3 > d/keep; echo 4 > d/f*
      chmod 751 d/b/deep; chmod 640 d/b/x; touch -d @1000 d/b/x
      for s in s o; do llvs init $s -q; llvs peer hub "$PWD/hub" -q --store $s; done
      llvs import d --store s -q; llvs sync --store s -q; llvs sync --store o -q
      """#
        + (isMounted ? "\nllvs mount s m -q; trap 'llvs unmount m -q' EXIT\nls m/b >/dev/null" : "")
          + #"""

          llvs untrack b 'f*' --store s | sed 's/^[^ ]*/V/'; llvs untrack nothing --store s; echo $?
          llvs untrack . --store s; echo $?
          llvs ignore --store s | tail -n 2; llvs sync --store s -q; llvs sync --store o -q
          llvs export head out --store o -q; find out | sort | tr '\n' ' '; echo
          llvs status --store s --json | grep -o '"new":[0-9]*'
          """# + "\n" + (isMounted ? "" : "llvs mount s m -q; trap 'llvs unmount m -q' EXIT\n")
          + #"""
          cat m/b/x m/b/l m/b/deep/y m/f*; stat -c '%a %Y' m/b/x; stat -c %a m/b/deep; readlink m/b/l
          echo 5 > m/b/x; llvs commit --mount m; llvs undo --mount m -q; cat m/b/x; cat m/.llvs/head/b/x
          """#)
    #expect(
      result.output == """
        V is without b f*; 4 files stay here alone
        llvs: nothing is in no version.
        3
        llvs: everything cannot be taken out of versions; usage: untrack PATH...
        2
        /b/
        /f\\*
        out out/keep 
        "new":0
        1
        1
        2
        4
        640 1000
        751
        x
        nothing to commit
        5
        1

        """, "\(result.output)")
  }

  @Test(
    "What untrack takes out stays in place, for the shell that is in it too",
    .enabled(if: MountedStore.isPossible))
  func untrackedInPlace() throws {
    let result = try Tool().run(
      Self.mount + #"""

        mkdir -p d/sub e; echo 1 > d/a; echo 2 > d/sub/b; ln d/a d/l; setfattr -n user.k -v "$(printf %03000d 7)" d/a
        llvs commit -q; cd d; exec 5< sub/b; before=$(stat -c %i . a l sub sub/b)
        llvs untrack . | versions; [ "$before" = "$(stat -c %i . a l sub sub/b)" ] || echo other numbers
        ls; cat sub/b <&5; pwd -P | sed 's/.*m/m/'; echo 3 > c; echo 4 >> a; cat l
        getfattr --only-values -n user.k a | wc -c; getfattr --only-values -n user.llvs.state sub; echo
        exec 5<&-; cd ..; llvs commit; files; echo; cd ..
        llvs unmount m -q; llvs mount s m -q; cd m; cat d/a d/sub/b d/c; files; echo; llvs undo -q; ls d; files; echo
        """#)
    #expect(
      result.output == """
        V is without d; 3 files stay here alone
        a
        l
        sub
        2
        m/d
        1
        4
        3000
        scratch
        nothing to commit

        1
        4
        2
        3

        %llvs%d%2Fa
        %llvs%d%2Fl
        a
        c
        l
        sub
        ./d/a ./d/l ./d/sub/b 

        """, "\(result.output)")
  }
}
