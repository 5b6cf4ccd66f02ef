/// The author and the machine of a version: a part of its metadata.
package struct Author: Hashable, Sendable {
  /// Nil where it is not known.
  package var name: String?
  package var machine: String?

  package init(name: String? = nil, machine: String? = nil) {
    self.name = name
    self.machine = machine
  }

  /// The author and the machine that a version's metadata names.
  package init(_ metadata: Version.Metadata) {
    self.init(name: metadata[.author]?.value(), machine: metadata[.machine]?.value())
  }

  /// Says it of a version.
  package func add(to metadata: inout Version.Metadata) {
    if let name { metadata[.author] = Version.MetadataValue(name) }
    if let machine { metadata[.machine] = Version.MetadataValue(machine) }
  }
}

extension Version.MetadataKey {
  /// The author of the version: a JSON string.
  package static let author = Version.MetadataKey("llvs.author")
  /// The machine on which it was made: a JSON string.
  package static let machine = Version.MetadataKey("llvs.machine")
}
