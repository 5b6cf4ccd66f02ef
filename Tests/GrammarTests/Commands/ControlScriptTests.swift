import Grammar
import Testing

@testable import Control

@Suite("Commands of the control file")
struct ControlScriptTests {
  private func next(_ script: inout ControlScript) throws(ControlError) -> AnyHashable? {
    guard let words = try script.next() else { return nil }
    let command: any Command = try Commands.parse(words)
    return AnyHashable(command)
  }

  private func parse(_ text: [UInt8]) throws(ControlError) -> [AnyHashable] {
    var script = try ControlScript(text)
    var commands: [AnyHashable] = []
    while let command = try next(&script) { commands.append(command) }
    return commands
  }

  private func parse(_ text: String) throws(ControlError) -> [AnyHashable] {
    try parse(Array(text.utf8))
  }

  private func path(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test("every command is read")
  func commands() throws {
    let read = try parse(
      """
      commit
      commit   don't panic, it's "fine"
      commit "a message"
      # a comment
      retrieve
      send usb 'my peer'
      exchange a
      sync\tusb

      merge
      merge all
      merge V using text --dry-run
      merge V unrelated using exec "sh -c x"
      restore V
      revert V a/b "c d" ./e//f /
      undo
      redo
      branch
      branch x.y-z
      branch --delete x
      branch --delete x --force
      branch --rename x y
      switch V as main
      switch -
      tag
      tag v1.0
      tag v1.0 V
      tag -f v1.0
      tag v1.0 V --force
      tag --delete v1
      tag --rename v1 v2
      settle a\\ b
      settle a theirs
      settle a theirs.3
      settle a V
      set settle=500ms "author=A B" autosync=off
      conflicts a
      verify
      verify usb
      status
      log 5
      help
      """)
    #expect(
      read == [
        CommitCommand(message: nil), CommitCommand(message: "don't panic, it's \"fine\""),
        CommitCommand(message: "a message"), ExchangeCommand(name: "retrieve", peers: []),
        ExchangeCommand(name: "send", peers: ["usb", "my peer"]),
        ExchangeCommand(name: "exchange", peers: ["a"]), SyncCommand(peers: ["usb"]),
        MergeCommand(), MergeCommand(target: .all),
        MergeCommand(target: .named("V"), arbiter: .text, isDryRun: true),
        MergeCommand(target: .named("V"), arbiter: .exec("sh -c x"), isUnrelated: true),
        RestoreCommand(version: "V"),
        RestoreCommand(version: "V", paths: [path("a/b"), path("c d"), path("e/f"), []]),
        UndoCommand(), UndoCommand(isRedo: true), BranchCommand(),
        BranchCommand(request: .begin("x.y-z")),
        BranchCommand(request: .remove("x", isForced: false)),
        BranchCommand(request: .remove("x", isForced: true)),
        BranchCommand(request: .rename("x", to: "y")), SwitchCommand(target: "V", line: "main"),
        SwitchCommand(target: "-", line: nil), TagCommand(), TagCommand(request: .add("v1.0")),
        TagCommand(request: .add("v1.0", version: "V")),
        TagCommand(request: .add("v1.0", moves: true)),
        TagCommand(request: .add("v1.0", version: "V", moves: true)),
        TagCommand(request: .remove("v1")), TagCommand(request: .rename("v1", to: "v2")),
        SettleCommand(path: path("a b")), SettleCommand(path: path("a"), settlement: .theirs(1)),
        SettleCommand(path: path("a"), settlement: .theirs(3)),
        SettleCommand(path: path("a"), settlement: .version("V")),
        SetCommand(
          request: .assign([
            try .init(name: "settle", value: "500ms"), try .init(name: "author", value: "A B"),
            try .init(name: "autosync", value: "off"),
          ])), ConflictsCommand(path: path("a")), VerifyCommand(place: .store),
        VerifyCommand(place: .peer("usb", isRepairing: false)), StatusCommand(),
        LogCommand(count: 5), HelpCommand(),
      ] as [AnyHashable])
  }

