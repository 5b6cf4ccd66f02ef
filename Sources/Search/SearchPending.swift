package struct SearchPending: Sendable {
  struct File: Sendable {
    var path: [UInt8]
    var text: String?
    /// In seconds since 1970.
    var time: Int64
  }

  /// The most bytes of files in memory.
  package static let limit = 64 << 20
  private(set) var files: [File] = []
  private(set) var gone: [[UInt8]] = []
  private var size = 0
  /// The files beyond the limit, which are not searched.
  package private(set) var left: [[UInt8]] = []

  /// The tree equals its head.
  package init() {}

  package var isEmpty: Bool { files.isEmpty && gone.isEmpty && left.isEmpty }

  /// Adds a path at which the head's files are replaced or gone.
  package mutating func hide(_ path: [UInt8]) { gone.append(path) }

  /// Adds a file, which hides the head's. `time` is in seconds since 1970; `bytes` is called only if there is room,
  /// and returns nil if the file was removed.
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
