package import LLVSCore
internal import Platform

/// The content of a document at one moment; values are read on demand.
package struct DocumentSnapshot {
  package struct Author: Hashable, Sendable {
    package var id: DocumentAuthor
    package var name: [UInt8]
    package var usn: Int64
  }

  package struct Entry: Hashable, Sendable {
    package var name: DocumentName
    package var dot: DocumentDot
    package var type: DocumentType
    /// Milliseconds since 1970.
    package var time: Int64
    package var media: [UInt8]?
    package var row: Int64
  }

  /// In ascending order.
  package var authors: [Author]
  /// In ascending order of name and author.
  package var entries: [Entry]
  package var application: DocumentApplication?
  package var bytes: (Entry) throws(StoreError) -> [UInt8]

  package static var empty: DocumentSnapshot {
    DocumentSnapshot(authors: [], entries: []) { _ throws(StoreError) in [] }
  }

  package var vector: DocumentVector {
    var vector = DocumentVector()
    for author in authors {
      vector.add(author.id, DocumentVector.Knowledge(usn: author.usn, name: author.name))
    }
    return vector
  }

  /// - Complexity: O(log *n*).
  func entries(named name: DocumentName) -> ArraySlice<Entry> {
    let first = entries.partitioningIndex { !($0.name < name) }
    return entries[first...].prefix { $0.name == name }
  }
}

extension DocumentSnapshot.Entry {
  var value: DocumentValue {
    DocumentValue(
      dot: dot, holder: nil, isRemoval: type == .null, type: type.rawValue, time: time)
  }
}
