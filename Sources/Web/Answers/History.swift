import Grammar
import HistoryTree
import LLVSCore
import Platform
import Reports
import TreeNames

/// Reads versions, trees and files for the page.
/// - Concurrency: any thread.
struct History: Sendable {
  /// The most changed paths, names of a directory, and versions of a file in one answer.
  static let mostChanges = 10_000
  static let mostNames = 5000
  static let mostRevisions = 1000
  /// The shown part of longer texts.
  static let longestText: UInt64 = 1 << 20
  /// The bytes that determine the type of a value.
  private static let sample = 512
  let store: Store

  /// - Throws: ``ControlError`` of kind grammar without a name, of kind notFound without a version.
  func version(_ request: WebRequest, _ name: String = "v") throws -> VersionRecord {
    guard let word = request.text(name) else { throw ControlError(.grammar, "no version is named") }
    return try store.version(meant: word)
  }

  func path(_ request: WebRequest) throws -> [UInt8] {
    let path = request.arguments["p"] ?? []
    guard path.count <= 4096, !path.contains(0), path.first != 0x2F, path.last != 0x2F else {
      throw ControlError(.grammar, "this is not a path")
    }
    return path
  }

  func view(_ record: VersionRecord) -> TreeView { TreeView(map: store.map(of: record)) }

  func entry(_ record: VersionRecord, _ path: [UInt8]) throws -> Entry? {
    guard case .value(let entry)? = try view(record).find(path: path) else { return nil }
    return entry
  }

  func knownEntry(_ record: VersionRecord, _ path: [UInt8]) throws -> Entry {
    guard let entry = try entry(record, path) else {
      throw ControlError(.notFound, "\(record.name) has no file \(PrintableText.text(path))")
    }
    try checkBytes(of: entry, at: path, in: record)
    return entry
  }

  /// - Throws: ``ControlError`` of kind forgotten, with the reason, if the store lacks bytes.
  func checkBytes(of entry: Entry?, at path: [UInt8], in record: VersionRecord?) throws {
    guard let entry, let record, try !store.canRead(entry.stored) else { return }
    var missing = MissingBytes(store)
    try missing.add(path, of: record)
    throw missing.error()
  }

  func mediaType(_ entry: Entry, path: [UInt8]) throws -> MediaType {
    guard entry.kind == .regular else { return .text }
    return MediaType(try bytes(entry, from: 0, count: Self.sample), path: path)
  }

  /// Reads a piece of a value; fewer bytes than `count` only at its end.
  func bytes(_ entry: Entry, from offset: UInt64, count: Int) throws -> [UInt8] {
    try store.contents.bytes(entry.stored, from: offset, count: count)
  }

  func version(_ record: VersionRecord, _ story: VersionStory) throws -> ReplyValue {
    let parents = try record.predecessors.compactMap { try store.version($0) }
    let fields: ReplyValue = [
      "id": record.id.rawValue, "predecessors": parents.map(\.name), "entries": record.map.count,
      "digest": record.map.digest.hex,
    ]
    return try VersionList.reply(of: record, story) + story.labels.reply(record.number) + fields
      + changes(from: parents.first?.map ?? .empty, to: record.map)
  }

  func changes(from old: MapRoot, to new: MapRoot) throws -> ReplyValue {
    var values: [ReplyValue] = []
    var isWhole = true
    do {
      try VersionDifferences(store, from: old, to: new, findingRenames: true).forEach {
        guard values.count < Self.mostChanges else { throw EnoughFound() }
        // The page shows the files of a renamed directory as one change.
        values.append($0.reply(counts: nil) + ["renamed": $0.directory?.reply])
      }
    } catch is EnoughFound {
      isWhole = false
    }
    return ["changed": values, "isWhole": isWhole]
  }

  private struct EnoughFound: Error {}

  func tree(_ record: VersionRecord, _ path: [UInt8]) throws -> ReplyValue {
    let view = view(record)
    guard case .directory? = try view.find(path: path) else {
      throw ControlError(.notFound, "\(record.name) has no directory \(PrintableText.text(path))")
    }
    var items: [TreeListing.Item] = []
    var isWhole = true
    var listing = view.list(path)
    while let item = try listing.next() {
      guard items.count < Self.mostNames else {
        isWhole = false
        break
      }
      items.append(item)
    }
    items.sort { a, b in
      let (first, second) = (a.kind == .directory, b.kind == .directory)
      return first == second ? a.name.lexicographicallyPrecedes(b.name) : first
    }
    let values = items.map { item -> ReplyValue in
      [
        "name": ReplyBytes(item.name), "kind": Self.word(item.kind),
        "size": item.kind == .regular ? item.entry?.stored.length ?? 0 : nil,
        "modified": item.entry?.attributes.mtime?.seconds,
      ]
    }
    return ["version": record.name, "names": values, "isWhole": isWhole]
  }

