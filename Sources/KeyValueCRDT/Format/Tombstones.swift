internal import Foundation
internal import SQLite

/// The notes about removed versions, for the original library.
///
/// The original removes a version when it finds a note of a write that it does not know yet. So notes are passed
/// on, even about versions that were never here: for each author of a key the one with the greatest number.
struct Tombstones {
  private struct Subject: Hashable {
    var key: ScopedKey
    var author: UUID
  }

  private struct Note {
    var usn: Int64
    var deleting: Dot
  }

  private var notes: [Subject: Note] = [:]
  /// The numbers of arriving versions, which make notes about older ones superfluous.
  private var arriving: [Subject: Int64] = [:]

  /// Collects the source's notes that the receiver lacks and those of versions that it removes, and makes missing
  /// ones. The vector is the receiver's before the merge.
  init(_ join: Join, _ vector: VersionVector, from source: Connection) throws {
    var removed: [Subject: Int64] = [:]
    for removal in join.removals {
      removed[Subject(key: removal.key, author: removal.dot.author)] = removal.dot.usn
    }
    for arrival in join.arrivals {
      arriving[Subject(key: arrival.key, author: arrival.dot.author)] = arrival.dot.usn
    }
    try source.sqlite.all(
      "SELECT scope, key, authorId, usn, deletingAuthorId, deletingUsn FROM tombstone"
    ) { statement in
      let deleting = Dot(author: try statement.author(4), usn: statement.integer(5))
      let isNew = !vector.covers(deleting)
      guard isNew || !removed.isEmpty else { return }
      let subject = Subject(
        key: statement.scopedKey(0, 1), author: try statement.author(2))
      guard isNew || removed[subject] != nil else { return }
      add(Note(usn: statement.integer(3), deleting: deleting), about: subject)
    }
    try addMissing(removed, from: source)
  }

  /// A write of the same key removed a version that has no note.
  private mutating func addMissing(_ removed: [Subject: Int64], from source: Connection) throws {
    for (subject, usn) in removed where (notes[subject]?.usn ?? 0) < usn {
      let statement = try source.sqlite.prepared(
        "SELECT authorId, usn FROM entry WHERE scope = ? AND key = ? ORDER BY usn DESC"
      ).bind(1, subject.key.scope).bind(2, subject.key.key)
      defer { statement.reset() }
      while try statement.step() {
        let author = try statement.author(0)
        guard author != subject.author else { continue }
        add(
          Note(usn: usn, deleting: Dot(author: author, usn: statement.integer(1))), about: subject)
        break
      }
    }
  }

  private mutating func add(_ note: Note, about subject: Subject) {
    guard note.usn > (arriving[subject] ?? 0) || arriving[subject] == nil else { return }
    guard note.usn > (notes[subject]?.usn ?? -1) else { return }
    notes[subject] = note
  }

  /// Updates the receiver's notes after its entries.
  func apply(to receiver: Connection) throws {
    guard !notes.isEmpty || !arriving.isEmpty else { return }
    var notes = notes
    var obsolete: [Int64] = []
    try receiver.sqlite.all("SELECT scope, key, authorId, usn, rowid FROM tombstone") { present in
      let subject = Subject(key: present.scopedKey(0, 1), author: try present.author(2))
      let usn = present.integer(3)
      if let arrived = arriving[subject], usn < arrived {
        obsolete.append(present.integer(4))
      } else if let note = notes[subject] {
        if note.usn > usn {
          obsolete.append(present.integer(4))
        } else {
          notes[subject] = nil
        }
      }
    }
    for row in obsolete {
      try receiver.sqlite.prepared("DELETE FROM tombstone WHERE rowid = ?").bind(1, row).run()
    }
    for (subject, note) in notes {
      try receiver.sqlite.prepared(
        """
        INSERT INTO tombstone (scope, key, authorId, usn, deletingAuthorId, deletingUsn)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6
        WHERE NOT EXISTS (
          SELECT 1 FROM entry WHERE scope = ?1 AND key = ?2 AND authorId = ?3 AND usn > ?4)
        """
      ).bind(1, subject.key.scope).bind(2, subject.key.key).bind(3, subject.author)
        .bind(4, note.usn).bind(5, note.deleting.author).bind(6, note.deleting.usn).run()
    }
  }
}
