@testable import LLVSCore

/// Texts that merges read: three, separated by the byte 0xFF.
enum MergeTargets {
  private typealias Merge = ([UInt8], [UInt8], [UInt8]) -> MergedContent?

  private static func laws(
    _ bytes: [UInt8], takes: ([UInt8]) -> Bool, _ merge: Merge
  ) throws(FuzzTarget.Failure) {
    let texts = parts(bytes, atMost: 3)
    let (base, older, newer) = (texts[0], texts[1], texts[2])
    let merged = merge(base, older, newer)
    if let merged { try expect(takes(merged.bytes), "a merge of its kind is none") }
    try expect(
      (merge(base, newer, older) == nil) == (merged == nil), "which side is older decides")
    if let merged {
      try expect(
        merge(base, newer, older)?.hasClash == merged.hasClash, "which side is older makes a clash")
    }
    for one in [merge(base, older, base), merge(base, base, older)] {
      guard let one else { continue }
      try expect(one == MergedContent(bytes: older, hasClash: false), "one side's change is lost")
    }
    if let same = merge(base, older, older) {
      try expect(same.bytes == older, "the same change on both sides is another")
    }
  }

  static func text(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    for clashes in [TextMerge.Clashes.takeNewer, .keepBoth] {
      try laws(bytes, takes: { _ in true }) {
        TextMerge.merged(base: $0, older: $1, newer: $2, clashes: clashes)
      }
    }
    let texts = parts(bytes, atMost: 3)
    _ = TextMerge.marked(
      base: texts[0], [.init("ours", texts[1]), .init("theirs", texts[2], age: 1)])
    _ = TextMerge.merged(base: nil, older: texts[1], newer: texts[2])
    var table = LineTable()
    let (old, new) = (table.lines(texts[0]), table.lines(texts[1]))
    _ = TextDiff.changes(from: old, to: new)
  }

  static func json(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    try laws(bytes, takes: JSONMerge.isJSON) {
      JSONMerge.merged(base: $0, older: $1, newer: $2)
    }
    let texts = parts(bytes, atMost: 3)
    _ = JSONMerge.marked(base: texts[0], .init("ours", texts[1]), .init("theirs", texts[2], age: 1))
  }

  // MARK: Seeds

  private static func seed(_ texts: String...) -> [UInt8] {
    Array(texts.map { Array($0.utf8) }.joined(separator: [0xFF]))
  }

  static let textSeeds: [[UInt8]] = [
    seed("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nc\nD"), seed("a\r\nb\r\n", "b\r\n", "a\r\nb\r\nc"),
    seed("x", "y", "z"),
  ]

  static let jsonSeeds: [[UInt8]] = [
    seed(
      #"{"a": 1, "b": [1,2], "c": {"d": "x"}}"#, #"{"a": 2, "b": [1,2], "c": {"d": "x"}}"#,
      #"{"b": [1,2,3], "c": {"d": "x", "e": null}}"#),
    seed(
      #"[{"id": 1, "v": "a"}, {"id": 2}]"#, #"[{"id": 2}, {"id": 1, "v": "b"}]"#,
      #"[{"id": 1, "v": "a"}, {"id": 3, "w": [true]}]"#),
  ]
}