  private static func word(_ kind: EntryKind) -> String {
    switch kind {
    case .regular: "file"
    case .directory: "directory"
    case .symlink: "link"
    case .fifo, .socket, .characterDevice, .blockDevice: "special"
    }
  }

  /// Describes a file, with the beginning of a text.
  func file(_ record: VersionRecord, _ path: [UInt8]) throws -> ReplyValue {
    if path.isEmpty { return ["kind": "directory"] }
    if case .directory? = try view(record).find(path: path) {
      return ["kind": "directory", "version": record.name]
    }
    return ["version": record.name] + (try content(try knownEntry(record, path), path))
  }

  func content(_ entry: Entry, _ path: [UInt8]) throws -> ReplyValue {
    let type = try mediaType(entry, path: path)
    let isText = type == .text || type == .drawing
    let bytes = isText ? try bytes(entry, from: 0, count: Int(Self.longestText)) : []
    let isShown = isText && TextMerge.isText(bytes)
    let fields: ReplyValue = [
      "kind": Self.word(entry.kind), "type": isText && !isShown ? "binary" : type.kind,
      "size": entry.stored.length, "mode": String(entry.attributes.mode ?? 0o644, radix: 8),
      "modified": entry.attributes.mtime?.seconds, "digest": entry.stored.digest.hex,
    ]
    guard isShown else { return fields }
    return fields + [
      "text": bytes, "isWhole": UInt64(bytes.count) == entry.stored.length,
      "isUTF8": String(validating: bytes, as: UTF8.self) != nil,
    ]
  }

  /// The versions that changed a file, newest first.
  func revisions(of path: [UInt8], at record: VersionRecord, _ story: VersionStory) throws
    -> ReplyValue
  {
    let key = try entry(record, path)?.key ?? KeyCoding.key(ofPath: path)
    let all = try store.keptVersions(changing: key)
    let values = try all.suffix(Self.mostRevisions).reversed().map { maker in
      let entry = try store.map(of: maker).entry(at: key)
      return try VersionList.reply(of: maker, story)
        + ["size": entry?.stored.length, "digest": entry?.stored.digest.hex]
    }
    return ["revisions": values, "isWhole": all.count <= Self.mostRevisions]
  }

  /// Answers with bytes of a value, which are not trusted: a confirmed type, no scripts or loads; pages are saved.
  func raw(_ entry: Entry, path: [UInt8], range: String?) throws -> WebResponse {
    let type = try mediaType(entry, path: path)
    let length = entry.stored.length
    var headers = [
      (name: "Content-Type", value: type.name),
      (name: "Content-Security-Policy", value: "sandbox; default-src 'none'"),
      (name: "Content-Disposition", value: Self.disposition(path, isShown: type.isShown)),
      (name: "Accept-Ranges", value: "bytes"),
      // A version never changes.
      (name: "Cache-Control", value: "private, max-age=3600"),
    ]
    switch ByteRange(range, length: length) {
    case .whole:
      guard length > 0 else { return WebResponse(status: 200, headers: headers, body: .bytes([])) }
      return WebResponse(
        status: 200, headers: headers, body: stream(entry, from: 0, count: length))
    case .part(let offset, let count):
      headers.append(("Content-Range", "bytes \(offset)-\(offset + count - 1)/\(length)"))
      return WebResponse(
        status: 206, headers: headers, body: stream(entry, from: offset, count: count))
    case .unsatisfiable:
      return WebResponse(
        status: 416, headers: [("Content-Range", "bytes */\(length)")], body: .bytes([]))
    }
  }

  private func stream(_ entry: Entry, from start: UInt64, count: UInt64) -> WebResponse.Body {
    .stream(length: count) { [store] offset, out in
      let room = min(UInt64(out.count), count - min(offset, count))
      let part = UnsafeMutableRawBufferPointer(rebasing: out[..<Int(room)])
      // The connection ends at a damaged value, because its length was already sent.
      return try? store.contents.read(entry.stored, at: start + offset, into: part)
    }
  }

  /// The name under which a browser saves a value: RFC 6266, with RFC 8187 for other characters than ASCII.
  private static func disposition(_ path: [UInt8], isShown: Bool) -> String {
    let name = path.split(separator: 0x2F).last.map(Array.init) ?? Array("value".utf8)
    let coded = name.prefix(255).reduce(into: [UInt8]()) { PercentCode.append($1, "-._~", to: &$0) }
    return "\(isShown ? "inline" : "attachment"); filename*=UTF-8''"
      + String(decoding: coded, as: UTF8.self)
  }
}
