package import LLVSCore

/// All that a document says, as it was at one moment; the values themselves are read when they are needed.
package struct DocumentSnapshot {
  /// A row of the list of authors.
  package struct Author: Hashable, Sendable {
    package var id: DocumentAuthor
    package var name: [UInt8]
    package var usn: Int64

    package init(id: DocumentAuthor, name: [UInt8], usn: Int64) {
      self.id = id
      self.name = name
      self.usn = usn
    }
  }

  /// A value of a key, or a removal.
  package struct Entry: Hashable, Sendable {
    package var name: DocumentName
    package var dot: DocumentDot
    package var type: DocumentType
    /// When it was written, in milliseconds since 1970.
    package var time: Int64
    /// The media type of a blob.
    package var media: [UInt8]?
    /// The row that holds its bytes.
    package var row: Int64

    package init(
      name: DocumentName, dot: DocumentDot, type: DocumentType, time: Int64, media: [UInt8]? = nil,
      row: Int64
    ) {
      self.name = name
      self.dot = dot
      self.type = type
      self.time = time
      self.media = media
      self.row = row
    }
  }

  /// The authors, in ascending order.
  package var authors: [Author]
  /// The values, in ascending order of name and author.
  package var entries: [Entry]
  /// The program that the document belongs to.
  package var application: DocumentApplication?
  /// Reads the bytes of a value.
  package var bytes: (Entry) throws(StoreError) -> [UInt8]

  package init(
    authors: [Author], entries: [Entry], application: DocumentApplication? = nil,
    bytes: @escaping (Entry) throws(StoreError) -> [UInt8]
  ) {
    self.authors = authors
    self.entries = entries
    self.application = application
    self.bytes = bytes
  }

  /// The document that was never written.
  package static var empty: DocumentSnapshot {
    DocumentSnapshot(authors: [], entries: []) { _ throws(StoreError) in [] }
  }

  /// True if it has neither values nor authors.
  package var isEmpty: Bool { authors.isEmpty && entries.isEmpty }

  /// The writes that the document knows.
  package var vector: DocumentVector {
    var vector = DocumentVector()
    for author in authors {
      vector.add(author.id, DocumentVector.Knowledge(usn: author.usn, name: author.name))
    }
    return vector
  }

  /// The values of one name.
  ///
  /// - Complexity: O(log *n*).
  func entries(named name: DocumentName) -> ArraySlice<Entry> {
    var low = entries.startIndex
    var high = entries.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return entries[low...].prefix { $0.name == name }
  }
}

extension DocumentSnapshot.Entry {
  /// The value, as states of versions have it.
  var value: DocumentValue {
    DocumentValue(
      dot: dot, holder: nil, isRemoval: type == .null, type: type.rawValue, time: time)
  }
}
