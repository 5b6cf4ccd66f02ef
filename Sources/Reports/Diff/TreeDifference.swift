package import Grammar
package import HistoryTree
import TreeNames

package struct TreeDifference {
  /// The path; for a removed file, its former path.
  package var path: [UInt8]
  package var renamedFrom: [UInt8]?
  /// The rename of a directory that a renamed file is a part of.
  package var directory: DirectoryRenames.Item?
  package var old: FileImage?
  package var new: FileImage?
  /// A directory that was added or removed with its contents: their differences already show it.
  package var isFull = false

  package init(
    path: [UInt8], renamedFrom: [UInt8]? = nil, old: FileImage? = nil, new: FileImage? = nil
  ) {
    self.path = path
    self.renamedFrom = renamedFrom
    self.old = old
    self.new = new
  }

  /// `+` new, `-` removed, `*` changed, `R` renamed.
  var mark: String { renamedFrom != nil ? "R" : old == nil ? "+" : new == nil ? "-" : "*" }
  var isDirectory: Bool { (new ?? old)?.isDirectory ?? false }

  package var shownPath: String {
    let from = renamedFrom.map { "\(Self.shown($0)) -> " } ?? ""
    return from + Self.shown(path) + (isDirectory ? "/" : "")
  }

  private static func shown(_ path: [UInt8]) -> String { PrintableText.text(path) }
  package var text: String { "\(mark) \(shownPath)" }

  package func reply(counts: LineCounts?) -> ReplyValue {
    var reply: ReplyValue = ["change": mark, "path": ReplyBytes(path)]
    if let from = renamedFrom { reply += ["from": ReplyBytes(from)] }
    reply += [
      "directory": isDirectory, "oldBytes": old?.length ?? 0, "newBytes": new?.length ?? 0,
      "oldMode": old.map { String($0.mode, radix: 8) },
      "newMode": new.map { String($0.mode, radix: 8) },
    ]
    switch counts {
    case .lines(let added, let removed)?:
      reply += ["binary": false, "added": added, "removed": removed]
    case .binary?: reply += ["binary": true]
    case .forgotten?: reply += ["forgotten": true]
    case nil: break
    }
    return reply
  }
}

/// The number of lines of a file that differ.
package enum LineCounts {
  case lines(added: Int, removed: Int)
  /// Bytes that are no text, or more than are compared by line.
  case binary
  /// The bytes of a side are forgotten.
  case forgotten
}
