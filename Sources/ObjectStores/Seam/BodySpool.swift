internal import Platform

/// Collects the bytes of an object with their hash: in memory up to a limit, else in an unnamed file.
/// - Concurrency: for one thread at a time.
package final class BodySpool {
  private let directory: String
  private let memoryLimit: Int
  private var bytes: [UInt8] = []
  private var file: File?
  private var run = SHA256Hashing()
  package private(set) var length: UInt64 = 0

  /// More than `memoryLimit` bytes are in a file in `directory`.
  package init(directory: String, memoryLimit: Int = 1 << 18) {
    self.directory = directory
    self.memoryLimit = memoryLimit
  }

  /// - Throws: ``RemoteError`` of kind `local` if there is no room.
  package func append(_ piece: UnsafeRawBufferPointer) throws(RemoteError) {
    run.add(piece)
    bytes += piece
    length += UInt64(piece.count)
    if bytes.count > memoryLimit { try spill() }
  }

  private func spill() throws(RemoteError) {
    try RemoteError.wrapping { () throws(SystemError) in
      let file =
        if let known = self.file { known } else {
          try File.unnamed("\(directory)/outgoing-\(SystemRandom.hex(8)).tmp")
        }
      self.file = file
      try file.write(bytes, at: length - UInt64(bytes.count))
    }
    bytes.removeAll(keepingCapacity: true)
  }

  package func body() throws(RemoteError) -> ObjectBody {
    guard file != nil else { return ObjectBody(bytes, length: length, hash: run.finish()) }
    if !bytes.isEmpty { try spill() }
    guard let file else { preconditionFailure("a file that was made stays") }
    return ObjectBody(file, length: length, hash: run.finish())
  }
}
