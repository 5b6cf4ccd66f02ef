import LLVSCore

@testable import Documents

/// A document in memory, as a phone or a synchronised folder has it.
final class PlayedDocument {
  struct Row: Hashable {
    var usn: Int64
    var bytes: [UInt8]?
    var time: Int64
  }

  struct Note: Hashable {
    var key: Int
    var dot: DocumentDot
    var deleting: DocumentDot
  }

  struct Content: Equatable {
    var vector: [DocumentAuthor: Int64] = [:]
    var rows: [Int: [DocumentAuthor: Row]] = [:]
    var notes: Set<Note> = []
    var known: Set<Int> = []

    /// What makes a difference to anybody.
    var visible: [Int: [DocumentAuthor: Row]] { rows.filter { !$0.value.isEmpty } }

    static func == (a: Content, b: Content) -> Bool {
      a.vector == b.vector && a.visible == b.visible
    }
  }

  var content = Content()

  func covers(_ dot: DocumentDot) -> Bool { (content.vector[dot.author] ?? 0) >= dot.usn }

  func write(
    _ key: Int, _ lines: [String]?, by author: DocumentAuthor, at time: Int64, in world: PlayedWorld
  ) {
    let usn = (content.vector[author] ?? 0) + 1
    content.vector[author] = usn
    let dot = DocumentDot(author: author, usn: usn)
    let event = world.add(key, lines.map(Set.init), known: content.known)
    world.name(event, dot)
    for (other, row) in content.rows[key] ?? [:] where other != author {
      content.notes.insert(
        Note(key: key, dot: DocumentDot(author: other, usn: row.usn), deleting: dot))
      content.rows[key]?[other] = nil
    }
    content.rows[key, default: [:]][author] = Row(
      usn: usn, bytes: lines.map(PlayedKeys.bytes), time: time)
    content.known.insert(event)
  }

  /// Merges as the original does: it drops notes of what it never saw.
  func mergeAsOriginal(_ other: PlayedDocument) {
    let theirs = other.content
    let ahead = theirs.vector.filter { $0.value > content.vector[$0.key] ?? 0 }
    let before = content.vector
    for (author, usn) in theirs.vector {
      content.vector[author] = max(usn, content.vector[author] ?? 0)
    }
    for note in theirs.notes
    where ahead[note.deleting.author] != nil
      && note.deleting.usn > before[note.deleting.author] ?? 0
    {
      if let row = content.rows[note.key]?[note.dot.author], row.usn <= note.dot.usn {
        content.rows[note.key]?[note.dot.author] = nil
        content.notes.insert(note)
      }
    }
    for (key, rows) in theirs.rows {
      for (author, row) in rows where ahead[author] != nil && row.usn > before[author] ?? 0 {
        content.rows[key, default: [:]][author] = row
        content.notes = content.notes.filter {
          !($0.key == key && $0.dot.author == author && $0.dot.usn < row.usn)
        }
      }
    }
    content.known.formUnion(theirs.known)
  }

  /// Merges as the library of this package does.
  func merge(_ other: PlayedDocument) {
    let theirs = other.content
    for key in Set(content.rows.keys).union(theirs.rows.keys) {
      let (a, b) = (content.rows[key] ?? [:], theirs.rows[key] ?? [:])
      var joined: [DocumentAuthor: Row] = [:]
      for (author, row) in a where b[author]?.usn == row.usn || theirs.vector[author] ?? 0 < row.usn
      {
        joined[author] = row
      }
      for (author, row) in b where content.vector[author] ?? 0 < row.usn { joined[author] = row }
      content.rows[key] = joined
    }
    for (author, usn) in theirs.vector {
      content.vector[author] = max(usn, content.vector[author] ?? 0)
    }
    content.known.formUnion(theirs.known)
  }

  // MARK: As the package reads and writes it

  var snapshot: DocumentSnapshot {
    var entries: [DocumentSnapshot.Entry] = []
    var bytes: [DocumentName: [DocumentAuthor: [UInt8]]] = [:]
    for (key, rows) in content.rows {
      let name = PlayedKeys.name(key)
      for (author, row) in rows {
        entries.append(
          DocumentSnapshot.Entry(
            name: name, dot: DocumentDot(author: author, usn: row.usn),
            type: row.bytes == nil ? .null : .text, time: row.time, row: 0))
        bytes[name, default: [:]][author] = row.bytes
      }
    }
    return DocumentSnapshot(
      authors: content.vector.map { .init(id: $0.key, name: Array("phone".utf8), usn: $0.value) }
        .sorted { $0.id < $1.id },
      entries: entries.sorted { ($0.name, $0.dot) < ($1.name, $1.dot) },
      bytes: { (entry: DocumentSnapshot.Entry) throws(StoreError) in
        bytes[entry.name]?[entry.dot.author] ?? []
      })
  }

  func apply(_ export: DocumentExport, from store: Store, known: Set<Int>) throws {
    for author in export.authors { content.vector[author.id] = author.usn }
    for removal in export.removals {
      content.rows[PlayedKeys.index(removal.name)]?[removal.dot.author] = nil
    }
    for value in export.values {
      let bytes = try value.file.map { try store.contents.bytes($0.stored) }
      content.rows[PlayedKeys.index(value.name), default: [:]][value.value.dot.author] = Row(
        usn: value.value.dot.usn, bytes: bytes, time: value.value.time)
    }
    for note in export.notes {
      let key = PlayedKeys.index(note.name)
      content.notes = content.notes.filter { !($0.key == key && $0.dot.author == note.dot.author) }
      content.notes.insert(Note(key: key, dot: note.dot, deleting: note.deleting))
    }
    content.known.formUnion(known)
  }
}
