import Foundation
import Grammar
import KeyValueCRDT
import Platform
import TreeNames

/// `llvs document`: a KeyValueCRDT document by itself, without a store.
struct DocumentCommand {
  /// The words after the file, and their effects.
  static let actions: [(name: String, usage: String, help: String)] = [
    ("stats", "stats", "counts of values, authors and notes; also without a word"),
    ("list", "list", "the names of all values"),
    ("get", "get NAME", "the versions of a value; with -o the bytes of the first into a file"),
    ("put", "put NAME", "writes standard input, as --type text, json or blob"),
    ("delete", "delete NAME", "removes a value"),
    ("conflicts", "conflicts", "values with several versions"),
    ("authors", "authors", "who wrote the document"),
    ("merge", "merge FILE", "takes what another document says; --dry-run only tells"),
    ("search", "search WORDS", "the names of texts that have all words"),
    ("erase", "erase", "forgets who wrote what; values stay"),
    ("verify", "verify", "checks pages, tables and rows"),
  ]

  private let line: CommandLine
  private let console: Console
  private let database: KeyValueDatabase

  init(_ line: CommandLine, _ console: Console) throws {
    self.line = line
    self.console = console
    database = try Self.open(line.words[0], isMade: line.words.dropFirst().first == "put")
  }

  /// Opens a document; `isMade` makes a missing file, and the tables of an empty one.
  private static func open(_ path: String, isMade: Bool = false) throws -> KeyValueDatabase {
    guard try FileSystem.exists(path) || isMade else {
      throw ControlError(.notFound, "there is no document \(path)")
    }
    let isEmpty = (try? FileSystem.status(path).size) ?? 0 == 0
    return try KeyValueDatabase(
      databaseWriter: isMade && isEmpty
        ? KeyValueDatabase.DatabaseQueue(path: path)
        : KeyValueDatabase.DatabaseQueue(existing: path),
      authorDescription: SystemProcess.hostName)
  }

  @Sendable static func run(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(1...4)
    do {
      if line.words.count == 4, line.words[0] == "join" {
        try join(into: line.words[2], line.words[3])
        return .done
      }
      return try DocumentCommand(line, console).run()
    } catch let error as KeyValueCRDTError {
      throw ControlError(.refused, "\(line.words[0]): \(error)")
    } catch let error as KeyValueDatabase.DatabaseError {
      throw ControlError(.damaged, "\(error)")
    }
  }

  /// Merges a document into another by the vectors of both, as an arbiter's command; no other process may write.
  private static func join(into path: String, _ other: String) throws {
    _ = try open(path).merge(source: try open(other))
  }

  private func run() throws -> ExitCode {
    let action = line.words.count > 1 ? line.words[1] : "stats"
    switch action {
    case "stats": try tellStatistics()
    case "list":
      for key in try database.keys { tell(key) }
    case "get": return try get(try name())
    case "put": try put(try name())
    case "delete":
      let key = try name()
      guard try !database.read(key: key.key, scope: key.scope).isEmpty else {
        throw ControlError(.notFound, "there is no value \(key)")
      }
      _ = try database.delete(key: key.key, scope: key.scope)
    case "conflicts":
      let conflicts = try database.conflicts
      for (key, versions) in conflicts.sorted(by: { "\($0.key)" < "\($1.key)" }) {
        tell(key, ["versions": versions.count])
      }
      return conflicts.isEmpty ? .done : .conflict
    case "authors":
      for author in try database.authors {
        console.tell(
          line, "\(author.id.uuidString)  \(author.lastWrite)  \(author.name)",
          json: ["id": author.id.uuidString, "name": author.name, "usn": author.lastWrite])
      }
    case "merge":
      let other = try Self.open(try word("the other document"))
      let changed = try database.merge(source: other, dryRun: line.words.contains("--dry-run"))
      for key in changed.sorted(by: { "\($0)" < "\($1)" }) { tell(key) }
    case "search":
      let found = try database.searchText(for: try word("what to search for"))
      for key in found { tell(key) }
      return found.isEmpty ? .conflict : .done
    case "erase": try database.eraseVersionHistory()
    case "verify":
      let faults = try database.verify()
      for fault in faults { console.complain("llvs: \(fault).") }
      if faults.isEmpty { console.say("no damage found") }
      return faults.isEmpty ? .done : .damaged
    default:
      throw UsageError(
        "there is no action \"\(action)\" of a document; \"llvs help document\" lists them")
    }
    return .done
  }

