package import LLVS
import Platform

/// Merges bytes by a command of this store's settings, as merge drivers do.
///
/// The command is run by the shell with the paths of three files, `$1` the base, `$2` the first side and
/// `$3` the second, which stand behind its words where it names none itself; it leaves the result in `$2`
/// and ends with 0. Neither names nor bytes become part of
/// what the shell reads. Where it fails, takes too long or leaves too much, and where a side has no
/// bytes, the value stored last is taken. Only equal commands that give equal bytes keep replicas alike.
///
/// A store's write lock is held while it runs, no longer than ``patience``.
package struct CommandArbiter: ClashArbiter {
  /// How long a command may take, in nanoseconds.
  package static let patience: UInt64 = 10_000_000_000
  /// How much it is given of a value and may leave, in bytes.
  package static let maximumLength = 16 << 20

  private let command: String
  private let fallback: MostRecentChangeClashArbiter
  private let store: Store
  private let patience: UInt64
  private let isCancelled: @Sendable () -> Bool

  /// Creates an arbiter for values of a store; a command at work is ended when it is cancelled.
  package init(
    _ command: String, _ graph: VersionGraph, _ store: Store,
    patience: UInt64 = CommandArbiter.patience,
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) {
    self.isCancelled = isCancelled
    self.command = command
    self.patience = patience
    self.store = store
    fallback = MostRecentChangeClashArbiter(graph: graph)
  }

  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    let merged = try merged(clash)
    if isCancelled() { throw .cancelled }
    guard let bytes = merged else { return try fallback.decide(clash) }
    return .bytes(bytes, kind: .regular, dropping: [])
  }

  private func merged(_ clash: MergeClash) throws(StoreError) -> [UInt8]? {
    guard let first = clash.first, let second = clash.second else { return nil }
    var contents: [[UInt8]] = clash.base == nil ? [[]] : []
    for entry in [clash.base, first, second].compactMap(\.self) {
      guard entry.kind == .regular, entry.stored.length <= UInt64(Self.maximumLength) else {
        return nil
      }
      contents.append(
        try store.contents.bytes(entry.stored, atMost: UInt64(Self.maximumLength)))
    }
    do throws(SystemError) {
      return try run(contents)
    } catch {
      // What keeps the command from running keeps nothing else from being merged.
      return nil
    }
  }

  /// Whether a command says itself where its files stand, or is more than a program with its words.
  private static func namesFiles(_ command: String) -> Bool {
    if command.contains(where: { ";&|<>\n".contains($0) }) { return true }
    return command.contains(/\$\{?[123@*]/)
  }

  private func run(_ contents: [[UInt8]]) throws(SystemError) -> [UInt8]? {
    let directory = "\(store.path)/merge-\(UInt64.random(in: 0...UInt64.max))"
    try FileSystem.makeDirectory(directory, permissions: 0o700)
    defer { try? FileSystem.removeTree(directory) }
    var paths: [String] = []
    for (name, bytes) in zip(["base", "first", "second"], contents) {
      let path = "\(directory)/\(name)"
      try File(path, [.readWrite, .create, .exclusive]).write(bytes, at: 0)
      paths.append(path)
    }
    // The shell's own bound, in blocks of 512 bytes, on every file that the command writes.
    let files = Self.namesFiles(command) ? "" : " \"$1\" \"$2\" \"$3\""
    let script = "ulimit -f \(Self.maximumLength / 512)\n\(command)\(files)"
    let code = try ChildProcess.run(
      ["/bin/sh", "-c", script, "llvs-merge"] + paths, patience: patience, isGivenUp: isCancelled)
    guard code == 0 else { return nil }
    // The command may have put anything there: a link is no result, and a FIFO would never end.
    guard try FileSystem.status(paths[1], following: false).kind == .regular else { return nil }
    return try FileSystem.read(paths[1], atMost: Self.maximumLength)
  }
}
