package import LLVSCore

/// A value whose own path now belongs to a directory.
package struct DisplacedValue: Sendable {
  /// The path at which the tree shows the value.
  package var path: [UInt8]
  /// The value's own path, which is now the directory's.
  package var directory: [UInt8]
  package var entry: Entry

  package init(path: [UInt8], directory: [UInt8], entry: Entry) {
    self.path = path
    self.directory = directory
    self.entry = entry
  }
}
