internal import KeyValueCRDT
package import LLVSCore
internal import Platform
internal import SQLite

/// Writes a version's values into a document's file.
///
/// INVARIANT D1: another program finds the old rows or the new ones: a copy is written, synced and renamed.
/// INVARIANT D2: a file that is open elsewhere, or has a log of SQLite, is written in place by one transaction,
/// because its open handles would continue with the old file.
/// INVARIANT D3: no unread change is overwritten: a file with another stamp than expected is not written.
package struct DocumentWriter {
  package enum Outcome: Sendable {
    case done
    /// Another program has changed the file since it was read.
    case changed
  }

  private let path: String
  private let store: Store
  /// The name of authors that are writers of versions.
  private let authorName: String

  package init(_ path: String, _ store: Store, authorName: String) {
    self.path = path
    self.store = store
    self.authorName = authorName
  }

  /// Writes the changes if the file's stamp is as expected; nil for a new file.
  /// - Throws: ``DocumentProblem``; the file is then unchanged.
  package func write(
    _ export: DocumentExport, expecting stamp: DocumentStamp?
  ) throws(DocumentProblem) -> Outcome {
    guard !export.isEmpty else { return .done }
    return try DocumentFile.reporting(path) {
      guard try DocumentStamp(path: path) == stamp else { return .changed }
      if stamp != nil, try mustStayInPlace() { return try writeInPlace(export, stamp) }
      return try writeCopy(export, stamp)
    }
  }

  private func mustStayInPlace() throws -> Bool {
    for suffix in ["-journal", "-wal"] where try FileSystem.exists(path + suffix) { return true }
    return try File(path, .read).isOpenElsewhere
  }

  private func writeInPlace(_ export: DocumentExport, _ stamp: DocumentStamp?) throws -> Outcome {
    let database = try FileDatabase(
      path: path, mode: .readWrite, options: .document(patience: DocumentFile.patience))
    try database.execute("BEGIN IMMEDIATE")
    // With the lock, no other program writes.
    guard try DocumentStamp(path: path) == stamp else {
      database.rollBack()
      return .changed
    }
    try write(export, to: database)
    return .done
  }

  private func writeCopy(_ export: DocumentExport, _ stamp: DocumentStamp?) throws -> Outcome {
    let target = try stamp == nil ? path : FileSystem.resolve(path)
    let directory = FileSystem.directory(of: target)
    let name = target.utf8.lastIndex(of: UInt8(ascii: "/")).map {
      String(target[target.index(after: $0)...])
    }
    let copy = "\(directory)/.~\(name ?? target).tmp"
    try? FileSystem.unlink(copy)
    do {
      if stamp != nil {
        // Another file may get the name if this one must not be written.
        try File(target, .readWrite).duplicate(to: copy)
        guard try DocumentStamp(path: path) == stamp else {
          try FileSystem.unlink(copy)
          return .changed
        }
      }
      try write(export, toCopy: copy)
      if stamp != nil { try keepAttributes(of: target, on: copy) }
      try File(copy, .read).sync()
      guard try DocumentStamp(path: path) == stamp else {
        try? FileSystem.unlink(copy)
        return .changed
      }
      try FileSystem.rename(copy, to: target)
    } catch {
      try? FileSystem.unlink(copy)
      try? FileSystem.unlink("\(copy)-journal")
      throw error
    }
    try FileSystem.syncDirectory(directory)
    return .done
  }

  /// Writes the rows and closes the copy, leaving one file.
  private func write(_ export: DocumentExport, toCopy copy: String) throws {
    let database = try FileDatabase(
      path: copy, mode: .create, options: .document(patience: DocumentFile.patience))
    // No process reads the copy before it is synced.
    try database.execute("PRAGMA synchronous = OFF")
    try write(export, to: database)
  }

  private func keepAttributes(of source: String, on copy: String) throws {
    let (old, new) = (Array(source.utf8), Array(copy.utf8))
    let status = try FileSystem.status(source)
    // Only root can keep another owner.
    try? FileSystem.setOwner(new, uid: status.uid, gid: status.gid)
    try FileSystem.setMode(new, status.mode)
    for name in try FileSystem.extendedNames(old) {
      if let value = try FileSystem.extended(old, name) {
        try FileSystem.setExtended(new, name, to: value)
      }
    }
  }

  private func write(_ export: DocumentExport, to database: FileDatabase) throws {
    // A connection that distrusts the schema would not run the triggers that write the text index.
    if !database.isInTransaction {
      try database.execute("PRAGMA page_size = 4096")
      try database.execute("BEGIN IMMEDIATE")
    }
    do {
      try DocumentFormat.complete(database)
      let changes = export.values.count + export.removals.count
      try DocumentFormat.indexing(changes, on: database) {
        try writeAuthors(export, database)
        try remove(export, database)
        for value in export.values { try insert(value, database) }
        try writeNotes(export, database)
        if let application = export.application { try insert(application, database) }
      }
      try database.execute("COMMIT")
    } catch {
      database.rollBack()
      throw error
    }
  }

  private func writeAuthors(_ export: DocumentExport, _ database: FileDatabase) throws {
    for author in export.authors {
      try database.prepared(
        """
        INSERT INTO author (id, name, usn) VALUES (?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET usn = max(usn, excluded.usn)
        """
      ).bind(1, author.id.bytes)
        .bind(2, author.name.map { String(decoding: $0, as: UTF8.self) } ?? authorName)
        .bind(3, author.usn).run()
    }
  }

  private func remove(_ export: DocumentExport, _ database: FileDatabase) throws {
    for removal in export.removals {
      try database.prepared("DELETE FROM entry WHERE scope = ? AND key = ? AND authorId = ?")
        .bind(1, String(decoding: removal.name.scope, as: UTF8.self))
        .bind(2, String(decoding: removal.name.key, as: UTF8.self))
        .bind(3, removal.dot.author.bytes).run()
    }
  }

  private func insert(_ item: DocumentExport.Value, _ database: FileDatabase) throws {
    guard let time = DocumentFormat.text(milliseconds: item.value.time) else {
      throw DocumentProblem.unreadable(
        "\(PrintedName.text(item.name.path)) has a time outside of the years 0 to 9999")
    }
    let statement = try database.prepared(
      """
      INSERT INTO entry
        (scope, key, authorId, usn, timestamp, type, text, json, blobMimeType, blob)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(1, String(decoding: item.name.scope, as: UTF8.self))
      .bind(2, String(decoding: item.name.key, as: UTF8.self)).bind(3, item.value.dot.author.bytes)
      .bind(4, item.value.dot.usn).bind(5, time)
    // The value may be large.
    defer { statement.reset() }
    var type = DocumentType.null
    if let file = item.file {
      let bytes = try store.contents.bytes(file.stored)
      type =
        item.value.type.flatMap { DocumentType(rawValue: $0) }
        ?? DocumentType.type(of: bytes, file.attributes)
      let isText = String(validating: bytes, as: UTF8.self) != nil
      if type != .blob, !isText { type = .blob }
      switch type {
      case .null: break
      case .text: statement.bind(7, String(decoding: bytes, as: UTF8.self))
      case .json: statement.bind(8, String(decoding: bytes, as: UTF8.self))
      case .blob:
        let media =
          file.attributes.value(of: DocumentType.mediaAttribute) ?? DocumentType.defaultMedia
        statement.bind(9, String(decoding: media, as: UTF8.self)).bind(10, bytes)
      }
    }
    try statement.bind(6, Int64(type.rawValue)).run()
  }

  private func insert(_ application: DocumentApplication, _ database: FileDatabase) throws {
    try database.execute("DELETE FROM applicationIdentifier")
    try database.prepared("INSERT INTO applicationIdentifier VALUES (?, ?, ?, ?)")
      .bind(1, String(decoding: application.id, as: UTF8.self)).bind(2, application.major)
      .bind(3, application.minor)
      .bind(4, application.description.map { String(decoding: $0, as: UTF8.self) }).run()
  }

  private struct Subject: Hashable {
    var name: DocumentName
    var author: DocumentAuthor
  }

  private func writeNotes(_ export: DocumentExport, _ database: FileDatabase) throws {
    guard !export.notes.isEmpty else { return }
    // The table has no index on the subjects of notes.
    let wanted = Set(export.notes.map { Subject(name: $0.name, author: $0.dot.author) })
    var rows: [Int64] = []
    try database.rows("SELECT rowid, scope, key, authorId FROM tombstone") { row in
      guard let author = DocumentAuthor(bytes: row.bytes(3)) else { return }
      let name = DocumentName(scope: Array(row.utf8(1)), key: Array(row.utf8(2)))
      if wanted.contains(Subject(name: name, author: author)) { rows.append(row.integer(0)) }
    }
    for row in rows {
      try database.prepared("DELETE FROM tombstone WHERE rowid = ?").bind(1, row).run()
    }
    for note in export.notes {
      try database.prepared("INSERT INTO tombstone VALUES (?, ?, ?, ?, ?, ?)")
        .bind(1, String(decoding: note.name.scope, as: UTF8.self))
        .bind(2, String(decoding: note.name.key, as: UTF8.self)).bind(3, note.dot.author.bytes)
        .bind(4, note.dot.usn).bind(5, note.deleting.author.bytes).bind(6, note.deleting.usn).run()
    }
  }
}
