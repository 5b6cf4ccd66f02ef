import Control
import Grammar
import Platform
import TreeNames

/// Brings a directory into a mounted tree.
///
/// The mount makes one version of it, so all files appear at once; this program copies ignored files, or all if the
/// mount cannot see the directory. Names `.llvs` are omitted at every level, because a copy into that directory
/// would run the files as commands.
struct MountedImport {
  private static let reserved = TreeImport.reserved
  private let directory: [UInt8]
  private let tree: MountView
  private let target: [UInt8]
  /// The path of the copy in the tree: empty, or with a slash at the end.
  private let prefix: [UInt8]
  private let sparesUnsaved: Bool
  private let patterns: IgnorePatterns
  private(set) var leftOut: [[UInt8]] = []
  /// The paths, in the tree, of copied files that the patterns match.
  private var ignored: [[UInt8]] = []
  private let isCancelled: @Sendable () -> Bool

  /// `patterns` are the tree's; with `sparesUnsaved` nothing is copied over a file that is still being written.
  init(
    directory: [UInt8], tree: MountView, into path: [UInt8], sparesUnsaved: Bool,
    patterns: IgnorePatterns, isCancelled: @escaping @Sendable () -> Bool
  ) throws(ControlError) {
    self.isCancelled = isCancelled
    self.directory = directory
    self.tree = tree
    let place = try tree.place(path)
    target = place.last == 0x2F ? place.dropLast() : place
    prefix = path.isEmpty ? [] : path + [0x2F]
    self.sparesUnsaved = sparesUnsaved
    self.patterns = patterns
  }

  func copy() throws {
    for end in prefix.indices where prefix[end] == 0x2F {
      guard let path = try? tree.place(Array(prefix[..<end])) else { continue }
      if try TreeCopy.kind(at: path) == nil {
        try FileSystem.makeDirectory(path, permissions: 0o755)
      }
    }
    try copy(nil)
  }

  /// Copies the files that are kept out of versions.
  func copyIgnored() throws {
    try copy { (path) throws(SystemError) in
      try TreeCopy.kind(at: path) == nil || Self.isFile(path, "scratch")
    }
  }

  private func copy(_ isWanted: (([UInt8]) throws(SystemError) -> Bool)?) throws {
    var copy = TreeCopy(
      from: directory, to: target, without: Self.reserved, isCancelled: isCancelled)
    do throws(SystemError) {
      try copy.run(isWanted)
    } catch {
      guard error.errno == Errno.interrupted, isCancelled() else { throw error }
      throw ControlError(
        .interrupted,
        isWanted == nil
          ? "interrupted; \(PrintableText.entries(copy.count)) are already in \(FileSystem.text(target)), and become "
            + "part of the next version unless you remove them"
          : "interrupted; the version is made, but not all ignored files are copied to \(FileSystem.text(target))"
      )
    }
  }

  func scratch() -> [[UInt8]] {
    ignored.filter { path in (try? tree.place(path)).map { Self.isFile($0, "scratch") } ?? false }
  }

  /// Searches for names that a copy omits or would fail at.
  /// - Throws: ``ControlError`` busy for an unsaved file, exists for a directory on one side only.
  mutating func examine() throws {
    var open = [(path: directory, isThere: try hasTarget())]
    while let (path, isThere) = open.popLast() {
      for name in try FileSystem.names(in: path) {
        let below = path + [0x2F] + name.bytes
        guard name.bytes != Self.reserved else {
          leftOut.append(below)
          continue
        }
        let place = below.dropFirst(directory.count)
        let known = isThere ? try TreeCopy.kind(at: target + place) : nil
        let isDirectory = name.kind == .directory
        if let known, (known == .directory) != isDirectory {
          throw ControlError(
            .exists,
            "\(PrintableText.text(inTree(place))) is \(isDirectory ? "not a" : "a") directory in the tree"
          )
        }
        if isDirectory {
          open.append((below, known != nil))
        } else {
          if known != nil, sparesUnsaved { try spare(place) }
          if patterns.ignores(path: inTree(place)) { ignored.append(inTree(place)) }
        }
      }
    }
  }

  /// False also for a file without the attribute, for example a removed one.
  private static func isFile(_ path: [UInt8], _ state: String) -> Bool {
    let held = try? FileSystem.extended(path, Array("user.llvs.state".utf8))
    return held?.elementsEqual(state.utf8) ?? false
  }

  private func hasTarget() throws -> Bool {
    for end in prefix.indices where prefix[end] == 0x2F {
      guard let path = try? tree.place(Array(prefix[..<end])) else { continue }
      guard let kind = try TreeCopy.kind(at: path) else { return false }
      guard kind == .directory else {
        throw ControlError(
          .exists, "\(PrintableText.text(Array(prefix[..<end]))) is not a directory in the tree")
      }
    }
    return true
  }

  private func inTree(_ place: ArraySlice<UInt8>) -> [UInt8] { prefix + place.dropFirst() }

  private func spare(_ place: ArraySlice<UInt8>) throws {
    guard Self.isFile(target + place, "unsaved") else { return }
    throw ControlError(.busy, "not saved yet: \(PrintableText.text(inTree(place)))")
  }
}
