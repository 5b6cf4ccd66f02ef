import Grammar
import LLVSCore
import TreeNames

/// A path at which two trees differ.
struct TreeDifference {
  /// Where it stands; where it stood, for what is gone.
  var path: [UInt8]
  /// What a renamed file was called.
  var renamedFrom: [UInt8]?
  var old: FileImage?
  var new: FileImage?
  /// A directory that came or went with what is in it, which says so already.
  var isFull = false

  /// `+` new, `-` gone, `*` changed, `R` renamed.
  var mark: String {
    renamedFrom != nil ? "R" : old == nil ? "+" : new == nil ? "-" : "*"
  }

  var isDirectory: Bool { (new ?? old)?.isDirectory ?? false }

  /// The path for people, on one line.
  var shownPath: String {
    let from = renamedFrom.map { "\(Self.shown($0)) -> " } ?? ""
    return from + Self.shown(path) + (isDirectory ? "/" : "")
  }

  private static func shown(_ path: [UInt8]) -> String { PrintableText.text(path) }

  var text: String { "\(mark) \(shownPath)" }

  /// For programs.
  func fields(counts: LineCounts?) -> [ReplyField] {
    var fields = [ReplyField("change", mark)] + ReplyField.path("path", path)
    if let from = renamedFrom { fields += ReplyField.path("from", from) }
    fields += [
      ReplyField("directory", .flag(isDirectory)),
      ReplyField("oldBytes", .number(Int64(clamping: old?.length ?? 0))),
      ReplyField("newBytes", .number(Int64(clamping: new?.length ?? 0))),
      ReplyField("oldMode", old.map { .text(String($0.mode, radix: 8)) } ?? .null),
      ReplyField("newMode", new.map { .text(String($0.mode, radix: 8)) } ?? .null),
    ]
    guard let counts else { return fields }
    switch counts {
    case .lines(let added, let removed):
      fields += [
        ReplyField("binary", .flag(false)), ReplyField("added", added),
        ReplyField("removed", removed),
      ]
    case .binary: fields.append(ReplyField("binary", .flag(true)))
    }
    return fields
  }
}

/// How much of a file differs.
enum LineCounts {
  case lines(added: Int, removed: Int)
  /// Bytes that are no text, or more than is compared line by line.
  case binary
}