  @Test(
    "words are quoted as in a shell",
    arguments: [
      (#"conflicts 'a b'"#, "a b"), (#"conflicts "a b""#, "a b"), (#"conflicts a\ b"#, "a b"),
      (#"conflicts a'b'"c"d"#, "abcd"), (#"conflicts 'a\b'"#, #"a\b"#),
      (#"conflicts "a\b\"\\\$""#, #"a\b"\$"#),
      (#"conflicts $HOME*~"#, "$HOME*~"), ("conflicts 'a\nb'", "a\nb"), ("conflicts a\\\nb", "ab"),
      ("conflicts a\r\n", "a"), ("  \t conflicts   a  ", "a"), ("conflicts \"a\\\nb\"", "ab"),
    ])
  func quoting(_ text: String, _ expected: String) throws {
    #expect(try parse(text) == [ConflictsCommand(path: path(expected))])
  }

  @Test("paths are bytes")
  func bytes() throws {
    let read = try parse(path("conflicts ") + [0xFF, 0x2F, 0xFE])
    #expect(read == [ConflictsCommand(path: [0xFF, 0x2F, 0xFE])])
  }

  @Test(
    "what is no command is refused, and says how it is written",
    arguments: [
      "frob", "undo x", "branch --delete", "branch --rename a", "branch --rename a all",
      "tag --delete a b", "compact a", "purge a", "branch llvs.x", "branch -x", "branch a/b",
      "branch all",
      "switch", "switch V to x", "tag llvs.tag", "tag é", "tag -f", "tag a b c", "tag -x", "settle",
      "conflicts a b", "conflicts ../a", "conflicts 'a", "conflicts \"a", "conflicts a\\",
      "set settle author=x",
      "set author=x settle", "set nothing", "json", "json json undo", "set settle=soon",
      "set nope=1", "set settle=2h", "set automerge=maybe", "set mtime=then",
      "set reserve=x", "set arbiter=best", "set arbiter=ours", "set autosync=1ms",
      "merge a b", "merge using", "merge using best", "merge unrelated", "restore", "log x",
      "log 0", "verify a b", "conflicts ''",
    ])
  func refused(_ text: String) {
    do throws(ControlError) {
      _ = try parse(text)
      Issue.record("taken: \(text)")
    } catch {
      #expect(error.kind == .grammar && !error.message.isEmpty && !error.message.hasSuffix("."))
    }
  }

  @Test("a message in quotes has several lines; a quote that ends nowhere is refused with its line")
  func linesOfMessage() throws {
    let read = try parse(
      #"""
      commit "first \"line\"

      and \$more"
      json commit 'it was
      so'
      commit "quoted" and more
      sync
      """#)
    #expect(
      read == [
        CommitCommand(message: "first \"line\"\n\nand $more"),
        CommitCommand(message: "it was\nso"), CommitCommand(message: "\"quoted\" and more"),
        SyncCommand(),
      ] as [AnyHashable])
    // As bash writes it: a line at a time. The last has what follows behind the quote that ends it.
    for line in ["commit \"first line\n", "commit 'twas brief", "commit \"a\nb\" c"] {
      var script = try ControlScript(path(line + "\nundo"))
      #expect(throws: ControlError.self) { try next(&script) }
      if line.hasSuffix("c") { #expect(throws: ControlError.self) { try next(&script) } }
      #expect(try next(&script) == AnyHashable(UndoCommand()))
    }
  }

  @Test("settings are told where none is given a value, and json before a command is no part of it")
  func told() throws {
    #expect(
      try parse("set\nset settle stick.remove") == [
        SetCommand(request: .list([])),
        SetCommand(request: .list([.ofStore(.settle), .ofPeer("stick", .remove)])),
      ] as [AnyHashable])
    var script = try ControlScript(path("json commit why so\nundo\njson\tset 'settle'\njson\nredo"))
    #expect(
      try next(&script) == AnyHashable(CommitCommand(message: "why so")) && script.isForPrograms)
    #expect(try next(&script) == AnyHashable(UndoCommand()) && !script.isForPrograms)
    #expect(
      try next(&script) == AnyHashable(SetCommand(request: .list([.ofStore(.settle)])))
        && script.isForPrograms)
    #expect(throws: ControlError.self) { try next(&script) }
    #expect(try next(&script) == AnyHashable(UndoCommand(isRedo: true)) && !script.isForPrograms)
  }

  @Test("after a message of several lines that is no text, the next line can be read")
  func goesOnAfterMessage() throws {
    for text in ["commit 'a\nb", "commit a", "commit \"a\n\0"] {
      var script = try ControlScript(
        Array(text.utf8) + [0xFF] + Array((text.contains("'") ? "'" : "\"").utf8)
          + Array("\nredo".utf8))
      #expect(throws: ControlError.self) { try next(&script) }
      #expect(try next(&script) == AnyHashable(UndoCommand(isRedo: true)))
    }
  }

  @Test("after a bad line the next can be read")
  func goesOn() throws {
    var script = try ControlScript(path("undo\nconflicts 'a\nfrob\nredo"))
    #expect(try next(&script) == AnyHashable(UndoCommand()))
    #expect(throws: ControlError.self) { try next(&script) }
    #expect(throws: ControlError.self) { try next(&script) }
    #expect(try next(&script) == AnyHashable(UndoCommand(isRedo: true)))
    #expect(try next(&script) == nil)
    #expect(throws: ControlError.self) {
      try ControlScript([UInt8](repeating: 0x20, count: 65_537))
    }
    #expect(throws: ControlError.self) { try parse([0x70, 0, 0x61]) }
  }
}

@Suite("Settings of a store")
struct StoreSettingsTests {
  @Test(
    "what is printed reads back",
    arguments: [
      ("settle", "2s", "2s"), ("settle", "0.5", "500ms"), ("settle", "90s", "90s"),
      ("autosync", "5m", "5m"), ("autosync", "off", "off"), ("autosync", "24h", "1d"),
      ("automerge", "off", "off"), ("author", "A ü B", "A ü B"), ("mtime", "now", "now"),
      ("reserve", "1G", "1G"), ("reserve", "1.5GiB", "1536M"), ("reserve", "1000", "1000"),
      ("arbiter", "json", "json"), ("arbiter", "*.txt:text,json", "*.txt:text,json"),
      ("arbiter", "*.po:exec a -b x\\,y\\:z", "*.po:exec a -b x\\,y\\:z"),
      ("arbiter", "exec a:b", "exec a\\:b"), ("reserve", "", "256M"), ("arbiter", "", ""),
    ])
  func roundTrip(_ name: String, _ value: String, _ printed: String) throws {
    var settings = StoreSettings()
    let assignment = try StoreSettings.Assignment(name: name, value: value)
    try settings.assign(assignment)
    let text = settings.text(of: assignment.name)
    #expect(text == printed)
    var again = StoreSettings()
    try again.assign(.init(name: name, value: text))
    #expect(again == settings)
  }

  @Test("stored settings that cannot be read have their defaults and are named")
  func stored() {
    var faults: [String] = []
    let settings = StoreSettings(
      stored: ["settle": Array("x".utf8), "mtime": Array("now".utf8), "other": [1]],
      faults: &faults)
    #expect(settings.settle == 2_000_000_000 && settings.mtime == .now)
    #expect(faults.count == 1)
  }
}
