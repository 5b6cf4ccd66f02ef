import Platform

/// A directory copied into a mounted tree by cp(1): the kernel must see every name, so the files come in as
/// any others do.
///
/// What is named `.llvs` stays behind, at every level: in a mount each directory has one, through which
/// commands are given, so a copy into it would carry out what the directory says.
struct MountedImport {
  static let reserved = Array(".llvs".utf8)

  private let directory: [UInt8]
  private let target: [UInt8]
  /// What is copied, relative to the directory; empty where that is copied as a whole.
  private var pieces: [[UInt8]] = []
  /// The directories that are not copied as a whole, relative, those above first.
  private var split: [[UInt8]] = []
  /// The paths that were not copied.
  private(set) var leftOut: [[UInt8]] = []

  init(directory: String, target: String) {
    self.directory = Array(directory.utf8)
    self.target = Array(target.utf8)
  }

  /// Copies.
  ///
  /// - Throws: ``UsageError`` where cp(1) fails.
  mutating func run() throws {
    let whole = [0x2E] as [UInt8]
    pieces = try scan(whole) ?? []
    guard !leftOut.isEmpty else {
      return try copy(["cp", "-a", "--"].map { Array($0.utf8) }, [directory + [0x2F, 0x2E]])
    }
    split.sort { $0.count < $1.count }
    for path in split {
      do throws(SystemError) {
        try FileSystem.makeDirectory(target + [0x2F] + path)
      } catch {
        guard error.errno == Errno.exists else { throw error }
      }
    }
    // One process, where its arguments have room: it knows hard links among all that it copies.
    let command =
      ["env", "-C"].map { Array($0.utf8) } + [directory]
      + ["cp", "-a", "--parents", "--"].map { Array($0.utf8) }
    var batch: [[UInt8]] = []
    var size = 0
    for piece in pieces {
      batch.append(piece)
      size += piece.count + 9
      guard size > 500_000 else { continue }
      try copy(command, batch)
      (batch, size) = ([], 0)
    }
    if !batch.isEmpty { try copy(command, batch) }
    for path in split.reversed() { try copyAttributes(of: path) }
  }

  private func copy(_ command: [[UInt8]], _ sources: [[UInt8]]) throws {
    let code = try ChildProcess.run(bytes: command + sources + [target + [0x2F]])
    guard code == 0 else { throw UsageError("cp ended with \(code)") }
  }

  /// What of a directory is copied; nil if all of it.
  private mutating func scan(_ path: [UInt8]) throws -> [[UInt8]]? {
    var found: [[UInt8]] = []
    var isWhole = true
    for name in try FileSystem.names(in: directory + [0x2F] + path) {
      let below = path + [0x2F] + name.bytes
      guard name.bytes != Self.reserved else {
        leftOut.append(directory + below.dropFirst())
        isWhole = false
        continue
      }
      if name.kind == .directory, let parts = try scan(below) {
        found += parts
        isWhole = false
      } else {
        found.append(below)
      }
    }
    guard !isWhole else { return nil }
    split.append(path)
    return found
  }

  private func copyAttributes(of path: [UInt8]) throws {
    let (source, copy) = (directory + [0x2F] + path, target + [0x2F] + path)
    // The directory that is imported may be named by a link.
    let status = try FileSystem.status(source + [0x2F])
    // As cp -a: who may not give files away keeps them.
    do throws(SystemError) {
      try FileSystem.setOwner(copy, uid: status.uid, gid: status.gid)
    } catch {
      guard error.errno == Errno.operationNotPermitted else { throw error }
    }
    try FileSystem.setMode(copy, status.mode)
    try FileSystem.setModified(
      copy, seconds: status.modifiedSeconds, nanoseconds: status.modifiedNanoseconds)
  }
}
