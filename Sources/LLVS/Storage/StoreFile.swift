internal import Foundation
internal import LLVSCore
internal import Platform

enum StoreFile {
  private static let bound = 1 << 31

  /// Writes a file as a whole, by default durably, and makes the directories above it.
  static func write(_ data: Data, to file: URL, isDurable: Bool = true) throws {
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard isDurable else { return try data.write(to: file) }
    try translated { try FileSystem.replace(file.path, with: [UInt8](data)) }
  }

  static func read(_ file: URL) throws -> Data? {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try FileSystem.read(file.path, atMost: bound)
    } catch {
      if error.isAbsence { return nil }
      throw Store.Error(.system(error))
    }
    try refuseCompressed(bytes, in: file.path)
    return Data(bytes)
  }

  /// Refuses bytes in the frame `LLZF` that newer originals compress with LZFSE.
  static func refuseCompressed(_ bytes: some Sequence<UInt8>, in place: String) throws {
    guard bytes.starts(with: Array("LLZFbvx".utf8)) else { return }
    throw Store.Error.fromTheFuture(
      "\(place) is compressed with LZFSE, which cannot be read here; "
        + "let the program that wrote the store send it through an exchange")
  }
}
