import Foundation
import TestSupport
import Testing

@Suite("The command-line tool", .timeLimit(.minutes(3)))
struct ToolTests {
  @Test(
    "exit codes are as documented",
    arguments: [
      ("llvs", 2), ("llvs nothing", 2), ("llvs --nothing", 2), ("llvs help", 0),
      ("llvs sync --help", 0), ("llvs status", 3), ("llvs status --store absent", 3),
      ("llvs init s", 0), ("llvs init s; llvs init s", 11),
      ("llvs init s -q; llvs sync nobody --store s", 3),
      ("llvs init s -q; llvs sync --store s", 0), ("llvs init s -q; llvs tag x --store s", 3),
      ("llvs init s -q; llvs set settle=soon --store s", 2),
      ("llvs init s -q; llvs peer p /nowhere/at/all -q --store s; llvs retrieve --store s", 4),
      ("mkdir s; touch s/other; llvs init s", 11), ("llvs mount s nowhere", 3),
      ("llvs mount s /etc/hostname", 2), ("mkdir m; llvs mount s m -o nocreate", 3),
      ("llvs init s; llvs mount s s", 2), ("llvs init s; llvs mount s s/segments", 2),
      ("llvs init s; llvs mount s .", 2), ("llvs init s 0<&- 1>&- 2>&-; llvs verify --store s", 0),
      ("llvs init s; llvs status --store s 1>&-", 0), ("llvs help 0<&- 2>&-", 0),
      ("llvs init s; llvs status --store s > /dev/full", 7),
      ("llvs init s; llvs status --store s 1< /dev/null", 12),
      ("llvs status --store absent > /dev/full", 3), ("llvs --version", 0),
      ("llvs version x", 2), ("llvs grep", 2), ("llvs blame", 2), ("llvs space --store absent", 3),
      ("llvs init s -q; llvs peer x ssh://a/b -q --store s", 2),
      ("llvs init s -q; llvs peer x nowhere --store s", 2),
    ])
  func exitCodes(_ script: String, _ code: Int32) throws {
    let result = try Tool().run(script)
    #expect(result.status == code, "\(script): \(result.output)")
  }

  @Test("an error is a sentence on standard error, and nothing stands on standard output")
  func errors() throws {
    let tool = try Tool()
    let result = try tool.run(
      "llvs status --store absent 2>/dev/null; llvs nothing 2>&1 >/dev/null")
    #expect(result.output.hasPrefix("llvs: there is no verb nothing"))
    #expect(result.output.hasSuffix(".\n"))
    #expect(try tool.run("llvs init s --quiet 2>&1").output == "")
  }

