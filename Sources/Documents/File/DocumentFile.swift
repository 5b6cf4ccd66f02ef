internal import KeyValueCRDT
package import LLVSCore
internal import Platform
internal import SQLite

// KeyValueCRDT has types of the same names.
typealias FileDatabase = SQLite.Database
typealias FileDatabaseError = SQLite.DatabaseError

/// A document's file, read in one transaction for the life of this object. The file is not trusted: its schema must
/// be that of the format, and every row is checked.
package final class DocumentFile {
  private static let maximumMedia = 65_536
  /// Milliseconds that a call waits for a program that writes the file.
  static let patience: Int32 = 10_000
  package let path: String
  package let stamp: DocumentStamp
  /// Nil once it is closed.
  private var connection: FileDatabase?
  private let hasApplication: Bool

  /// Opens a document; nil if it does not exist, or is empty because it was never written.
  package static func open(_ path: String) throws(DocumentProblem) -> DocumentFile? {
    guard let stamp = try reporting(path, { try DocumentStamp(path: path) }) else {
      let directory = FileSystem.directory(of: path)
      guard (try? FileSystem.exists(directory)) == true else {
        throw .missing("\(directory) is not there")
      }
      return nil
    }
    let isEmpty = try reporting(path) { try FileSystem.status(path).size == 0 }
    if isEmpty, (try? FileSystem.exists("\(path)-wal")) != true { return nil }
    return try DocumentFile(path, stamp)
  }

  private init(_ path: String, _ stamp: DocumentStamp) throws(DocumentProblem) {
    self.path = path
    self.stamp = stamp
    // Rolling back the changes of a killed program writes.
    let isHot = (try? FileSystem.exists("\(path)-journal")) == true
    (connection, hasApplication) = try Self.reporting(path) {
      let database = try FileDatabase(
        path: path, mode: isHot ? .readWrite : .readOnly,
        options: .document(patience: Self.patience))
      try database.distrust()
      try database.execute("BEGIN")
      if try DocumentFormat.isTooNew(database) {
        throw DocumentProblem.unreadable("\(path) was written by a newer program")
      }
      return (database, try Self.check(database, path))
    }
  }

  /// Values cannot be read afterwards.
  package func close() { connection = nil }

  private var database: FileDatabase {
    get throws(FileDatabaseError) {
      guard let connection else { throw .busy("\(path) is closed") }
      return connection
    }
  }

  static func reporting<R>(_ path: String, _ body: () throws -> R) throws(DocumentProblem) -> R {
    do { return try body() } catch {
      switch error {
      case let problem as DocumentProblem: throw problem
      case let error as FileDatabaseError: throw DocumentProblem(error, path)
      case let error as SystemError: throw .system(error.errno, error.description)
      default: throw .unreadable("\(path): \(error)")
      }
    }
  }

  /// Compares the file's schema with the format's; returns true if it has the application's table.
  private static func check(_ database: FileDatabase, _ path: String) throws -> Bool {
    func refuse(_ what: String) -> DocumentProblem {
      .unreadable("\(path) is not a KeyValueCRDT document: \(what)")
    }
    var triggers: [String: String] = [:]
    var fault: DocumentProblem?
    var tables: Set<String> = []
    try database.rows("SELECT type, name, sql FROM sqlite_master") { row in
      let (type, name) = (row.text(0), row.text(1))
      switch type {
      case "trigger": triggers[name] = bare(row.text(2))
      case "table", "index":
        tables.insert(name)
        if !DocumentFormat.tables.contains(name), !name.hasPrefix("sqlite_") {
          fault = refuse("it has a \(type) called \(name)")
        }
      default: fault = refuse("it has a \(type) called \(name)")
      }
    }
    if let fault { throw fault }
    guard triggers == DocumentFormat.triggers.mapValues(bare) else {
      throw refuse("its triggers are not those of the format")
    }
    for (table, columns) in DocumentFormat.columns {
      guard tables.contains(table) else {
        if table == "applicationIdentifier" { continue }
        throw refuse("it has no table \(table)")
      }
      var there: [String] = []
      try database.rows("PRAGMA table_xinfo(\(table))") { there.append($0.text(1)) }
      // Older files lack the time of authors.
      guard there == columns || table == "author" && there == columns.dropLast() else {
        throw refuse("its table \(table) has other columns")
      }
    }
    return tables.contains("applicationIdentifier")
  }

  /// A statement without blanks and quotes, because versions of GRDB write these differently.
  private static func bare(_ sql: String) -> String {
    String(
      decoding: sql.utf8.filter {
        $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "`")
      }, as: UTF8.self
    ).lowercased()
  }

  /// Reads everything except the values; the result reads these from this file.
  package func snapshot() throws(DocumentProblem) -> DocumentSnapshot {
    try Self.reporting(path) {
      DocumentSnapshot(
        authors: try authors(), entries: try entries(), application: try application(),
        bytes: bytes(of:))
    }
  }

  /// Reads a snapshot after SQLite has checked every page.
  package func checked() throws(DocumentProblem) -> DocumentSnapshot {
    let faults = try Self.reporting(path) { try database.integrityCheck() }
    if let fault = faults.first { throw damaged(fault) }
    let document = try snapshot()
    let vector = document.vector
    for entry in document.entries where !vector.covers(entry.dot) {
      throw damaged("the number of \(PrintedName.text(entry.name.path)) is above its author's")
    }
    return document
  }

  private func damaged(_ what: String) -> DocumentProblem { .unreadable("\(path): \(what)") }

  private func authors() throws -> [DocumentSnapshot.Author] {
    try database.all("SELECT id, name, usn FROM author ORDER BY id") { rows in
      guard let id = DocumentAuthor(bytes: rows.bytes(0)) else {
        throw damaged("an author's id is not 16 bytes long")
      }
      let name = Array(rows.utf8(1))
      guard name.count <= 65_535, rows.integer(2) >= 0 else {
        throw damaged("a row of its authors is not valid")
      }
      return DocumentSnapshot.Author(id: id, name: name, usn: rows.integer(2))
    }
  }

  private func application() throws -> DocumentApplication? {
    guard hasApplication else { return nil }
    return try database.prepared(
      "SELECT id, majorVersion, minorVersion, applicationDescription FROM applicationIdentifier"
    ).first {
      DocumentApplication(
        id: Array($0.utf8(0).prefix(65_535)), major: $0.integer(1), minor: $0.integer(2),
        description: $0.isNull(3) ? nil : Array($0.utf8(3).prefix(65_535)))
    }
  }

  private func entries() throws -> [DocumentSnapshot.Entry] {
    var last = RowParts()
    var entries = try database.all(
      """
      SELECT scope, key, authorId, usn, timestamp, text IS NOT NULL, json IS NOT NULL,
        blob IS NOT NULL, blobMimeType, rowid
      FROM entry ORDER BY scope, key, authorId
      """
    ) { try entry($0, &last) }
    // In a file that is not UTF-8, SQLite compares text in another order.
    if zip(entries, entries.dropFirst()).contains(where: { $1.name < $0.name }) {
      entries.sort { ($0.name, $0.dot) < ($1.name, $1.dot) }
    }
    return entries
  }

  /// Parts of a row that are often the same in the next row.
  private struct RowParts {
    var scope: [UInt8] = []
    var author: (bytes: [UInt8], id: DocumentAuthor)?
  }

  private func entry(
    _ rows: Statement, _ last: inout RowParts
  ) throws -> DocumentSnapshot.Entry {
    let (scope, key) = (rows.utf8(0), rows.utf8(1))
    if !last.scope.elementsEqual(scope) {
      guard String(validating: scope, as: UTF8.self) != nil else { throw notText }
      last.scope = Array(scope)
    }
    guard rows.kind(0) == .text, rows.kind(1) == .text,
      String(validating: key, as: UTF8.self) != nil
    else { throw notText }
    let name = DocumentName(scope: last.scope, key: Array(key))
    func shown() -> String { PrintedName.text(name.path) }
    // A path is at most three times as long as the scope.
    guard 3 * scope.count + key.count < 32_000 || name.path.count <= 32_768 else {
      throw damaged("a name of more than 32,768 bytes")
    }
    if last.author.map({ !$0.bytes.elementsEqual(rows.blob(2)) }) ?? true {
      last.author = DocumentAuthor(bytes: rows.bytes(2)).map { (rows.bytes(2), $0) }
    }
    guard let author = last.author?.id, rows.integer(3) > 0 else {
      throw damaged("the author of \(shown()) is not valid")
    }
    guard let time = DocumentFormat.milliseconds(rows, 4) else {
      throw damaged("the time of \(shown()) cannot be read")
    }
    let types: [(column: Int32, type: DocumentType)] = [(5, .text), (6, .json), (7, .blob)]
    let type = types.first { rows.integer($0.column) == 1 }?.type ?? .null
    var media: [UInt8]?
    if type == .blob, rows.kind(8) == .text { media = Array(rows.utf8(8)) }
    guard media?.count ?? 0 <= Self.maximumMedia else {
      throw damaged("the media type of \(shown()) is longer than 64 KiB")
    }
    return DocumentSnapshot.Entry(
      name: name, dot: DocumentDot(author: author, usn: rows.integer(3)), type: type, time: time,
      media: media, row: rows.integer(9))
  }

  private var notText: DocumentProblem { damaged("the scope or the key of an entry is not UTF-8") }

  package func bytes(of entry: DocumentSnapshot.Entry) throws(StoreError) -> [UInt8] {
    do throws(FileDatabaseError) {
      let row =
        switch entry.type {
        case .text: try database.prepared("SELECT text FROM entry WHERE rowid = ?")
        case .json: try database.prepared("SELECT json FROM entry WHERE rowid = ?")
        case .blob, .null: try database.prepared("SELECT blob FROM entry WHERE rowid = ?")
        }
      return try row.bind(1, entry.row).first {
        entry.type == .blob ? $0.bytes(0) : Array($0.utf8(0))
      } ?? []
    } catch {
      throw DocumentProblem(error, path).asStoreError
    }
  }
}

/// A name in a message, with control characters and invalid UTF-8 escaped.
enum PrintedName {
  static func text(_ bytes: [UInt8]) -> String {
    var text = ""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars.prefix(200) {
      if scalar.value < 0x20 || scalar.value == 0x7F {
        text += "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension DocumentProblem {
  init(_ error: FileDatabaseError, _ path: String) {
    switch error {
    case .corrupt(let why): self = .unreadable("\(path) is damaged or no document (\(why))")
    case .busy: self = .busy("\(path) is in use by another program")
    case .readOnly: self = .system(Errno.readOnlyFileSystem, "\(path) cannot be written")
    case .refused(_, let why): self = .unreadable("\(path) is not a document (\(why))")
    case .system(let error): self = .system(error.errno, error.description)
    }
  }
}
