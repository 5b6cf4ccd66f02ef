/// The reason for a change of the live tree's head.
///
/// The catalog keeps ``text``. Texts of other programs are ``other(_:)`` and stay unchanged.
package enum HeadReason: Hashable, Sendable {
  case cut
  case merge
  case imported
  /// The conflict at this path was settled.
  case settled(String)
  /// Paths were removed from versions and kept in the tree.
  case untracked(String)
  /// Paths, or all of them, were restored from the version of this name.
  case restore(version: String)
  case branch(String)
  case switched(to: String)
  /// Undo returned to the entry of this sequence number.
  case undo(to: Int64)
  /// Redo returned to the entry of this sequence number.
  case redo(to: Int64)
  /// A reason that this program does not write.
  case other(String)

  package init(text: String) {
    let known = Self.parsed(text)
    // A text such as "undo 007" must stay unchanged.
    self = known.text == text ? known : .other(text)
  }

  private static func parsed(_ text: String) -> HeadReason {
    let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2 else {
      switch text {
      case "cut": return .cut
      case "merge": return .merge
      case "import": return .imported
      default: return .other(text)
      }
    }
    let rest = String(words[1])
    switch words[0] {
    case "settle": return .settled(rest)
    case "untrack": return .untracked(rest)
    case "restore": return .restore(version: rest)
    case "branch": return .branch(rest)
    case "switch": return .switched(to: rest)
    case "undo": return Int64(rest).map { .undo(to: $0) } ?? .other(text)
    case "redo": return Int64(rest).map { .redo(to: $0) } ?? .other(text)
    default: return .other(text)
    }
  }

  package var text: String {
    switch self {
    case .cut: "cut"
    case .merge: "merge"
    case .imported: "import"
    case .settled(let path): "settle \(path)"
    case .untracked(let paths): "untrack \(paths)"
    case .restore(let version): "restore \(version)"
    case .branch(let name): "branch \(name)"
    case .switched(let target): "switch \(target)"
    case .undo(let sequence): "undo \(sequence)"
    case .redo(let sequence): "redo \(sequence)"
    case .other(let text): text
    }
  }

  /// The first word of the text, the command's name.
  package var verb: String { String(text.prefix { $0 != " " }) }

  /// True if the tree switched to another branch, so that undo switches it back.
  package var isMove: Bool {
    switch self {
    case .branch, .switched: true
    default: false
    }
  }

  /// The sequence number of the entry that undo or redo returned to; nil for other reasons.
  package var target: Int64? {
    switch self {
    case .undo(let sequence), .redo(let sequence): sequence
    default: nil
    }
  }
}
