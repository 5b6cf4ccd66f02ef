/// The kind of a value or directory; the raw values are those of digest 1 and never change.
public enum EntryKind: UInt8, Hashable, Sendable, CaseIterable {
  /// A regular file.
  case regular = 0
  /// A symbolic link; its bytes are its target.
  case symlink = 1
  /// A FIFO.
  case fifo = 2
  /// A socket.
  case socket = 3
  /// A character device.
  case characterDevice = 4
  /// A block device.
  case blockDevice = 5
  /// A directory, from mkdir to rmdir, empty or not.
  case directory = 6
}
