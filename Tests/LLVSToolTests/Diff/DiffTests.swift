import Foundation
import TestSupport
import Testing

@Suite("llvs diff", .timeLimit(.minutes(3)))
struct DiffTests {
  /// Two trees with everything that a patch has words for, as versions `one` and `two` of a store.
  private func prepared() throws -> Tool {
    let tool = try Tool()
    let result = try tool.run(
      #"""
      mkdir -p one/sub two
      seq 1 40 > one/numbers; sed 's/^7$/seven/; s/^30$/thirty/; 1d; $a 41' one/numbers > two/numbers
      printf 'no end' > one/open; printf 'no end either' > two/open
      printf 'gets end' > one/closed; printf 'gets end\n' > two/closed
      echo gone > one/gone; echo new > two/new; : > two/empty; : > one/emptied-out
      echo content > one/filled; : > two/filled
      echo same > one/mode; cp one/mode two/mode; chmod 755 two/mode
      echo moved file > one/sub/from; mkdir two/other; cp one/sub/from two/other/to
      ln -s numbers one/link; ln -s open two/link; ln -s new two/fresh-link; ln -s x one/dead-link
      echo turns > one/turns; ln -s numbers two/turns
      printf 'a\r\nb\r\n' > one/crlf; printf 'a\r\nc\r\n' > two/crlf
      echo x > 'one/with space'; echo y > 'two/with space'
      echo x > one/ümlaut; echo y > two/ümlaut
      printf x > $'one/tab\there "quoted" back\\slash'; printf y > $'two/tab\there "quoted" back\\slash'
      touch -r one/numbers two/*
      llvs init s -q
      llvs import one --store s -q; llvs tag one --store s -q
      mkdir w; cp -a one/. w/
      """#)
    #expect(result.status == 0, "\(result.output)")
    // A version that is exactly the second tree: what is gone goes by restoring nothing in its place.
    let second = try tool.run(
      """
      llvs init t -q; llvs import two --store t -q; llvs peer s "$PWD/s" -q --store t
      llvs retrieve s --store t -q; llvs tag two head --store t -q
      """)
    #expect(second.status == 0, "\(second.output)")
    return tool
  }

  @Test(
    "patch and git apply make the second tree of the first",
    arguments: [("patch", 3), ("git", 3), ("git", 0), ("patch", 1)])
  func applied(_ program: String, _ context: Int) throws {
    let tool = try prepared()
    let made = try tool.run("llvs diff one two --store t -U \(context) > p 2> errors; cat errors")
    #expect(made.output == "")
    let apply =
      program == "git"
      ? "git apply -p1 \(context == 0 ? "--unidiff-zero" : "") ../p" : "patch -s -p1 -i ../p"
    let result = try tool.run(
      """
      cd w && \(apply) 2>&1 && cd .. && diff -r --no-dereference w two && stat -c %a w/mode
      """)
    #expect(result.output == "755\n", "\(result.output)\n\((try? tool.run("cat p").output) ?? "")")
  }

  @Test("a patch applied backwards makes the first tree of the second")
  func reversed() throws {
    let tool = try prepared()
    let result = try tool.run(
      """
      llvs diff two one --store t > p && rm -r w && cp -a two w && cd w && git apply ../p && cd .. &&
      diff -r --no-dereference w one && echo same
      """)
    #expect(result.output == "same\n", "\(result.output)")
  }

  /// Two trees whose files are no text, as versions `one` and `two`, and what stands in `one` in `w`.
  private func preparedBytes() throws -> Tool {
    let tool = try Tool()
    let result = try tool.run(
      #"""
      mkdir -p one/sub two/sub
      printf '\0\1' > one/bin; printf '\0\2' > two/bin; echo a > one/c; echo b > two/c
      head -c 300001 /dev/urandom > one/big; head -c 300000 one/big > two/big
      head -c 70000 /dev/zero > one/sub/zeros; head -c 70001 /dev/zero > two/sub/zeros
      printf 'gone\0' > one/gone; printf 'new\0' > two/new; : > one/filled; printf 'x\0' > two/filled
      printf 'y\0' > one/emptied; : > two/emptied; printf '\0m' > one/mode; printf '\0n' > two/mode
      chmod 755 two/mode; printf 'line\n' > one/turns; printf 'byte\0' > two/turns
      printf '\0u' > $'one/tab\t"quoted"'; printf '\0v' > $'two/tab\t"quoted"'
      printf '\0link' > one/becomes; ln -s c two/becomes
      seq 1 2000000 > one/seq; seq 2 2000000 > two/seq
      bytes() { printf '\0'; head -c "$1" /dev/urandom; }
      for n in 50 51 52 53; do bytes $n > one/n$n; bytes $n > two/n$n; done
      touch -r one/bin two/* two/sub/*
      llvs init s -q; llvs import one --store s -q; llvs tag one --store s -q
      llvs init t -q; llvs import two --store t -q; llvs peer s "$PWD/s" -q --store t
      llvs retrieve s --store t -q; llvs tag two head --store t -q; mkdir w; cp -a one/. w/
      """#)
    #expect(result.status == 0, "\(result.output)")
    return tool
  }

  @Test("bytes that are no text come by git apply, and go by it backwards")
  func bytesApplied() throws {
    let tool = try preparedBytes()
    let result = try tool.run(
      """
      llvs diff one two --store t > p && cd w && git apply ../p && cd .. &&
      diff -r --no-dereference w two && stat -c %a w/mode && cd w && git apply -R ../p && cd .. &&
      diff -r --no-dereference w one && stat -c %a w/mode
      """)
    #expect(result.output == "755\n644\n", "\(result.output)")
    // Bytes that are not what the patch was made of stay as they are, and so does all else.
    let other = try tool.run(
      "cd w; printf '\\0X' > bin; git apply ../p 2>&1; echo $?; cat c")
    #expect(other.output.contains("the patch applies to 'bin'"), "\(other.output)")
    #expect(other.output.hasSuffix("\n1\na\n"), "\(other.output)")
  }

  @Test("bytes in patches are written as git writes them")
  func bytesAsGit() throws {
    let tool = try preparedBytes()
    let result = try tool.run(
      """
      export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
      mkdir g; cd g; git init -q; cp -a ../one/. .; git add -A
      git -c user.name=a -c user.email=a@b commit -qm one; git rm -rq .; cp -a ../two/. .; git add -A
      echo 'seq binary' > .git/info/attributes; git diff --cached --binary --no-renames |
        grep -aE '^index .* 100644$|^index [0-9a-f]{40}' | sort > ../git
      cd ..; llvs diff one two --no-renames --store t |
        grep -aE '^index .* 100644$|^index [0-9a-f]{40}' | sort > ours; diff git ours
      """)
    #expect(result.status == 0, "\(result.output)")
  }

  @Test("patch leaves out bytes that are no text, says so, and applies the rest")
  func bytesPatched() throws {
    let tool = try preparedBytes()
    let result = try tool.run(
      "llvs diff one two --store t > p; cd w; patch -p1 < ../p 2>&1; echo $?; cat c; cmp bin ../one/bin"
    )
    #expect(
      result.output.contains("File bin: git binary diffs are not supported"), "\(result.output)")
    #expect(result.output.hasSuffix("\n1\nb\n"), "\(result.output)")
  }

  @Test("on a terminal, in a log and beyond 32 MiB bytes are only said to differ")
  func bytesShort() throws {
    let tool = try Tool()
    let result = try tool.run(
      #"""
      mkdir d; printf '\0\1' > d/bin; truncate -s 33M d/large; llvs init s -q; llvs import d --store s -q
      printf '\0\2' > d/bin; truncate -s 34M d/large; llvs import d --store s -q
      script -qec "'\#(MountedStore.program)' diff head~ --store s --no-pager --color=never" /dev/null </dev/null |
        tr -d '\r' > terminal
      llvs log -1 -u --store s > log; llvs log -1 -u --binary --store s > binary
      llvs diff head~ --store s > p; llvs show -u --store s > show
      """#)
    #expect(result.status == 0, "\(result.output)")
    let terminal = try tool.run("cat terminal").output
    #expect(terminal.contains("diff --git a/bin b/bin\nindex "), "\(terminal)")
    #expect(terminal.contains("\nBinary files a/bin and b/bin differ\n"), "\(terminal)")
    for file in ["terminal", "log"] {
      #expect(try !tool.run("cat \(file)").output.contains("GIT binary patch"), "\(file)")
    }
    for file in ["binary", "p", "show"] {
      let text = try tool.run("cat \(file)").output
      #expect(text.contains("\nGIT binary patch\nliteral 2\n"), "\(file): \(text)")
    }
    let patch = try tool.run("cat p").output
    #expect(patch.contains("\nBinary files a/large and b/large differ\n"), "\(patch)")
    let large = try tool.run(
      "truncate -s 33M large; truncate -s 34M new; git hash-object large new; git apply p 2>&1")
    let ids = large.output.split(separator: "\n")
    #expect(patch.contains("\nindex \(ids[0])..\(ids[1]) 100644\n"), "\(patch)")
    #expect(large.output.contains("large"), "\(large.output)")
  }

  @Test("names, marks, counts and JSON tell the same differences")
  func forms() throws {
    let tool = try prepared()
    let marks = try tool.run("llvs diff one two --store t --name-status").output
    #expect(marks.contains("R sub/from -> other/to\n"))
    for line in [
      "- gone", "+ new", "* numbers", "* turns", "+ other/", "- sub/", "* mode", "* link",
    ] {
      #expect(marks.contains(line + "\n"), "\(line): \(marks)")
    }
    let names = try tool.run("llvs diff one two --store t --name-only --no-renames").output
    #expect(names.contains("\nother/to\n") && names.contains("\nsub/from\n"))
    let stat = try tool.run("llvs diff one two --store t --stat numbers").output
    #expect(
      stat == " numbers | 6 +++---\n 1 file changed, 3 insertions(+), 3 deletions(-)\n", "\(stat)")
    let json = try tool.json("llvs diff one two numbers --store t --json --stat")
    #expect(json["added"] as? Int == 3 && json["binary"] as? Bool == false)
    #expect(json["path"] as? String == "numbers" && json["change"] as? String == "*")
    #expect(try tool.run("llvs diff one two --store t --exit-code > /dev/null").status == 1)
    #expect(try tool.run("llvs diff one one --store t --exit-code").status == 0)
    #expect(try tool.run("llvs diff one..two --store t --name-status").output == marks)
  }

  @Test("bytes that are no text are said to differ, and extended attributes are told")
  func beyondText() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir d; head -c 3000 /dev/zero > d/zeros; echo t > d/text; mkfifo d/pipe
      setfattr -n user.colour -v red d/text; llvs init s -q; llvs import d --store s -q
      head -c 4000 /dev/zero > d/zeros; setfattr -n user.colour -v blue d/text; mkdir d/void
      llvs import d --store s -q; llvs diff head~ head --store s; llvs diff head~ --stat --store s
      """)
    let told = """
      text: xattr user.colour: "red" -> "blue"
      directory void is new
      diff --git a/zeros b/zeros
      index b9412b146cc2cb1eea284e31f4db599835377ac8..1dc89f8e47e591af4c36a35046077f0ba1d1ef9d 100644
      GIT binary patch
      literal 4000

      """
    #expect(result.output.hasPrefix(told), "\(result.output)")
    let counted = """
       text  | xattr user.colour: "red" -> "blue"
       void/ | new directory
       zeros | Bin 3000 -> 4000 bytes
       3 files changed, 0 insertions(+), 0 deletions(-)

      """
    #expect(result.output.hasSuffix(counted), "\(result.output)")
  }

  @Test(
    "the live tree is compared where the store is mounted", .enabled(if: MountedStore.isPossible))
  func live() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let result = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        mkdir -p dir/sub moved; echo 1 > a; echo 2 > dir/b; echo 3 > dir/sub/c; echo 4 > moved/x
        echo "the same" > old-name; echo keep > kept; llvs commit -q; llvs diff --exit-code || echo differs
        echo changed > a; echo new > fresh; rm -r dir/sub; mv moved elsewhere; mv old-name new-name
        chmod 600 kept; echo scratch > .x.swp; echo below > elsewhere/y; sed -i s/2/two/ dir/b
        llvs diff --name-status; echo ---; llvs diff a; echo ---; cd elsewhere; llvs diff --name-only y
        cd ..; echo ---; llvs commit -q; llvs diff; echo more > fresh
        llvs diff head~ --name-status; echo ---; llvs diff head~ head --name-status fresh a
        """)
      let parts = result.output.components(separatedBy: "---\n")
      try #require(parts.count == 5, "\(result.output)")
      let marks = """
        * a
        * dir/b
        - dir/sub/
        - dir/sub/c
        + elsewhere/
        R moved/x -> elsewhere/x
        + elsewhere/y
        + fresh
        * kept
        - moved/
        R old-name -> new-name

        """
      #expect(parts[0] == marks)
      #expect(
        parts[1] == """
          diff --git a/a b/a
          index d00491f..5ea2ed4 100644
          --- a/a
          +++ b/a
          @@ -1 +1 @@
          -1
          +changed

          """)
      #expect(parts[2] == "elsewhere/y\n")
      #expect(parts[3] == marks)
      #expect(parts[4] == "* a\n+ fresh\n")
    }
  }

  @Test("a pager and colours are there for terminals only, and never where they are turned off")
  func terminals() throws {
    let tool = try Tool()
    let setup = """
      unset NO_COLOR; export TERM=xterm LLVS_PAGER='sed s/^/P:/'
      on() { script -qec "'\(MountedStore.program)' diff head~ --store s $*" /dev/null </dev/null; }
      """
    _ = try tool.run(
      """
      mkdir d; echo 1 > d/a; llvs init s -q; llvs import d --store s -q; echo 2 > d/a
      llvs import d --store s -q
      """)
    let paged = try tool.run("\(setup); on").output
    #expect(paged.contains("P:\u{1B}[1mdiff --git a/a b/a\u{1B}[m"), "\(paged)")
    #expect(paged.contains("P:\u{1B}[31m-1\u{1B}[m"))
    #expect(paged.contains("P:\u{1B}[32m+2\u{1B}[m"))
    let plain = try tool.run("\(setup); on --no-pager --color=never").output
    #expect(plain.hasPrefix("diff --git a/a b/a\r\nindex d00491f..0cfbf08 100644\r\n"), "\(plain)")
    #expect(try !tool.run("\(setup); NO_COLOR=1 on").output.contains("\u{1B}"))
    let piped = try tool.run("\(setup); llvs diff head~ --store s").output
    #expect(!piped.contains("\u{1B}") && !piped.contains("P:"))
    let always = try tool.run("llvs diff head~ --store s --color=always").output
    #expect(always.contains("\u{1B}[31m-1"))
  }

  @Test(
    "what is in no version is compared where the store is not mounted, too",
    .enabled(if: MountedStore.isPossible))
  func unmounted() throws {
    try MountedStore.with { mounted in
      let tool = try Tool()
      let script = """
        llvs diff $where; echo "code $?"; llvs diff --name-status --exit-code $where; echo "code $?"
        llvs diff new/file $where | tail -1; llvs diff head~ --name-status $where
        llvs diff head~ head --name-status $where
        """
      let setup = try tool.run(
        """
        cd '\(mounted.path)'; mkdir d; seq 30 > a; seq 40 50 > moved; echo gone > gone; echo in > d/in
        ln -s a link; llvs commit -q; echo second > d/second; llvs commit -q
        sed -i 's/^7$/seven/' a; mkdir new; echo fresh > new/file; echo x > new/scratch~
        mv moved d/here; rm gone; ln -sf d link; chmod 600 d/in; setfattr -n user.a -v b d/in
        head -c 300000 /dev/urandom > big; where='--mount .'; { \(script)
        } > '\(tool.directory.path)/mounted'
        """)
      #expect(setup.status == 0 && setup.output.isEmpty, "\(setup.output)")
      try mounted.kill()
      let store = mounted.store
      let result = try tool.run("where='--store \(store)'; { \(script)\n} > now; diff mounted now")
      #expect(result.status == 0, "\(result.output)")
      let names = try tool.run("llvs diff --name-status --store '\(store)'").output
      #expect(
        names == """
          * a
          + big
          R moved -> d/here
          * d/in
          - gone
          * link
          + new/
          + new/file

          """, "\(names)")
      #expect(try tool.run("llvs diff none --store '\(store)'").status == 3)
    }
  }
}
