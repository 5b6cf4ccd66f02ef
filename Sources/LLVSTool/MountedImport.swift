import FileTree
import Platform

/// A directory copied into a mounted tree: the kernel must see every name, so the files come in as any others
/// do.
///
/// What is named `.llvs` stays behind, at every level: in a mount each directory has one, through which
/// commands are given, so a copy into it would carry out what the directory says.
struct MountedImport {
  static let reserved = Array(".llvs".utf8)

  private let directory: [UInt8]
  private let target: [UInt8]
  private let sparesUnsaved: Bool
  /// The paths that were not copied.
  private(set) var leftOut: [[UInt8]] = []
  private var isDeep = false

  /// With `sparesUnsaved` nothing is copied where a file would be written over that somebody is still
  /// writing: no version holds its bytes.
  init(directory: [UInt8], target: [UInt8], sparesUnsaved: Bool) {
    self.directory = directory
    self.target = target
    self.sparesUnsaved = sparesUnsaved
  }

  /// Copies.
  ///
  /// - Throws: ``ControlError`` of kind busy for a file that is not saved; ``UsageError`` where cp(1) fails.
  mutating func run() throws {
    try look()
    guard leftOut.isEmpty, !isDeep else {
      var copy = TreeCopy(from: directory, to: target, without: Self.reserved)
      return try copy.run()
    }
    let code = try ChildProcess.run(
      bytes: ["cp", "-a", "--"].map { Array($0.utf8) }
        + [directory + [0x2F, 0x2E], target + [0x2F]])
    guard code == 0 else { throw UsageError("cp ended with \(code)") }
  }

  /// Looks for what cp(1) cannot leave out, and for paths that are too long for it.
  private mutating func look() throws {
    var open = [directory]
    while let path = open.popLast() {
      // A name may follow, on either side.
      let length = max(path.count, path.count - directory.count + target.count)
      if length > 3800 { isDeep = true }
      for name in try FileSystem.names(in: path) {
        let below = path + [0x2F] + name.bytes
        if name.bytes == Self.reserved {
          leftOut.append(below)
        } else if name.kind == .directory {
          open.append(below)
        } else if sparesUnsaved {
          try spare(below.dropFirst(directory.count))
        }
      }
    }
  }

  private func spare(_ path: ArraySlice<UInt8>) throws {
    // No answer: nothing is there, or it is of no kind that is being written.
    let state = try? FileSystem.extended(target + path, Array("user.llvs.state".utf8))
    guard let state, state.elementsEqual("unsaved".utf8) else { return }
    throw ControlError(.busy, "not saved yet: \(ChangeText.text(Array(path.dropFirst())))")
  }
}
