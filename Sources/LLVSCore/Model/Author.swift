/// The author and the machine of a version: a part of its metadata.
package struct Author: Hashable, Sendable {
  package var name: String?
  package var machine: String?

  package init(name: String? = nil, machine: String? = nil) {
    self.name = name
    self.machine = machine
  }

  package init(_ metadata: Version.Metadata) {
    self.init(name: metadata[.author]?.value(), machine: metadata[.machine]?.value())
  }

  package func add(to metadata: inout Version.Metadata) {
    if let name { metadata[.author] = Version.MetadataValue(name) }
    if let machine { metadata[.machine] = Version.MetadataValue(machine) }
  }
}

extension Version.MetadataKey {
  package static let author = Version.MetadataKey("llvs.author")
  package static let machine = Version.MetadataKey("llvs.machine")
}
