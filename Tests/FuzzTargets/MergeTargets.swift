@testable import LLVS

/// Texts that merges read: three, separated by the byte 0xFF.
enum MergeTargets {
  private typealias Merge = ([UInt8], [UInt8], [UInt8]) -> [UInt8]?

  private static func laws(
    _ bytes: [UInt8], takes: ([UInt8]) -> Bool, isSymmetric: Bool, _ merge: Merge
  ) throws(FuzzTarget.Failure) {
    let texts = parts(bytes, atMost: 3)
    let (base, first, second) = (texts[0], texts[1], texts[2])
    let merged = merge(base, first, second)
    if let merged { try expect(takes(merged), "a merge of its kind is none") }
    try expect(
      (merge(base, second, first) == nil) == (merged == nil), "which side is first decides a clash")
    if isSymmetric { try expect(merge(base, second, first) == merged, "the sides do not commute") }
    if let one = merge(base, first, base) {
      try expect(one == first, "a change of one side is lost")
    }
    if let same = merge(base, first, first) {
      try expect(same == first, "the same change on both sides is another")
    }
  }

  static func text(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    try laws(bytes, takes: TextMerge.isText, isSymmetric: true) {
      TextMerge.merged(base: $0, first: $1, second: $2)
    }
    let texts = parts(bytes, atMost: 3)
    var table = LineTable()
    let (old, new) = (table.lines(texts[0]), table.lines(texts[1]))
    _ = TextDiff.changes(from: old, to: new)
  }

  static func json(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    try laws(bytes, takes: JSONMerge.isJSON, isSymmetric: false) {
      JSONMerge.merged(base: $0, first: $1, second: $2)
    }
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
