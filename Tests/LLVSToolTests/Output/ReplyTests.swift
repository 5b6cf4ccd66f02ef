import Foundation
import TestSupport
import Testing

/// What programs are told: fields, never only words.
@Suite("llvs --json", .timeLimit(.minutes(2)))
struct ReplyTests {
  private func objects(_ text: String) throws -> [[String: Any]] {
    try text.split(separator: "\n").map { line in
      let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
      return try #require(value as? [String: Any], "\(line)")
    }
  }

  /// Runs the same commands, with `$at` for where.
  private func check(_ output: String) throws {
    let replies = try objects(output)
    try #require(replies.count == 11, "\(output)")
    for reply in replies {
      #expect(reply["ok"] as? Bool == true && reply["text"] is String, "\(reply)")
    }
    let version = try #require(replies[0]["version"] as? String)
    #expect(replies[0]["new"] as? Int == 1 && replies[0]["unsaved"] as? [String] == [])
    #expect(replies[1]["tag"] as? String == "one" && replies[1]["version"] as? String == version)
    let tags = try #require(replies[2]["tags"] as? [[String: String]])
    #expect(tags == [["tag": "one", "version": version]])
    let sync = try #require(replies[3]["peers"] as? [[String: Any]])
    #expect(sync.last?["peer"] as? String == "hub" && sync.last?["sent"] as? Int == 2)
    #expect(replies[3]["conflicts"] as? [String] == [] && replies[3]["head"] as? String == version)
    #expect(replies[4]["author"] as? String == "A \"B\" {}")
    let all = try #require(replies[5]["settings"] as? [[String: Any]])
    #expect(all.map { $0["name"] as? String }.contains("reserve") && all.count == 17)
    #expect(all.filter { $0["isSet"] as? Bool == true }.count == 2, "\(all)")
    let one = try #require(replies[6]["settings"] as? [[String: Any]])
    #expect(one.count == 1 && one[0]["value"] as? String == "1h", "\(one)")
    #expect((replies[7]["conflicts"] as? [Any])?.isEmpty == true)
    #expect(replies[8]["conflicts"] as? [String] == ["f"], "\(replies[8])")
    let conflicts = try #require(replies[9]["conflicts"] as? [[String: Any]])
    #expect(conflicts.count == 1 && conflicts[0]["path"] as? String == "f")
    #expect(replies[10]["settled"] as? [String] == ["f"])
  }

  /// Every command whose reply has fields; another store clashes with this one meanwhile.
  private static let script = #"""
    llvs tag one --json $at; llvs tag --json $at
    mkdir hub; llvs peer hub "$PWD/hub" -q $at; llvs sync --json $at
    llvs set 'author=A "B" {}' --json $at; llvs set --json $at; llvs set settle --json $at
    llvs conflicts --json $at
    llvs init o -q; llvs peer hub "$PWD/hub" -q --store o; llvs sync -q --store o
    mkdir od; echo other > od/f; llvs import od -q --store o; llvs sync -q --store o
    """#

  private static let after = #"""
    llvs sync --json --fail-on-conflict $at; echo $? > code; llvs conflicts --json $at
    llvs settle f ours --json $at; cat code >&2
    """#

  @Test("a store that is not mounted tells fields")
  func stored() throws {
    let tool = try Tool()
    let result = try tool.run(
      "exec 2> errors; at='--store s'; mkdir d; llvs init s -q; llvs set settle=1h -q $at\n"
        + "echo one > d/f; llvs import d -q $at\n"
        + "llvs commit --json $at\n" + Self.script
        + "\necho mine > d/f; llvs import d -q $at\n" + Self.after)
    #expect(result.status == 0)
    let replies = try objects(result.output)
    try #require(replies.count == 11, "\(result.output)")
    #expect(replies[0]["version"] is NSNull && replies[0]["new"] as? Int == 0)
    #expect(replies[8]["conflicts"] as? [String] == ["f"] && replies[3]["peers"] is [Any])
  }

  @Test("a store that is mounted tells the same fields", .enabled(if: MountedStore.isPossible))
  func mounted() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let tool = try Tool()
      let result = try tool.run(
        "exec 2> errors; m='\(mounted.path)'; at=\"--mount $m\"\n"
          + "echo one > $m/f; llvs commit --json why $at\n" + Self.script
          + "\necho mine > $m/f\n" + Self.after)
      try check(result.output)
      #expect(try tool.run("cat errors code").output == "1\n1\n")
    }
  }

  @Test("settings are told in words, and taken as they are told")
  func settings() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      llvs init s -q; llvs set autosync=5m author=A machine=M --store s -q
      llvs set --store s -q; echo --
      llvs set reserve autosync --store s; llvs set nothing --store s; echo $?
      llvs set autosync= --store s -q; llvs set autosync --store s
      """)
    #expect(
      result.output == """
        settle=2s       (default)
        autosync=5m     (set here)
        automerge=on    (default)
        announce=on     (default)
        arbiter=        (default)
        author=A        (set here)
        machine=M       (set here)
        mtime=stored    (default)
        reserve=256M    (default)
        keep=all        (default)
        mergetool=      (default)
        search=on       (default)
        searchlimit=8M  (default)
        isolated=off    (default)
        on-version=     (default)
        on-conflict=    (default)
        on-sync=        (default)
        --
        reserve=256M  (default)
        autosync=5m   (set here)
        llvs: unknown setting "nothing"; settings are: settle, autosync, automerge, announce, arbiter, author, machine, mtime, reserve, keep, mergetool, search, searchlimit, isolated, on-version, on-conflict, on-sync.
        2
        autosync=off  (default)

        """, "\(result.output)")
    let status = try tool.json("llvs status --store s --json")
    #expect((status["settings"] as? [String: String])?["reserve"] == "256M")
  }

  @Test("a setting that names a program which is not installed is taken, and says so")
  func missingPrograms() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      llvs init s -q
      llvs set mergetool=nosuch --store s
      llvs set 'on-version=/no/such/hook now' on-sync='echo $1' --store s
      llvs set 'arbiter=*.a:exec nosucharbiter $1 $2 $3,*.b:exec if true; then false; fi' --store s
      llvs set mergetool=sh --store s
      """)
    #expect(
      result.output == """
        mergetool=nosuch; nosuch is not installed here
        on-version=/no/such/hook now on-sync=echo $1; /no/such/hook is not installed here
        arbiter=*.a:exec nosucharbiter $1 $2 $3,*.b:exec if true; then false; fi; nosucharbiter is not installed here
        mergetool=sh

        """, "\(result.output)")
    let reply = try tool.json("llvs set mergetool=nosuch --store s --json")
    #expect(reply["missingPrograms"] as? [String] == ["nosuch"])
  }
}
