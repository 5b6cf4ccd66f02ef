@testable import Control
@testable import Grammar
@testable import HistoryTree
@testable import LLVSCore
@testable import LLVSExchange
@testable import TreeNames

/// What people and programs write: commands, patterns, settings, names.
enum WordTargets {
  static func control(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    guard var script = try? ControlScript(bytes) else { return }
    var turns = 0
    while true {
      do throws(ControlError) {
        guard let words = try script.next() else { break }
        _ = try Commands.parse(words).title
      } catch {
        try expect(!error.message.isEmpty, "refused without a word")
      }
      turns += 1
      try expect(turns <= bytes.count + 1, "reading commands does not end")
    }
  }

  /// Patterns, then a path after the last byte 0xFF.
  static func ignore(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let end = bytes.lastIndex(of: 0xFF) ?? bytes.endIndex
    let patterns = IgnorePatterns(Array(bytes[..<end]))
    let path = Array(bytes[end...].dropFirst())
    let isIgnored = patterns.ignores(path: path)
    // What is in an ignored directory is ignored, whatever follows.
    if isIgnored, !path.isEmpty, path.last != UInt8(ascii: "/"),
      patterns.ignores(path: path, isDirectory: true)
    {
      try expect(
        patterns.ignores(path: path + Array("/below".utf8)), "an ignored directory shows a file")
    }
  }

  static func settings(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let fields = parts(bytes, atMost: StoreSettings.Name.allCases.count)
    var stored: [String: [UInt8]] = [:]
    for (name, value) in zip(StoreSettings.Name.allCases, fields) { stored[name.rawValue] = value }
    var faults: [String] = []
    let settings = StoreSettings(stored: stored, faults: &faults)
    for name in StoreSettings.Name.allCases {
      let text = settings.text(of: name)
      var copy = settings
      do throws(ControlError) {
        try copy.assign(try StoreSettings.Assignment(name: name.rawValue, value: text))
      } catch {
        throw FuzzTarget.Failure(description: "\(name)=\(text) is not read back: \(error.message)")
      }
      try expect(copy == settings, "\(name)=\(text) is read back as another")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    let times = TimeExpression(
      now: 1_700_000_000_000_000_000, calendar: LocalCalendar { _ in 3600 })
    if let instant = times.instant(text) { _ = times.day(of: instant) }
    _ = Measure.duration(text)
    _ = Measure.size(text)
    if let address = try? PeerAddress(bytes), let path = address.directoryPath {
      try expect(path.hasPrefix("/") && !path.contains("\n"), "an address that is no path")
    }
    if (try? StoreName.checked(branch: text)) != nil {
      try expect(!text.hasPrefix("llvs."), "a name of our own is taken")
    }
  }

  static func names(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    // As a key from outside.
    let key = Key(bytes: bytes)
    if let path = KeyCoding.path(of: key) {
      try expect(KeyCoding.key(ofPath: path) == key, "two keys have one path")
    }
    // As a path that the kernel gives.
    let made = KeyCoding.key(ofPath: bytes)
    try expect(String(validating: made.bytes, as: UTF8.self) != nil, "a key that is not UTF-8")
    try expect(KeyCoding.path(of: made) == bytes, "a path comes back changed")
    let id = Version.ID(String(decoding: bytes, as: UTF8.self))
    if WireName.fault(of: id) == nil {
      try expect(
        !id.rawValue.utf8.contains(UInt8(ascii: "/")) && id.rawValue != ".."
          && !id.rawValue.isEmpty && !id.rawValue.utf8.contains(0), "an id that leaves its folder")
    }
  }

  // MARK: Seeds

  static let controlSeeds: [[UInt8]] = [
    "commit a message\nsync usb\n", "merge all using theirs --dry-run\n", "set settle=2s\n",
    "restore '2026-05-01T102231Z-3f9c2a1b' \"a b\" c\\ d\n", "switch - \nundo\nredo\n",
    "tag NAME head -f\nbranch new\nsettle x theirs\nverify\nbranch --delete new\ntag --rename a b\n",
    "# note\n\ncommit 'x'\r\nsend\\\n usb\n",
  ].map { Array($0.utf8) }

  static let ignoreSeeds: [[UInt8]] = [
    Array("*~\n!keep~\n/top/**/x\n[a-c][!d][[:digit:]]?\ndir/\n\\#x\n".utf8) + [0xFF]
      + Array("a/b/top/x~".utf8),
    Array("*a*a*a*a*b".utf8) + [0xFF] + Array("aaaaaaaaaaaaaaaaaaaa".utf8),
  ]

  static let settingSeeds: [[UInt8]] = [
    Array(
      [Array("2s".utf8), Array("5m".utf8), Array("off".utf8), Array("json,*.txt=text".utf8)]
        .joined(separator: [0xFF])),
    Array("2026-05-01T10:22:33+02:00".utf8), Array("@1714550000".utf8), Array("-3w".utf8),
    Array("file:///media/usb\n".utf8), Array("1G".utf8),
  ]

  static let nameSeeds: [[UInt8]] = [
    Array("a/b c".utf8), Array("e\u{301}".utf8), Array("\u{e9}".utf8), Array("%llvs%%FF".utf8),
    [0xFF, 0x41], Array("%llvs%a".utf8), Array("..".utf8),
  ]
}
