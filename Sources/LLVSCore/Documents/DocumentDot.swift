internal import Platform

/// The id of an author in documents: 16 bytes, compared as bytes.
package struct DocumentAuthor: Hashable, Comparable, Sendable, CustomStringConvertible {
  private let high: UInt64
  private let low: UInt64

  package init?(bytes: some Collection<UInt8>) {
    let words = Array(bytes).parsed { reader -> (UInt64, UInt64)? in
      guard let high = reader.integer(UInt64.self), let low = reader.integer(UInt64.self) else {
        return nil
      }
      return (high, low)
    }
    guard let words else { return nil }
    (high, low) = words
  }

  /// The author of a version writer's writes in the documents of a directory (docs/documents.md, "Whose write it
  /// is"): a UUID of version 8 made of a hash of both.
  package init(writer: [UInt8], directory: DocumentDirectory) {
    var hasher = SHA256Hasher()
    for part in [Array("llvs document author 1".utf8), writer, directory.path] {
      hasher.update(bigEndian: UInt32(part.count))
      hasher.update(part)
    }
    let words = hasher.finish().words
    high = words.0 & ~0xF000 | 0x8000
    low = words.1 & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
  }

  /// True if it may be a writer of versions: ids that programs make at random are UUIDs of another version.
  package var isOfWriter: Bool { high & 0xF000 == 0x8000 }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: high)
    bytes.append(bigEndian: low)
    return bytes
  }

  /// The id as UUIDs are written.
  package var description: String {
    let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
    return groups.map { bytes[$0].hex.uppercased() }.joined(separator: "-")
  }

  package static func < (a: DocumentAuthor, b: DocumentAuthor) -> Bool {
    (a.high, a.low) < (b.high, b.low)
  }
}

/// The name of one write of one key: who wrote it, and the author's number for the write.
package struct DocumentDot: Hashable, Comparable, Sendable {
  package var author: DocumentAuthor
  /// The number; the author's later writes have greater ones.
  package var usn: Int64

  package init(author: DocumentAuthor, usn: Int64) {
    self.author = author
    self.usn = usn
  }

  /// The dot of a version's write (docs/documents.md, "Whose write it is"). It is computed from the version alone,
  /// so no dot is given twice even if documents or stores are lost.
  ///
  /// The writer is the value of ``Version/MetadataKey/writer`` in the version's metadata, else the version's id.
  package init(of node: HistoryNode, writer: String?, in directory: DocumentDirectory) {
    let name = writer ?? node.id.rawValue
    author = DocumentAuthor(writer: Array(name.utf8), directory: directory)
    usn = Self.usn(of: node)
  }

  /// The number of a version's writes; its first bits are the version's generation.
  package static func usn(of node: HistoryNode) -> Int64 {
    let hash = Digest.of(Array(node.id.rawValue.utf8)).words.0 >> 40
    return Int64(node.generation) << 24 | Int64(hash)
  }

  package static func < (a: DocumentDot, b: DocumentDot) -> Bool {
    (a.author, a.usn) < (b.author, b.usn)
  }
}
