import Control
import Foundation
import LLVSTool
import TestSupport
import Testing

@Suite("Help, manual page and completion", .timeLimit(.minutes(2)))
struct HelpTests {
  @Test("the manual page has every verb, option and exit code that --help has, and no other")
  func manual() throws {
    let page = ManualPage.text
    var options = 0
    for verb in Verb.all {
      #expect(page.contains(".TP\n.B \(ManualPage.escaped(verb.usage))\n"), "\(verb.name)")
      #expect(page.contains(ManualPage.escaped(verb.help)), "\(verb.name)")
      #expect(verb.description.contains(verb.help), "\(verb.name)")
      #expect(Verb.overview.contains("\n  \(verb.name) "), "\(verb.name)")
      for option in verb.options {
        options += 1
        let entry =
          ".B \(ManualPage.escaped(option.spelling))\n\(ManualPage.escaped(option.help))\n"
        #expect(page.contains(entry), "\(verb.name) \(option.spelling)")
        #expect(verb.description.contains(option.spelling), "\(verb.name) \(option.spelling)")
      }
    }
    for code in ExitCode.allCases {
      #expect(page.contains(".TP\n.B \(code.rawValue)\n\(ManualPage.escaped(code.meaning))\n"))
      #expect(Verb.overview.contains("\(code.rawValue)  \(code.meaning)"))
    }
    let entries = page.components(separatedBy: ".TP\n").count - 1
    let others = VerbOption.common.count + ExitCode.allCases.count + 4
    #expect(entries == Verb.all.count + options + others)
  }

  @Test(
    "the examples of the manual page do what they say, one after the other",
    .enabled(if: MountedStore.isPossible))
  func examples() throws {
    #expect(ManualPage.text.contains("\n.SH EXAMPLES\n"))
    let commands = ManualPage.examples.flatMap(\.commands)
    #expect(commands.allSatisfy { ManualPage.text.contains("\n\(ManualPage.escaped($0))\n") })
    // Another machine changes the same line, so that there is a conflict to list.
    let other = """
      mkdir ~/desk; llvs mount ~/desk.store ~/desk; cd ~/desk; llvs peer stick ~/stick -q; llvs sync
      echo 'buy tea' > todo.txt; llvs sync; cd ~/notes; echo 'buy salt' > todo.txt; llvs sync
      """
    let script = commands.flatMap { $0 == "llvs sync" ? [$0, other] : [$0] }
    let result = try Tool().run(
      """
      export HOME="$PWD" LLVS_PAGER=; mkdir notes stick
      trap 'cd /; for m in notes desk; do llvs unmount --force "$HOME/$m" || :; done >/dev/null 2>&1' EXIT
      set -e
      \(script.joined(separator: "\n"))
      echo all of them
      """)
    #expect(result.status == 0 && result.output.hasSuffix("all of them\n"), "\(result.output)")
    #expect(result.output.contains("+buy milk") && result.output.contains("-buy milk"))
    #expect(result.output.contains(" settled todo.txt"))
  }

  @Test("man(1) shows the manual page without a complaint")
  func formatted() throws {
    let file = try TemporaryDirectory()
    let path = file.file("llvs.1")
    try ManualPage.text.write(toFile: path, atomically: true, encoding: .utf8)
    let shown = try shell(
      "command -v man >/dev/null || { echo skipped; exit 0; }; MANWIDTH=80 man --warnings -E UTF-8 -l \(path) 2>&1 | cat"
    )
    guard shown.output != "skipped\n" else { return }
    #expect(shown.output.contains("llvs diff [A [B]] [PATH...] [OPTIONS]"))
    #expect(!shown.output.contains("warning"), "\(shown.output)")
  }

  private func complete(_ words: String, setup: String = "") throws -> [String] {
    let tool = try Tool()
    let result = try tool.run(
      """
      \(setup)
      bash --norc -c '
        llvs() { "\(MountedStore.program)" "$@"; }
        eval "$(llvs completion bash)"
        COMP_LINE="\(words.replacing(" = ", with: "=").replacing(" : ", with: ":").replacing("\"\"", with: ""))"
        COMP_WORDS=(\(words)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _llvs
        printf "%s\\n" "${COMPREPLY[@]}"'
      """)
    return result.output.split(separator: "\n").map(String.init)
  }