  private func word(_ what: String) throws -> String {
    guard line.words.count > 2 else { throw UsageError("\(what) is missing") }
    return line.words[2]
  }

  private func name() throws -> ScopedKey {
    ScopedKey(scope: line.options["scope"] ?? "", key: try word("the name of a value"))
  }

  private func tell(_ key: ScopedKey, _ more: ReplyValue = [:]) {
    console.tell(line, "\(key)", json: ["scope": key.scope, "key": key.key] + more)
  }

  private func tellStatistics() throws {
    let statistics = try database.statistics
    let application = try database.applicationIdentifier
    if line.isJSON {
      console.tell(json: [
        "entries": statistics.entryCount, "authors": statistics.authorCount,
        "notes": statistics.tombstoneCount, "application": application?.id,
      ])
      return
    }
    console.tell(
      "\(statistics.entryCount) entries, \(statistics.authorCount) authors, "
        + "\(statistics.tombstoneCount) notes about replaced values")
    if let application {
      console.tell(
        "of \(application.id) \(application.majorVersion).\(application.minorVersion)")
    }
  }

  private func get(_ key: ScopedKey) throws -> ExitCode {
    let versions = try database.read(key: key.key, scope: key.scope)
    guard !versions.isEmpty else { throw ControlError(.notFound, "there is no value \(key)") }
    if let path = line.options["output"] {
      let bytes = versions.lazy.compactMap { Self.bytes($0.value) }.first
      guard let bytes else { throw ControlError(.notFound, "\(key) was removed") }
      try FileSystem.replace(path, with: bytes)
      return .done
    }
    for version in versions {
      if line.isJSON {
        console.tell(json: Self.reply(version))
        continue
      }
      if versions.count > 1 {
        console.tell("\(version.authorID.uuidString)  \(version.timestamp.ISO8601Format())")
      }
      switch version.value {
      case .null: console.tell("(removed)")
      case .text(let text), .json(let text): console.tell(text)
      case .blob(let mimeType, let blob):
        console.tell("\(mimeType), \(PrintableText.count(blob.count, "byte"))")
      }
    }
    return versions.count > 1 ? .conflict : .done
  }

  private static func bytes(_ value: Value) -> [UInt8]? {
    switch value {
    case .null: nil
    case .text(let text), .json(let text): Array(text.utf8)
    case .blob(_, let blob): Array(blob)
    }
  }

  private static func reply(_ version: Version) -> ReplyValue {
    var fields: ReplyValue = [
      "author": version.authorID.uuidString, "time": version.timestamp.ISO8601Format(),
    ]
    switch version.value {
    case .null: fields += ["type": "null"]
    case .text(let text): fields += ["type": "text", "value": text]
    case .json(let text): fields += ["type": "json", "value": text]
    case .blob(let mimeType, let blob):
      fields += ["type": "blob", "mimeType": mimeType, "base64": blob.base64EncodedString()]
    }
    return fields
  }

  private func put(_ key: ScopedKey) throws {
    let bytes = FileHandle.standardInput.readDataToEndOfFile()
    let text = String(validating: bytes, as: UTF8.self)
    switch (line.options["type"] ?? (text == nil ? "blob" : "text"), text) {
    case ("text", let text?): _ = try database.writeText(text, to: key.key, scope: key.scope)
    case ("json", let text?): _ = try database.writeJson(text, to: key.key, scope: key.scope)
    case ("blob", _): _ = try database.writeBlob(bytes, to: key.key, scope: key.scope)
    case (let type, nil) where type == "text" || type == "json":
      throw UsageError("standard input is not UTF-8, as a \(type) is")
    case (let type, _): throw UsageError("--type is text, json or blob, not \(type)")
    }
  }
}
