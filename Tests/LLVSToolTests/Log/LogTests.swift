import Foundation
import TestSupport
import Testing

@Suite("llvs log, show, history, events and status", .timeLimit(.minutes(3)))
struct LogTests {
  /// A store with a branch that was merged, a tag, an author and messages.
  private func prepared() throws -> Tool {
    let tool = try Tool()
    let result = try tool.run(
      """
      take() { llvs import d --store s -q -m "$1"; }
      mkdir d; echo 1 > d/a; mkdir d/sub; echo 1 > d/sub/b; llvs init s -q
      llvs set author=Anna --store s -q; take first
      llvs branch side --store s -q; echo 2 > d/sub/b; take 'on the side'
      llvs switch - --store s -q; rm -r d/sub; echo 2 > d/a; echo new > d/c; take 'on the main line'
      llvs merge side --store s -q; llvs tag v1 --store s -q; echo 3 > d/a; take last
      """)
    #expect(result.status == 0, "\(result.output)")
    return tool
  }

  @Test("one line a version has its message, and what heads, branches and tags call it")
  func oneline() throws {
    let tool = try prepared()
    let log = try tool.run("llvs log --oneline --store s").output.split(separator: "\n")
    try #require(log.count == 6, "\(log)")
    let name = #"^20\d\d-\d\d-\d\dT\d{6}\.\d{3}Z-[0-9A-F]{8,}"#
    for line in log {
      #expect(line.range(of: name, options: .regularExpression) != nil, "\(line)")
    }
    #expect(log[0].hasSuffix(" (head) last"))
    #expect(log[1].hasSuffix(" (tag v1) merge: 1 changed: sub/b"))
    #expect(log[5].hasSuffix(" first"))
    #expect(log.filter { $0.hasSuffix(" (side) on the side") }.count == 1)
    #expect(log.filter { $0.hasSuffix(" begins side") }.count == 1)
  }

