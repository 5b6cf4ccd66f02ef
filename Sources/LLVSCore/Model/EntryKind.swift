package import Platform

/// The kind of a value or directory; the raw values are those of digest 1 and never change.
package enum EntryKind: UInt8, Hashable, Sendable, CaseIterable {
  case regular = 0
  /// A symbolic link; its bytes are its target.
  case symlink = 1
  case fifo = 2
  case socket = 3
  case characterDevice = 4
  case blockDevice = 5
  /// A directory, from mkdir to rmdir, empty or not.
  case directory = 6

  /// The kind of a file in the file system; nil for other kinds.
  package init?(_ kind: FileStatus.Kind) {
    switch kind {
    case .regular: self = .regular
    case .symlink: self = .symlink
    case .fifo: self = .fifo
    case .socket: self = .socket
    case .characterDevice: self = .characterDevice
    case .blockDevice: self = .blockDevice
    case .directory: self = .directory
    case .unknown: return nil
    }
  }
}
