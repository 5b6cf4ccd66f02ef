package import Grammar
import HistoryTree
package import LLVSCore
import TreeNames
import WorkingTree

/// Describes a version: author, time, message and changes.
package struct VersionStory {
  package let store: Store
  package var labels: VersionLabels

  package init(store: Store, labels: VersionLabels) {
    self.store = store
    self.labels = labels
  }

  package struct Words {
    package var author: String?
    package var machine: String?
    package var message: String?
  }

  package func words(of record: VersionRecord) throws -> Words {
    let metadata = try store.metadata(of: record)
    let author = Author(metadata)
    return Words(
      author: author.name, machine: author.machine, message: metadata[.message]?.value())
  }

  /// Escapes bytes that would move a terminal's cursor.
  package static func clean(_ text: String) -> String {
    PrintableText.harmless(
      String(decoding: PrintableText.visible(Array(text.utf8), sparing: 0x5C), as: UTF8.self))
  }

  package static func seconds(_ record: VersionRecord) -> Int64 {
    Attributes.Time(ofVersion: record.timestamp).seconds
  }

  /// The time of a version for programs: ISO 8601 in UTC, with milliseconds.
  package static func time(_ record: VersionRecord) -> String {
    let time = Attributes.Time(ofVersion: record.timestamp)
    let (nanoseconds, overflows) = time.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? "?" : TimestampText.iso(nanoseconds + Int64(time.nanoseconds))
  }

  /// Formats a version on one line: its name, labels, and message, or its changes if it has none.
  package func line(of record: VersionRecord, _ style: TextStyle) throws -> String {
    let name = style.paint(record.name, .yellow) + labels.text(record.number, style)
    if let message = try words(of: record).message, !message.isEmpty {
      let first = message.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
      return "\(name) \(Self.clean(first))"
    }
    let merge = record.second == nil ? "" : "merge: "
    return "\(name) \(merge)\(try changesText(of: record))"
  }

  /// Describes the changes of a version, or reports that it begins a branch or an empty history.
  package func changesText(of record: VersionRecord) throws -> String {
    let summary = try ChangeSummary(of: record, in: store)
    let isEmpty = summary.new + summary.changed + summary.removed == 0 && record.second == nil
    guard isEmpty, let first = record.first else { return isEmpty ? "begins empty" : summary.text }
    guard let parent = try store.version(first), parent.line != record.line else {
      return summary.text
    }
    let isUnnamed = record.line == VersionRecord.unnamedLine
    return isUnnamed ? "goes on without a branch" : "begins \(Self.clean(record.line))"
  }

  package func heading(of record: VersionRecord, _ style: TextStyle) throws -> [String] {
    let words = try words(of: record)
    var lines = [style.paint("version \(record.name)", .yellow) + labels.text(record.number, style)]
    if try store.isForgotten(record.number) {
      lines.append("bytes   \(try store.reasonForMissingBytes(of: record))")
    }
    if record.line != VersionRecord.unnamedLine {
      lines.append("branch  \(Self.clean(record.line))")
    }
    if let author = words.author {
      let place = words.machine.map { " on \($0)" } ?? ""
      lines.append("author  \(Self.clean(author + place))")
    } else if let machine = words.machine {
      lines.append("machine \(Self.clean(machine))")
    }
    let seconds = Self.seconds(record)
    lines.append(
      "date    \(TimestampText.local(seconds: seconds)) (\(TimestampText.ago(seconds: seconds)))")
    if record.second != nil {
      let names = try record.predecessors.compactMap { try store.version($0)?.name }
      lines.append("merge   \(names.joined(separator: " "))")
    }
    if let message = words.message, !message.isEmpty {
      lines.append("")
      for part in message.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
        lines.append("    \(Self.clean(String(part)))")
      }
    }
    return lines
  }

  package func reply(of record: VersionRecord) throws -> ReplyValue {
    let words = try words(of: record)
    let parents = try record.predecessors.compactMap { try store.version($0)?.name }
    let summary = try ChangeSummary(of: record, in: store)
    let first: ReplyValue = [
      "name": record.name, "id": record.id.rawValue, "line": record.line,
      "time": Self.time(record), "author": words.author, "machine": words.machine,
      "message": words.message, "predecessors": parents,
    ]
    return first + labels.reply(record.number) + [
      "entries": record.map.count, "digest": record.map.digest.hex, "new": summary.new,
      "changed": summary.changed, "removed": summary.removed,
      "renamed": ReplyValue.list(summary.renames.map(\.reply)),
    ]
  }
}

/// The labels of versions: head, branches, tags, and whether the version is forgotten.
package struct VersionLabels {
  struct Label {
    enum Kind { case head, branch, tag }
    var kind: Kind
    var name: String
  }

  private var labels: [VersionNumber: [Label]] = [:]
  private let forgotten: NumberSet

  package init(_ store: Store) throws {
    forgotten = try store.forgottenVersions()
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
      "isForgotten": forgotten.contains(number),
    ]
  }

  /// Formats the labels as ` (head, work, tag v1)`; empty for none. The unnamed line is not mentioned.
  package func text(_ number: VersionNumber, _ style: TextStyle) -> String {
    var texts = self[number].compactMap { label -> String? in
      let name = VersionStory.clean(label.name)
      switch label.kind {
      case .head: return style.paint("head", .cyan)
      case .branch:
        return label.name == VersionRecord.unnamedLine ? nil : style.paint(name, .green)
      case .tag: return style.paint("tag \(name)", .magenta)
      }
    }
    if forgotten.contains(number) { texts.append("forgotten") }
    return texts.isEmpty ? "" : " (\(texts.joined(separator: ", ")))"
  }
}