  @Test(
    "the history of a file knows a version as soon as it is made",
    .enabled(if: MountedStore.isPossible))
  func freshHistory() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let result = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        for n in 1 2 3; do echo $n$n > f; llvs commit -q; llvs history f | wc -l; done
        """)
      #expect(result.output == "1\n2\n3\n", "\(result.output)")
    }
  }

  @Test(
    "a commit's answer, the log, info and status count alike, and name files before directories",
    .enabled(if: MountedStore.isPossible))
  func counts() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir m && llvs mount s m >/dev/null && cd m && trap "cd ..; llvs unmount m >/dev/null" EXIT
      echo 'set settle=1h' > .llvs/control
      mkdir -p a/b/c && touch "$(printf 'a/b/c/two\\nlines')" a/b/c/z
      sed -n 's/^pending *//p' .llvs/control | sed 's/;.*//'
      llvs commit | cut -d' ' -f2-
      tail -n 1 .llvs/log | cut -d' ' -f4-
      llvs log -n 1 --oneline | cut -d' ' -f3-
      grep '^changes' .llvs/versions/*/.llvs/info | tr -s ' '
      """)
    #expect(result.status == 0)
    let lines = result.output.split(separator: "\n").map(String.init)
    let answer = #"5 new: a/b/c/two\012lines, a/b/c/z, a/, a/b/, a/b/c/"#
    #expect(
      lines == [
        "0 changed, 5 new, 0 removed", answer, answer,
        #"5 new: a/b/c/two\012lines, a/b/c/z, a/ ..."#, "changes 0 changed, 5 new, 0 removed",
      ])
  }

  @Test("the graph stands beside the versions, short and long")
  func graph() throws {
    let tool = try prepared()
    let short = try tool.run("llvs log --graph --oneline --store s").output
    let rows = short.split(separator: "\n").map { String($0.prefix { "*|\\/ ".contains($0) }) }
    #expect(rows == ["* ", "*   ", "|\\", "| * ", "| * ", "* | ", "|/", "* "], "\(short)")
    let long = try tool.run("llvs log --graph --store s").output
    #expect(long.contains("*   version 20") && long.contains("|\\  author  Anna on "), "\(long)")
    #expect(long.contains("| |     on the side\n") && long.contains("|     last\n"), "\(long)")
  }

  @Test("a log can begin elsewhere, end early, and keep to paths, times and what another has not")
  func limits() throws {
    let tool = try prepared()
    func messages(_ words: String) throws -> [String] {
      let log = try tool.run("llvs log \(words) --store s --json").output
      return try log.split(separator: "\n").map { line in
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        return try #require(value)["message"] as? String ?? "-"
      }
    }
    #expect(try messages("-n 1") == ["last"])
    #expect(try messages("-1") == ["last"])
    #expect(try messages("--grep first --grep last") == ["last", "first"])
    #expect(try messages("--author=nobody --author=Anna").count == 6)
    #expect(try messages("side -n2") == ["on the side", "-"])
    #expect(try messages("sub/b") == ["on the side", "first"])
    #expect(try messages("c") == ["on the main line"])
    #expect(try messages("sub") == ["on the side", "first"])
    #expect(try messages("side..v1") == ["-", "on the main line"])
    #expect(try messages("--since -1h").count == 6)
    #expect(try messages("--until -1h").isEmpty)
    #expect(try messages("--since today").count == 6)
    #expect(try messages("--until yesterday").isEmpty)
    #expect(try tool.run("llvs log nowhere --store s").status == 3)
    #expect(try tool.run("llvs log --since soon --store s").status == 2)
    #expect(try tool.run("llvs log --graph --json --store s").status == 2)
    // Also the beginning of ids is a path where there is one.
    let digits = (0...9).map(String.init) + ["a", "b", "c", "d", "e", "f"]
    _ = try tool.run(
      "for i in \(digits.joined(separator: " ")); do echo $i > d/$i; done; llvs import d --store s -q"
    )
    for digit in digits where digit != "a" && digit != "c" {
      #expect(try messages(digit) == ["import"], "\(digit)")
    }
    let graph = try tool.run("llvs log --graph --oneline a --store s").output
    #expect(graph.split(separator: "\n").allSatisfy { $0.hasPrefix("* 20") }, "\(graph)")
  }

  @Test("all spellings of versions are understood, and steps from them")
  func spellings() throws {
    let tool = try prepared()
    func name(_ word: String) throws -> String {
      try tool.json("llvs show '\(word)' --store s --json")["name"] as? String ?? ""
    }
    let head = try name("head")
    let id = try tool.json("llvs show --store s --json")["id"] as? String ?? ""
    let first = try name("head~3")
    #expect(try name("at/now~") == name("v1"))
    let last = try tool.run("llvs log --oneline at/now~..head --store s").output
    #expect(last.hasSuffix(" last\n") && last.split(separator: "\n").count == 1, "\(last)")
    #expect(try tool.run("llvs diff at/now..head --store s").status == 0)
    #expect(try tool.run("llvs diff at/nonsense..head --store s").status == 2)
    for word in [
      head, id, String(id.prefix(9)), id.lowercased(), String(head.dropLast()), "-", "at/now",
      "versions/\(head)", "at/-0s",
    ] {
      #expect(try name(word) == head, "\(word)")
    }
    #expect(try name("v1") == name("head~"))
    #expect(try name("side") == name("v1^2"))
    #expect(try name("tags/v1") == name("head~1"))
    #expect(try name("v1^2~2") == first)
    // Less than four letters begin no name; they may begin an id.
    let ids = try tool.run("llvs log --all --json --store s").output
    let isID = ids.range(of: #""id":"202"#) != nil
    // Before the log of heads begins there is nothing.
    for (word, code) in [("at/-1d", 3), ("head~9", 3), ("at/nonsense", 2), (isID ? "!" : "202", 3)]
      as [(
        String, Int32
      )]
    {
      #expect(try tool.run("llvs show '\(word)' --store s").status == code, "\(word)")
    }
    #expect(try tool.run("llvs show \(head.prefix(4)) --store s").status == 2)
    for command in ["show at/-2d:a", "show 'at/yesterday 14:00'", "show at/2001-01-01T13:00"] {
      let said = try tool.run("llvs \(command) --store s 2>&1").output
      #expect(said.contains("nothing was stored at ") && !said.contains("14 "), "\(said)")
    }
    let said = try tool.run("llvs restore 'at/yesterday 14:00' z --store s 2>&1").output
    #expect(said.contains(" 14:00 yet"), "\(said)")
  }

  @Test("show writes the bytes of a file, lists a directory, and tells a version")
  func show() throws {
    let tool = try prepared()
    #expect(try tool.run("llvs show head:a --store s").output == "3\n")
    #expect(try tool.run("llvs show v1:sub/b --store s").output == "2\n")
    #expect(try tool.run("llvs show at/now:a --store s").output == "3\n")
    #expect(try tool.run("llvs show head: --store s").output == "a\nc\nsub/\n")
    #expect(try tool.run("llvs show head:none --store s").status == 3)
    let bytes = try tool.run(
      "head -c 3000000 /dev/urandom > d/big; llvs import d --store s -q; llvs show head:big --store s | cmp - d/big && echo same"
    )
    #expect(bytes.output == "same\n")
    let text = try tool.run("llvs show head~ --store s").output
    #expect(text.contains("author  Anna on ") && text.contains("\n    last\n"))
    #expect(
      text.hasSuffix("\n a | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"), "\(text)")
    #expect(try tool.run("llvs show head~ -u --store s").output.contains("\n-2\n+3\n"))
  }

  @Test("history lists the distinct revisions of one value")
  func history() throws {
    let tool = try prepared()
    let lines = try tool.run("llvs history a --store s").output.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines.first?.contains(" (head)  20") == true, "\(lines)")
    #expect(lines.first?.hasSuffix("  Anna  2 bytes  last") == true, "\(lines)")
    // The merge took the revision of the side, and made none.
    #expect(try tool.run("llvs history sub/b --store s").output.split(separator: "\n").count == 2)
    #expect(try tool.run("llvs history sub/b -u --store s").output.contains("\n-1\n+2\n"))
    #expect(try tool.run("llvs history nothing --store s").status == 3)
  }

  @Test("history is the same in every store, newest first, whatever came there when")
  func historyOrder() throws {
    let result = try Tool().run(
      """
      save() { printf '%s\\n' "$2" > d/f; llvs import d --store $1 -q; sleep 0.02; }
      exchange() { llvs sync --store $1 -q; }
      mkdir d folder; for s in a b; do llvs init $s -q; llvs peer p "$PWD/folder" --store $s -q; done
      save a 1; exchange a; exchange b
      save a 2; save b 3; save a 4; save b 5
      exchange a; exchange b; exchange a; exchange b
      for s in a b; do llvs history f --store $s | cut -d' ' -f1 > $s.names; done
      cmp a.names b.names && llvs history f -n 2 --store b | cut -d' ' -f1 > two
      head -n 2 a.names | cmp - two && wc -l < two
      for V in $(cat a.names); do llvs show $V:f --store a -q; done | tr '\\n' ' '
      """)
    #expect(result.output.hasSuffix("2\n5 4 3 2 1 "), "\(result)")
  }

  @Test(
    "a log is limited by author, message, changed text, and the names that a file had",
    .enabled(if: MountedStore.isPossible))
  func limited() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let result = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        look() { llvs log --oneline "$@" | cut -d' ' -f2- | sed 's/(head) //' | tr '\\n' ,; echo; }
        echo 'call Bob' > calls; echo x > x; llvs set author=Anna -q; llvs commit -q -m first
        echo y > x; llvs commit -q -m 'about x'; llvs set author=Bert -q
        echo 'call Ann' >> calls; llvs commit -q -m 'more calls'
        mkdir jobs; mv calls jobs/list; llvs commit -q -m renamed
        echo 'call Eve' >> jobs/list; llvs commit -q -m 'and Eve'
        look --author '^Be'; look --author 'Anna|nobody'; look --grep 'about|call'; look -S 'call Ann'
        look -S call x; look jobs/list; look --follow jobs/list
        look --follow jobs/list -S call --author Bert -n 2
        llvs history jobs/list | sed 's/^.* [+-][0-9]*  //'
        llvs log --follow 2>/dev/null; echo $?; llvs log --grep '(' 2>/dev/null; echo $?
        """)
      #expect(
        result.output.split(separator: "\n", omittingEmptySubsequences: false) == [
          "and Eve,renamed,more calls,", "about x,first,", "more calls,about x,", "more calls,", "",
          "and Eve,renamed,", "and Eve,renamed,more calls,first,", "and Eve,more calls,",
          "Bert  27 bytes  and Eve", "Bert  18 bytes  was calls  renamed",
          "Bert  18 bytes  more calls", "Anna  9 bytes  first", "2", "2", "",
        ])
    }
  }

  @Test("following shows what was and what comes, until it is ended")
  func follow() throws {
    let tool = try prepared()
    let result = try tool.run(
      """
      : > out; : > events
      timeout 20 '\(MountedStore.program)' log --watch --oneline -n 2 --store s > out & follower=$!
      timeout 20 '\(MountedStore.program)' events -f -n 1 --store s > events & watcher=$!
      for i in {1..100}; do [[ $(wc -l < out) == 2 && -s events ]] && break; sleep 0.05; done
      echo 4 > d/a; llvs import d --store s -q -m coming
      for i in {1..100}; do
        grep -q coming out && [[ $(wc -l < events) == 2 ]] && break; sleep 0.05
      done
      { kill $watcher $follower; wait; } 2>/dev/null
      sed 's/^[^ ]* //' out; wc -l < events
      """)
    #expect(result.output == "(tag v1) merge: 1 changed: sub/b\n(head) last\n(head) coming\n2\n")
  }

  @Test(
    "status tells in words what is pending, to merge and to send",
    .enabled(if: MountedStore.isPossible))
  func status() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let result = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        llvs status; echo ---; echo 1 > a; echo 1 > b; llvs commit -q; llvs branch work -q
        echo 2 > a; echo 2 > new; mkdir -p big/deep; touch big/{1,2}; touch big/deep/3; rm b; sed -i s/2/3/ a
        python3 -c 'import time; f = open("open", "w"); f.write("half"); f.flush(); time.sleep(20)' &
        writer=$!; for i in {1..100}; do [ -s open ] && break; sleep 0.05; done
        llvs peer usb /nowhere -q 2> /dev/null; llvs status; kill $writer
        """)
      let parts = result.output.components(separatedBy: "---\n")
      try #require(parts.count == 2, "\(result.output)")
      #expect(
        parts[0]
          == "No version yet.\nEverything is in a version.\nNo peers: \"llvs peer NAME ADDRESS\" adds one.\n"
      )
      let lines = parts[1].split(separator: "\n").map(String.init)
      #expect(lines.first?.hasPrefix("On branch work, at 20") == true)
      #expect(
        lines.contains("  * a") && lines.contains("  + new") && lines.contains("  - b"), "\(lines)")
      #expect(lines.contains("  open") && lines.contains("  + big/  (3 new)"))
      #expect(lines.contains { $0.hasPrefix("  usb: 2 versions to send; never synced") })
    }
  }
}
