package import Grammar
import HistoryTree
package import LLVSCore

/// The labels of versions: head, branches, tags.
package struct VersionLabels {
  struct Label {
    enum Kind { case head, branch, tag }
    var kind: Kind
    var name: String
  }

  private var labels: [VersionNumber: [Label]] = [:]

  /// - Complexity: O(branches + tags).
  package init(_ store: Store) throws {
    if let head = try store.state().head { labels[head] = [Label(kind: .head, name: "head")] }
    let names = try store.lineNames()
    for branch in names.branches {
      guard let newest = try store.newestHead(ofLine: branch) else { continue }
      labels[newest.number, default: []].append(Label(kind: .branch, name: branch))
    }
    for tag in names.tags {
      guard let tagged = try store.version(tagged: tag) else { continue }
      labels[tagged.number, default: []].append(Label(kind: .tag, name: tag))
    }
  }

  subscript(number: VersionNumber) -> [Label] { labels[number] ?? [] }

  package func reply(_ number: VersionNumber) -> ReplyValue {
    let mine = self[number]
    func names(_ kind: Label.Kind) -> [String] { mine.filter { $0.kind == kind }.map(\.name) }
    return [
      "isHead": !names(.head).isEmpty, "branches": names(.branch), "tags": names(.tag),
    ]
  }

  /// Formats the labels as ` (head, work, tag v1)`; empty for none. The unnamed line is not mentioned.
  package func text(_ number: VersionNumber, _ style: TextStyle) -> String {
    let texts = self[number].compactMap { label -> String? in
      let name = VersionStory.clean(label.name)
      switch label.kind {
      case .head: return style.paint("head", .cyan)
      case .branch:
        return label.name == VersionRecord.unnamedLine ? nil : style.paint(name, .green)
      case .tag: return style.paint("tag \(name)", .magenta)
      }
    }
    return texts.isEmpty ? "" : " (\(texts.joined(separator: ", ")))"
  }
}
