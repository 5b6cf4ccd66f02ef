package import LLVSCore

/// A value that a directory keeps from its own name.
package struct DisplacedValue: Sendable {
  /// Where the tree shows it.
  package var path: [UInt8]
  /// Its own path, which the directory has.
  package var directory: [UInt8]
  package var entry: Entry

  package init(path: [UInt8], directory: [UInt8], entry: Entry) {
    self.path = path
    self.directory = directory
    self.entry = entry
  }
}
