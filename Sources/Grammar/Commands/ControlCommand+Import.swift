extension ControlCommand {
  /// The arguments of `import`.
  package struct Import: Hashable, Sendable {
    /// The source of the import.
    package enum Source: Hashable, Sendable {
      /// A KeyValueCRDT document: `kvcrdt:/PATH#DIRECTORY`.
      case document(String)
      /// A directory outside of the tree; its absolute path.
      case directory([UInt8])
    }

    /// The source of the import.
    package var source: Source
    /// The directory of the tree that a directory's files go to; empty for its top.
    package var into: [UInt8] = []
    /// The version that the new one is based on; nil for the head.
    package var base: String?
    /// The device and the inode that the caller sees the directory by, which another container may see as
    /// another directory; nil if that makes no difference.
    package var identity: [UInt64]?
    /// The message of the new version.
    package var message: String?
    /// True if a document of other data is taken.
    package var isUnrelated = false

    /// Creates the arguments.
    package init(source: Source) {
      self.source = source
    }
  }
}