  @Test("what is not there is named for what it was to be")
  func missing() throws {
    let result = try Tool().run(
      """
      { llvs log --store absent; llvs init s -q; mkdir d; echo 1 > d/a; llvs import d --store s -q
        llvs log no/such --store s; llvs diff head no/such --store s; llvs squash --store s; llvs --version; llvs version --json
        mkdir gone; cd gone; rmdir ../gone; llvs log; } 2>&1
      """)
    #expect(
      result.output == """
        llvs: there is no store at absent.
        llvs: "no/such" is neither a version nor a file here; for a path that no longer exists write: llvs log -- no/such.
        llvs: "no/such" is neither a version nor a file here; for a path that no longer exists write: llvs diff -- no/such.
        llvs: there is no verb squash; "llvs help" lists them.
        llvs 0.1.0-dev
        {"ok":true,"program":"llvs","release":"0.1.0-dev"}
        llvs: the current directory was removed; change to another.

        """)
  }

  @Test(
    "a tag that is given again goes nowhere without -f or --force, and says where it came from",
    arguments: [false, true])
  func movedTags(isMounted: Bool) throws {
    guard MountedStore.isPossible || !isMounted else { return }
    let tool = try Tool()
    let mount = isMounted ? "mkdir m && llvs mount s m -q && trap 'llvs unmount m -q' EXIT" : ":"
    let result = try tool.run(
      """
      mkdir d; llvs init s -q; for i in 1 2; do echo $i > d/a; llvs import d --store s -q; done
      \(mount)
      name() { llvs show "$1" --json --store s | sed 's/.*"name":"\\([^"]*\\)".*/\\1/'; }
      first=$(name head~) second=$(name head)
      names() { sed "s/$first/FIRST/g; s/$second/SECOND/g"; }
      {
        llvs tag v1 head~ --store s; llvs tag v1 head~ --store s; echo $?
        llvs tag v1 head --store s; echo $?; llvs tag v1 --store s
        llvs tag -f v1 head --store s; llvs tag v1 --store s -q
        llvs tag --force v1 head~ --store s; llvs tag --force --store s
      } 2>&1 | names
      """)
    #expect(
      result.output == """
        v1 is FIRST
        v1 is FIRST
        0
        llvs: tag v1 exists (FIRST); to move it: llvs tag --force v1 head.
        11
        llvs: tag v1 exists (FIRST); to move it: llvs tag --force v1.
        v1 is SECOND, moved from FIRST
        v1 is FIRST, moved from SECOND
        v1  FIRST

        """, "\(result.output)")
  }

  @Test("status says when a command failed", .enabled(if: MountedStore.isPossible))
  func failureInStatus() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir m && llvs mount s m -q && trap 'llvs unmount m -q' EXIT
      cd m; mkdir ../p; llvs peer p ../p -q; rmdir ../p; llvs sync p 2> /dev/null; llvs status | grep -c 'is not there'
      llvs set settle=1s on-version=false -q; llvs sync nobody 2> /dev/null; llvs redo 2> /dev/null
      llvs status | grep error; echo 1 > a; llvs commit -q > /dev/null
      for i in $(seq 100); do llvs status | grep error && break; sleep 0.1; done
      llvs set on-version=true -q; llvs status | grep error; cd ..
      """)
    #expect(
      result.output == """
        No changes here
        1
        The last error of a hook: on-version: false ended with 1.

        """, "\(result.output)")
  }

  @Test("llvs document changes no file that is not a document, and only put makes one")
  func documentFiles() throws {
    let result = try Tool().run(
      """
      llvs init s -q; cp s/store.sqlite sqlite; : > empty; printf a > letter; printf %99d 1 > text
      printf n | llvs document real put n; mkdir before; cp sqlite empty letter text before
      for verb in stats list 'get n' 'delete n' conflicts authors 'merge real' 'search n' erase verify; do
        for file in sqlite empty letter text none; do
          llvs document $file $verb > said 2>&1; [ $? = 2 ] && cat said
          llvs document $file $verb > said 2>&1 && echo "$verb $file: done"
        done
      done
      for file in sqlite letter text; do
        printf n | llvs document $file put n 2> said && echo "put $file: done"
        llvs document real merge $file 2> said && echo "merge $file: done"
        llvs document join real real $file 2> said && echo "join $file: done"
      done
      for file in before/*; do cmp $file ${file#before/}; done; ls
      llvs document letter verify 2>&1; llvs document join real real empty 2>&1
      printf n | llvs document empty put n && llvs document empty verify
      llvs import empty --store s -q; llvs log --oneline --store s | tail -n 1 | cut -d ' ' -f 2-
      """)
    let names = "before\nempty\nletter\nreal\ns\nsaid\nsqlite\ntext\n"
    let refusals = "llvs: letter is no document.\nllvs: empty is no document.\n"
    #expect(
      result.output == names + refusals + "no damage found\nbegins empty\n", "\(result.output)")
  }

  @Test("a directory that is imported and exported again is the same")
  func importAndExport() throws {
    let tool = try Tool()
    let made = try tool.run(
      """
      mkdir -p d/sub/deep d/empty && cd d
      echo one > a; echo two > a.b; echo three > sub/c; printf '\\303\\251' > 'sub/deep/\u{E9}'
      : > nothing; ln -s ../a sub/link; ln a hard; mkfifo pipe; head -c 300000 /dev/urandom > big
      truncate -s 5M sparse; echo end >> sparse; chmod 640 a.b; chmod 700 sub; touch -d @1000 sub/c
      ln -s "$(printf 'n%.0s' {1..100})" long; echo x > "it's \\"here\\""
      cd .. && llvs init s -q && llvs import d --store s -m 'all of it' && llvs export head out --store s
      list() { (cd "$1" && find . ! -type d -printf '%p %y %m %s %n %T@ %l\\n' | sort); }
      diff <(list d) <(list out) && diff -r --no-dereference --exclude=pipe d out && find out -type d | wc -l
      llvs import d --store s
      """)
    #expect(made.output.contains("\n4\n"), "\(made.output)")
    #expect(made.output.contains("nothing to import"))
    let version = try tool.json("llvs show --store s --json")
    #expect(version["message"] as? String == "all of it")
    #expect(version["entries"] as? Int == 15)
    let verified = try tool.json("llvs verify --store s --json")
    #expect(verified["ok"] as? Bool == true)
  }

  @Test("commands act on a store that is not mounted, and tell programs in JSON")
  func offline() throws {
    let tool = try Tool()
    _ = try tool.run("mkdir d e && echo 1 > d/a && llvs init s -q && llvs import d --store s -q")
    _ = try tool.run("echo 2 > d/a; echo b > d/b; llvs import d --store s -q")
    #expect(try tool.run("llvs diff at/-1d head --store s").status == 3)
    let undone = try tool.json("llvs undo --store s --json")
    #expect(undone["changed"] as? Int == 1 && undone["removed"] as? Int == 1)
    #expect(try tool.run("llvs export head out --store s -q; cat out/a; ls out").output == "1\na\n")
    let status = try tool.json("llvs status --store s --json")
    #expect(status["heads"] as? Int == 1)
    let show = try tool.json("llvs show --store s --json")
    let parent = try #require((show["predecessors"] as? [String])?.first)
    #expect(try tool.run("llvs diff \(parent) --store s --name-status").output == "* a\n- b\n")
    #expect(
      try tool.run("llvs diff head \(parent) --store s --stat").output
        .hasSuffix(" 2 files changed, 2 insertions(+), 1 deletion(-)\n"))
    #expect(try tool.run("llvs events --store s -n 1").output.contains(" restore "))
    let backup = try tool.run("llvs backup b --store s -q && llvs verify --store b")
    #expect(backup.status == 0, "\(backup.output)")
    let history = "llvs history a --store"
    #expect(try tool.run("\(history) b").output == tool.run("\(history) s").output)
    #expect(try tool.run("\(history) b | wc -l").output != "0\n")
    #expect(try tool.run("llvs backup b --store s -q").status == 0)
  }

  @Test("two stores sync through a folder, and a conflict ends with 1 where asked for")
  func sync() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir d folder; echo base > d/a
      for s in s t; do llvs init $s -q; llvs peer usb "$PWD/folder" -q --store $s; done
      llvs import d --store s -q && llvs sync --store s -q && llvs sync --store t -q
      echo from-s > d/a; llvs import d --store s -q
      echo from-t > d/a; llvs import d --store t -q
      llvs sync --store s -q; llvs sync --store t --fail-on-conflict; echo $?
      llvs sync --store s -q; echo $?
      llvs export head one --store s -q; llvs export head two --store t -q; diff -r one two && echo same
      """)
    #expect(result.output.contains("1 conflict\nconflict: a ("), "\(result.output)")
    #expect(result.output.hasSuffix("1\n0\nsame\n"), "\(result.output)")
  }

  @Test(
    "a mounted store is reached through its control file", .enabled(if: MountedStore.isPossible))
  func mounted() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir m && llvs mount s m && cd m && trap 'cd ..; llvs unmount m' EXIT
      echo hello > a && llvs commit "it's a \\"message\\""
      llvs show --json | grep -o 'it.s a .*message..'
      llvs branch work && llvs status --store ../s | head -1
      llvs sync nobody; echo $?
      llvs status --json | grep -o '"line":"work"'
      """)
    #expect(result.status == 0)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 9, "\(result.output)")
    #expect(lines[0] == "s is mounted on m; history is in m/.llvs")
    #expect(lines[1].hasSuffix("1 new: a"))
    #expect(lines[2] == "it's a \\\"message\\\"")
    #expect(lines[4].hasPrefix("On branch work, at 20"))
    #expect(lines[5] == "llvs: there is no peer nobody.")
    #expect(lines[6] == "3")
    #expect(lines[7] == "\"line\":\"work\"")
    #expect(lines[8] == "m is unmounted")
    let show = try tool.json("llvs show --store s --json")
    #expect(show["line"] as? String == "work")
  }

  @Test(
    "a peer whose name the ignore patterns match is refused, and leaves nothing behind",
    .enabled(if: MountedStore.isPossible))
  func ignoredPeer() throws {
    let result = try Tool().run(
      """
      mkdir m hub && llvs mount s m && cd m && trap 'cd ..; llvs unmount m' EXIT
      echo '*.old' >> .llvs/ignore
      llvs peer usb.old "$PWD/../hub" -q; echo $?
      llvs peer usb "$PWD/../hub" -q && ls .llvs/peers
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 5, "\(result.output)")
    #expect(
      lines[1] == "llvs: no peer can be called usb.old: a pattern of .llvs/ignore matches it.")
    #expect(lines[2] == "2")
    #expect(lines[3] == "usb")
  }

  /// A tool that writes what its fourth argument is to hold, and says what it was given.
  private static let merger = """
    cat > tool <<'END'
    #!/bin/sh
    cat "$1" "$2" "$3" >> "$LOG"; sed -i -e '/^[<=>]\\{7\\}/d' "$4"; exit ${CODE:-0}
    END
    chmod +x tool; export LOG=$PWD/said
    """

  @Test("mergetool settles with what a program leaves, where it ends well and no markers remain")
  func mergetool() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir d folder; for f in a b.txt c; do printf 'x\\nbase\\n' > d/$f; done
      for s in s t; do llvs init $s -q; llvs peer usb "$PWD/folder" -q --store $s; done
      llvs import d --store s -q && llvs sync --store s -q && llvs sync --store t -q
      for f in a b.txt; do printf 'x\\nfrom-s\\n' > d/$f; done; printf 's\\0' > d/c
      llvs import d --store s -q
      for f in a b.txt; do printf 'x\\nfrom-t\\n' > d/$f; done; printf 't\\0' > d/c
      llvs import d --store t -q
      llvs sync --store s -q; llvs sync --store t -q; llvs sync --store s -q
      mkdir tmp; export TMPDIR=$PWD/tmp
      \(Self.merger)
      llvs mergetool nowhere --store s --tool ./tool; echo $?
      llvs mergetool a --store s --tool 'true MERGED'; echo $?
      CODE=3 llvs mergetool a --store s --tool ./tool; echo $?
      test ! -e said || rm said
      llvs mergetool a --store s --tool './tool BASE OURS THEIRS MERGED'; echo $?
      sort said | uniq -c | tr -s ' \\n' ' '; echo
      llvs set "mergetool=$PWD/tool" --store s -q
      llvs mergetool --store s; echo $?
      llvs settle c ours --store s -q
      llvs mergetool --store s
      llvs export head out --store s -q; cat out/a out/b.txt | sort | uniq -c | tr -s ' \\n' ' '; echo
      ls tmp | wc -l
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "llvs: there is no conflict at nowhere.", "3",
        "llvs: a is left as it is: markers remain.", "1",
        "llvs: a is left as it is: ./tool ended with 3.", "1", "a is settled", "0",
        " 1 base 1 from-s 1 from-t 3 x ", "b.txt is settled",
        "llvs: c is not a text on every side; \"llvs settle\" closes it.", "1", "no conflicts",
        " 2 from-s 2 from-t 2 x ", "0",
      ], "\(result.output)")
  }

  @Test(
    "paths are taken from the current directory in a mount, and from the top with a slash",
    .enabled(if: MountedStore.isPossible))
  func pathsInMount() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      \(Self.merger)
      mkdir m && llvs mount s m -q && cd m && trap 'cd ../..; llvs unmount m -q' EXIT
      mkdir -p d/e; for f in a d/a d/b d/e/a; do printf 'base\\n' > $f; done; llvs commit -q
      llvs branch other -q; sed -i s/base/there/ a d/a d/b d/e/a; llvs commit -q; llvs switch - -q
      sed -i s/base/here/ a d/a d/b d/e/a; llvs commit -q; llvs merge other -q
      cd d
      llvs conflicts a | cut -d: -f1; llvs conflicts e | cut -d: -f1; llvs conflicts ../a | cut -d: -f1
      llvs conflicts . | cut -d: -f1 | tr '\\n' ' '; echo
      llvs settle b theirs -q; cat b; llvs settle /a -q; llvs settle e ours -q
      llvs conflicts | cut -d: -f1
      MERGETOOL=../../tool llvs mergetool ./a; llvs conflicts
      llvs settle b; llvs settle ../../a; echo $?
      llvs restore other a ../a -q; cat a ../a e/a
      llvs restore other . -q; cat e/a
      mkdir ../../new; echo new > ../../new/x; llvs import ../../new --into e -q; cat e/x
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "d/a", "d/e/a", "a", "d/a d/b d/e/a ", "there", "d/a", "d/a is settled", "no conflicts",
        "llvs: there is no conflict at d/b.", "llvs: ../../a is outside of the tree.", "2",
        "there",
        "there", "here", "there", "new",
      ], "\(result.output)")
  }

  @Test(
    "an empty path is refused, not taken for the whole tree",
    arguments: [
      "settle '' theirs", "restore head ''", "export head out --from ''", "log ''", "diff head ''",
      "conflicts ''", "import d --into ''", "history ''", "mergetool '' --tool true",
    ])
  func emptyPath(command: String) throws {
    let result = try Tool().run(
      "mkdir d; echo 1 > d/a; llvs init s -q; llvs import d --store s -q; llvs \(command) --store s"
    )
    #expect(result.status == 2 && result.output == "llvs: a path is empty.\n", "\(result.output)")
  }

  @Test(
    "mergetool works in a mount, with vimdiff too", .enabled(if: MountedStore.isPossible))
  func mountedMergetool() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      \(Self.merger)
      mkdir m && llvs mount s m -q && cd m && trap 'cd ..; llvs unmount m -q' EXIT
      mkdir base; for f in base/a base/ours vim; do printf 'x\\nbase\\n' > $f; done; llvs commit -q
      llvs branch other -q; sed -i s/base/there/ */* vim; llvs commit -q; llvs switch - -q
      sed -i s/base/here/ */* vim; llvs commit -q; llvs merge other -q
      MERGETOOL=../tool llvs mergetool base; echo $?
      cat base/a base/ours | sort | uniq -c | tr -s ' \\n' ' '; echo
      script -qec "'\(MountedStore.program)' mergetool --tool vimdiff" /dev/null < <(sleep 2; printf ':g/^[<=>]\\{7}/d\\r:wqa\\r'; sleep 1) > /dev/null
      cat vim; llvs conflicts
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "base/a is settled", "base/ours is settled", "0", " 2 here 2 there 2 x ", "x", "here",
        "there", "no conflicts",
      ], "\(result.output)")
  }
}
