/// The pending changes of the working tree, for one search.
package struct SearchPending: Sendable {
  /// A file that differs from the head's.
  struct File: Sendable {
    var path: [UInt8]
    var text: String?
    /// In seconds since 1970.
    var time: Int64
  }

  /// The files are held in memory up to this many bytes in all.
  package static let limit = 64 << 20

  private(set) var files: [File] = []
  private(set) var gone: [[UInt8]] = []
  private var size = 0
  /// The files that were too much to hold; they are not searched.
  package private(set) var left: [[UInt8]] = []

  /// Starts with a tree that is as its head.
  package init() {}

  /// True if the tree is as its head.
  package var isEmpty: Bool { files.isEmpty && gone.isEmpty && left.isEmpty }

  /// Adds a path at which the head's file, or all files below it, are replaced or gone.
  package mutating func hide(_ path: [UInt8]) { gone.append(path) }

  /// Adds a file, which hides the head's of the same path.
  ///
  /// - Parameters:
  ///   - path: the path in the tree.
  ///   - length: its length in bytes.
  ///   - time: its mtime, in seconds since 1970.
  ///   - isCut: true if `bytes` gives only the beginning of the file.
  ///   - bytes: reads it; called only if there is room, nil if the file has gone.
  /// - Throws: what `bytes` throws.
  package mutating func add<E: Error>(
    _ path: [UInt8], length: UInt64, time: Int64, isCut: Bool = false,
    bytes: () throws(E) -> [UInt8]?
  ) throws(E) {
    gone.append(path)
    guard length <= UInt64(Self.limit - size) else {
      left.append(path)
      return
    }
    guard let bytes = try bytes() else { return }
    size += bytes.count
    files.append(File(path: path, text: SearchText.text(bytes, isCut: isCut), time: time))
  }
}
