package import Inodes
package import LLVSCore

/// The properties that must be equal for a file to keep its inode number when a new head comes: kind, bytes
/// and device. Attributes may differ.
package struct FileIdentity: Hashable, Sendable {
  private let kind: EntryKind
  private let length: UInt64
  private let digest: Digest
  private let device: Attributes.Device?

  /// The identity of a value.
  package init(_ entry: Entry) {
    kind = entry.kind
    length = entry.stored.length
    digest = entry.stored.digest
    device = entry.attributes.device
  }

  /// The identity of a recorded file.
  package init(_ record: InodeRecord) {
    kind = record.kind
    length = record.stored.length
    digest = record.stored.digest
    device = record.attributes.device
  }
}
