package import Inodes
package import LLVSCore

/// The properties with which a file keeps its inode number under a new head: kind, bytes and device, not
/// attributes.
package struct FileIdentity: Hashable, Sendable {
  private let kind: EntryKind
  private let length: UInt64
  private let digest: Digest
  private let device: Attributes.Device?

  package init(_ entry: Entry) {
    kind = entry.kind
    length = entry.stored.length
    digest = entry.stored.digest
    device = entry.attributes.device
  }

  package init(_ record: InodeRecord) {
    kind = record.kind
    length = record.stored.length
    digest = record.stored.digest
    device = record.attributes.device
  }
}
