import TestSupport
import Testing

/// Finding files by words, in a store and in a mount.
@Suite("llvs search", .timeLimit(.minutes(3)))
struct WordSearchTests {
  @Test("files are found by words, with their lines, and history is searched too")
  func store() throws {
    let result = try Tool().run(
      #"""
      mkdir -p d/sub; llvs init s -q; at='--store s'
      printf 'one\nThe Runners ran\n' > d/a; printf 'a café\n' > d/sub/b; printf 'x\0café' > d/bin
      touch -d @1700000000 d/sub/b
      llvs import d -q $at; llvs tag first -q $at
      printf 'walker\n' > d/a; printf 'other café\n' > d/sub/c; touch -d @1700000000 d/sub/c
      llvs import d -q $at
      v=$(llvs show first --json $at | sed 's/.*"name":"\([^"]*\)".*/\1/')
      { llvs search cafe --sort path $at; llvs search cafe --under sub -l -n 1 $at
        llvs search runner $at; echo $?; llvs search runner --history $at; echo $?
        llvs search 'cafe -other' $at -l; llvs search --exact CAFE $at; echo $?
        llvs search '???' $at; echo $?; llvs search café --sort nothing $at; echo $?
        llvs search other --json $at; } 2>&1 | sed "s/$v/V/"
      """#)
    #expect(
      result.output == #"""
        sub/b:1:a café
        sub/c:1:other café
        sub/b
        llvs: 1 more file; -n 2 shows all.
        1
        V:a:2:The Runners ran
        0
        sub/b
        1
        llvs: nothing to search for, or too much, in '???'.
        2
        llvs: --sort is rank, time or path, not nothing.
        2
        {"path":"sub/c","version":null,"isForgotten":false,"lines":[{"line":1,"text":"other café"}]}

        """#, "\(result.output)")
  }

  @Test(
    "in a mount, files are searched before a version has them, from the current directory",
    .enabled(if: MountedStore.isPossible))
  func mounted() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let output = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        mkdir -p d/e old; echo 'apple pie' > d/e/f; echo apple > g; echo 'apple tree' > old/h
        echo commit > .llvs/control
        llvs search apple --sort path; echo --
        echo pear > g; echo 'new apple' > d/n; mv old moved; rm d/e/f; echo apple > .llvs-not; touch e
        llvs search apple --sort path -l; echo --; cd d; llvs search pear -l; llvs search apple -l --under .
        """
      ).output
      #expect(
        output == """
          d/e/f:1:apple pie
          g:1:apple
          old/h:1:apple tree
          --
          .llvs-not
          d/n
          moved/h
          --
          g
          d/n

          """, "\(output)")
    }
  }

  @Test(
    "a directory of links is made by looking it up, and follows what changes",
    .enabled(if: MountedStore.isPossible))
  func links() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let output = try mounted.shell(
        """
        mkdir -p d/e; echo 'apple pie' > d/e/f; echo commit > .llvs/control
        ls .llvs/search; ls '.llvs/search/apple pie'; cat .llvs/search/apple/*
        readlink .llvs/search/apple/0001-f; readlink d/.llvs/search/apple/0001-f
        cat d/.llvs/search/apple/0001-f
        ls .llvs/search/plum 2>&1 | sed 's/.*: //'; ls e/.llvs/search/apple 2>&1 | sed 's/.*: //'
        echo 'apple apple' > g; ls .llvs/search/apple; rm g d/e/f; ls .llvs/search/apple 2>&1 | sed 's/.*: //'
        stat -c %a .llvs/search; touch .llvs/search/x 2>&1 | sed 's/.*: //'
        rmdir .llvs/search 2>&1 | sed 's/.*: //'; ls .llvs/head/.llvs/search 2>&1 | sed 's/.*: //'
        """
      ).output
      #expect(
        output == """
          0001-f
          apple pie
          ../../../d/e/f
          ../../../e/f
          apple pie
          No such file or directory
          No such file or directory
          0001-g
          0002-f
          No such file or directory
          700
          Operation not permitted
          Operation not permitted
          No such file or directory

          """, "\(output)")
    }
  }

  @Test(
    "the index follows versions behind them, and no thread that commits touches it",
    .enabled(if: MountedStore.isPossible))
  func feed() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let output = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        s='\(mounted.store)'; echo one > a; echo commit > .llvs/control
        ls "$s" | grep search; llvs search one -l
        echo two > b; echo commit > .llvs/control
        for i in $(seq 100); do llvs search two -l --wait 0 2> /dev/null && break; sleep 0.1; done
        # Whoever writes the index waits here; a commit does not.
        flock "$s/search.lock" sh -c 'echo held > h; echo commit > .llvs/control; echo committed'
        llvs search held -l
        llvs set search=off -q; echo three > c; echo commit > .llvs/control; sleep 1.5
        llvs search three -l --wait 0 2> /dev/null; echo $?; llvs search three -l
        """
      ).output
      #expect(
        output == """
          a
          b
          committed
          h
          1
          c

          """, "\(output)")
    }
  }

  @Test(
    "the thread that makes a version neither reads nor writes the index",
    .enabled(if: MountedStore.isPossible && InterruptTests.canTrace))
  func offThePath() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let output = try mounted.shell(
        """
        echo first > a; echo commit > .llvs/control; '\(MountedStore.program)' search first -l
        strace -f -y -o ../trace -e trace=%file,%desc -p \(mounted.daemon) 2> ../err & tracer=$!
        until grep -qs attached ../err; do sleep 0.1; done
        echo second > b; echo commit > .llvs/control; sleep 2; kill $tracer; wait $tracer
        python3 - <<'SCRIPT'
        made, indexed = set(), set()
        for line in open('../trace', errors='replace'):
            thread, _, call = line.partition(' ')
            if '/search.sqlite' in call: indexed.add(thread)
            name = call.strip().partition('(')[0]
            if name in ('fsync', 'fdatasync', 'pwrite64', 'pwritev') and '/store/s' in call \\
                and '/search.sqlite' not in call: made.add(thread)
        print(len(made) > 0, len(indexed) > 0, made.isdisjoint(indexed))
        SCRIPT
        """
      ).output
      #expect(output == "a\nTrue True True\n", "\(output)")
    }
  }
}
