import Grammar
import Platform

/// An archive for tar(1) to import.
struct Archive {
  private static let endings = [
    ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz", ".tar.zst",
  ]

  private let path: String

  init?(path: String) {
    guard Self.endings.contains(where: { path.hasSuffix($0) }),
      (try? FileSystem.status(path).kind) == .regular
    else { return nil }
    self.path = path
  }

  /// Unpacks the archive into a directory that exists only while `body` runs.
  /// - Throws: ``ControlError`` of kind damaged if tar(1) cannot read it.
  func unpacked<R>(_ body: ([UInt8]) throws -> R) throws -> R {
    guard SystemProcess.isInstalled("tar") else {
      throw ControlError(.notFound, "tar is not installed, which unpacks archives")
    }
    let directory = "\(SystemProcess.temporaryDirectory)/llvs-import-\(SystemRandom.hex(8))"
    try FileSystem.makeDirectory(directory, permissions: 0o700)
    defer { try? FileSystem.removeTree(directory) }
    // Below the directory, whose own mode may be that of the archive's top.
    let files = "\(directory)/files"
    try FileSystem.makeDirectory(files, permissions: 0o755)
    let code = try ChildProcess.run([
      "tar", "--extract", "--file", try FileSystem.resolve(path), "--directory", files,
      "--xattrs", "--xattrs-include=user.*", "--force-local",
    ])
    guard code == 0 else {
      throw ControlError(.damaged, "\(path) was not imported: tar ended with \(code)")
    }
    return try body(Array(files.utf8))
  }
}
