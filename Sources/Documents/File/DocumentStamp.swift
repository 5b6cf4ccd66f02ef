package import Platform

/// No program has written a file while its stamp is equal.
package struct DocumentStamp: Hashable, Sendable {
  private let file: FileStatus.Identity
  private let size: UInt64
  private let seconds: Int64
  private let nanoseconds: UInt32
  /// SQLite's counter of changes, in bytes 24 to 27 of the file; nil in a shorter file.
  private let counter: UInt32?

  package init(_ file: File) throws(SystemError) {
    let status = try file.status()
    self.file = status.identity
    size = status.size
    seconds = status.modifiedSeconds
    nanoseconds = status.modifiedNanoseconds
    let bytes = try file.read(4, at: 24)
    counter = bytes.count == 4 ? bytes.reduce(0) { $0 << 8 | UInt32($1) } : nil
  }

  /// Nil if there is no file.
  package init?(path: String) throws(SystemError) {
    guard try FileSystem.exists(path) else { return nil }
    self = try DocumentStamp(try File(path, .read))
  }
}
