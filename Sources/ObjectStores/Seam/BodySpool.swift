internal import Platform

/// Collects the bytes of an object that is to be put, with their hash: in memory while they are few, else in a
/// file without a name.
///
/// - Concurrency: for one thread at a time.
package final class BodySpool {
  private let directory: String
  private let memoryLimit: Int
  private var bytes: [UInt8] = []
  private var file: File?
  private var run = SHA256Hashing()
  /// In bytes.
  package private(set) var length: UInt64 = 0

  /// Creates an empty one.
  ///
  /// - Parameters:
  ///   - directory: a directory of this machine for the file.
  ///   - memoryLimit: more bytes than this are in the file.
  package init(directory: String, memoryLimit: Int = 1 << 18) {
    self.directory = directory
    self.memoryLimit = memoryLimit
  }

  /// Adds bytes.
  ///
  /// - Throws: ``RemoteError`` of kind `local` where there is no room.
  package func append(_ piece: UnsafeRawBufferPointer) throws(RemoteError) {
    run.add(piece)
    bytes += piece
    length += UInt64(piece.count)
    if bytes.count > memoryLimit { try spill() }
  }

  private func spill() throws(RemoteError) {
    do throws(SystemError) {
      let file: File
      if let known = self.file {
        file = known
      } else {
        let path = "\(directory)/outgoing-\(SystemRandom.hex(8)).tmp"
        file = try File(path, [.readWrite, .create, .exclusive], permissions: 0o600)
        try FileSystem.unlink(path)
        self.file = file
      }
      try file.write(bytes, at: length - UInt64(bytes.count))
    } catch {
      throw RemoteError(error)
    }
    bytes.removeAll(keepingCapacity: true)
  }

  /// The object's bytes; none may be added any more.
  ///
  /// - Throws: as ``append(_:)``.
  package func body() throws(RemoteError) -> ObjectBody {
    guard file != nil else { return ObjectBody(bytes, length: length, hash: run.finish()) }
    if !bytes.isEmpty { try spill() }
    guard let file else { preconditionFailure("a file that was made stays") }
    return ObjectBody(file, length: length, hash: run.finish())
  }
}