  @Test("the shell completes verbs, options, versions, tags, branches and paths")
  func completion() throws {
    #expect(try complete("llvs di") == ["diff"])
    #expect(try complete("llvs diff --name-") == ["--name-status", "--name-only"])
    #expect(try complete("llvs diff --color=a") == ["--color=auto", "--color=always"])
    // As bash cuts it where "=" breaks words.
    #expect(try complete("llvs diff --color = a") == ["auto", "always"])
    #expect(try complete("llvs log --store = /et") == ["/etc"])
    #expect(try complete("llvs log --color al") == ["always"])
    #expect(try complete("llvs help unm") == ["unmount"])
    let setup = """
      mkdir d; echo 1 > d/apple; mkdir d/avenue; echo 2 > d/avenue/tree
      llvs init s -q; llvs import d --store s -q; llvs branch apart --store s -q
      llvs tag april head --store s -q; llvs peer anna /nowhere/anna -q --store s 2> /dev/null
      """
    #expect(
      try Set(complete("llvs --store s diff ap", setup: setup)) == ["apart", "april", "apple"])
    #expect(try complete("llvs diff --store s head avenue/", setup: setup) == ["avenue/tree"])
    #expect(try complete("llvs sync --store s a", setup: setup) == ["anna"])
    #expect(try complete("llvs show --store s april : av", setup: setup) == ["avenue/"])
    #expect(try complete("llvs show --store s april : avenue/", setup: setup) == ["avenue/tree"])
    #expect(try complete("llvs show --store s april : \"\"", setup: setup) == ["apple", "avenue/"])
    #expect(
      try complete("llvs log --store s april..ap", setup: setup) == [
        "april..apart", "april..april",
      ])
    #expect(
      try complete("llvs diff --store s at/ye", setup: setup) == ["at/yesterday"])
    #expect(try complete("llvs switch --store s \"\"", setup: setup).prefix(2) == ["apart", "-"])
    #expect(try complete("llvs merge --store s apart using js", setup: setup) == ["json"])
    #expect(
      try complete("llvs set --store s au", setup: setup) == ["autosync=", "automerge=", "author="])
    #expect(try complete("llvs branch --store s -d a", setup: setup) == ["apart"])
    #expect(try complete("llvs verify --store s a", setup: setup) == ["anna"])
    #expect(try complete("llvs peer --store s an", setup: setup) == ["anna"])
    #expect(try complete("llvs peer --store s anna r", setup: setup) == ["rm"])
    #expect(try complete("llvs key --store s li", setup: setup) == ["list"])
    #expect(try complete("llvs key --store s list \"\"", setup: setup) == ["anna"])
    #expect(try Set(complete("llvs export --store s april \"\"", setup: setup)) == ["d", "s"])
    let clash = """
      mkdir d; for i in 1 2; do echo $i > d/clear; echo $i > d/clash; llvs import d --store s -q; done
      echo 3 > d/clash; llvs import d --on head~ --store s -q
      """
    #expect(
      try complete("llvs settle --store s \"\"", setup: "llvs init s -q; " + clash) == ["clash"])
    let versions = try complete("llvs show --store s 20", setup: setup)
    #expect(versions.count == 2 && versions.allSatisfy { $0.hasPrefix("20") }, "\(versions)")
  }

  @Test("readline quotes a name that a shell would expand, and one with a newline is left out")
  func quoted() throws {
    let setup = #"""
      mkdir d; echo 1 > 'd/x$(touch pwned)'; echo 2 > d/$'n\nm'; llvs init s -q; llvs import d --store s -q
      compopt() { echo "compopt $*"; }; export -f compopt
      """#
    let found = try complete("llvs show --store s head : x", setup: setup)
    #expect(found == ["compopt -o filenames", "x$(touch pwned)"])
    #expect(try complete("llvs show --store s head : n", setup: setup) == [])
  }

  @Test("zsh and fish complete the same words, where they are installed")
  func otherShells() throws {
    let setup = """
      mkdir d; mkdir d/avenue; echo 2 > d/avenue/tree
      llvs init s -q; llvs import d --store s -q; llvs tag april head --store s -q
      mkdir bin; ln -s '\(MountedStore.program)' bin/llvs; PATH=$PWD/bin:$PATH
      """
    let zsh = try Tool().run(
      setup + #"""

        command -v zsh > /dev/null || { echo skipped; exit; }
        zsh -fc '
          compdef() { :; }
          compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@"; }
          _files() { echo FILES; }
          eval "$(llvs completion zsh)"
          ask() { words=(llvs "$@"); CURRENT=$#words; _llvs; }
          ask bla; ask show --store s april:av; ask diff --col; ask export --store s april ""'
        """#)
    if zsh.output != "skipped\n" {
      #expect(zsh.output == "blame\napril:avenue/\n--color=\nhead\napril\nat/\n", "\(zsh.output)")
    }
    let fish = try Tool().run(
      setup + #"""

        command -v fish > /dev/null || { echo skipped; exit; }
        export HOME=$PWD
        fish --no-config -c '
          llvs completion fish | source
          complete -C "llvs bla"; complete -C "llvs show --store s april:av"; complete -C "llvs sync --st"'
        """#)
    if fish.output != "skipped\n" {
      #expect(fish.output == "blame\napril:avenue/\n--store=\n", "\(fish.output)")
    }
  }

  @Test("a word near to a verb or a version is offered instead")
  func nearest() throws {
    let tool = try Tool()
    #expect(
      try tool.run("llvs comit 2>&1").output == "llvs: there is no verb comit; nearest: commit.\n")
    let setup = "llvs init s -q; llvs branch feature --store s -q"
    let unknown = try tool.run("\(setup); llvs show featrue --store s")
    #expect(unknown.output == "llvs: there is no version featrue; nearest: feature.\n")
    #expect(unknown.status == 3)
  }
}
