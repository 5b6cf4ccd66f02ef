package import LLVSCore
import Platform

/// Merges two values with a command of this store's settings, like a merge driver of git.
///
/// `sh` runs the command with three files: `$1` base, `$2` first side, `$3` second (appended if it names none); the
/// result is in `$2`. Names and bytes never become shell input. After a failure, a timeout, too many bytes or an
/// irregular file the value stored last wins. Replicas get equal merges only if their commands do. The store's
/// write lock is held for ``patience`` at most, twice in one merge at most.
package struct CommandArbiter: ClashArbiter {
  package static let patience: UInt64 = 10_000_000_000
  package static let maximumLength = 16 << 20
  private let command: String
  private let fallback: MostRecentChangeClashArbiter
  private let store: Store
  private let patience: UInt64
  private let trials: ArbiterTrials
  private let lacked: LackedBytes?
  private let isCancelled: @Sendable () -> Bool

  /// `isCancelled` ends a running command.
  package init(
    _ command: String, _ graph: VersionGraph, _ store: Store,
    patience: UInt64 = CommandArbiter.patience, trials: ArbiterTrials = ArbiterTrials(),
    lacked: LackedBytes? = nil,
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) {
    self.isCancelled = isCancelled
    self.lacked = lacked
    self.command = command
    self.patience = patience
    self.trials = trials
    self.store = store
    fallback = MostRecentChangeClashArbiter(graph: graph)
  }

  /// - Throws: ``StoreError/cancelled`` if the caller cancelled.
  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    let merged = clash.mayMergeContent ? try merged(clash) : nil
    if isCancelled() { throw .cancelled }
    guard let bytes = merged else { return try fallback.decide(clash) }
    return .bytes(bytes, kind: .regular, dropping: [])
  }

  private func merged(_ clash: MergeClash) throws(StoreError) -> [UInt8]? {
    guard let first = clash.first, let second = clash.second else { return nil }
    var contents: [[UInt8]] = clash.base == nil ? [[]] : []
    var isWhole = true
    for entry in [clash.base, first, second].compactMap(\.self) {
      guard entry.kind == .regular, entry.stored.length <= UInt64(Self.maximumLength) else {
        return nil
      }
      do throws(StoreError) {
        contents.append(
          try store.contents.bytes(entry.stored, atMost: UInt64(Self.maximumLength)))
      } catch {
        guard error.isForgotten else { throw error }
        guard let bytes = lacked?.bytes(of: entry) else {
          isWhole = false
          continue
        }
        contents.append(bytes)
      }
    }
    guard isWhole else { return nil }
    let path = KeyCoding.path(of: clash.key) ?? clash.key.bytes
    guard trials.mayAsk(command, of: path) else { return nil }
    let answer: Answer
    do throws(SystemError) {
      answer = try run(contents)
    } catch {
      // A command that cannot be run must not prevent merging the other values.
      answer = .failure("could not be run: \(error)", isHopeless: true)
    }
    switch answer {
    case .bytes(let bytes): return bytes
    case .failure(let reason, let isHopeless):
      if !isCancelled() { trials.fail(command, on: path, reason, isHopeless: isHopeless) }
      return nil
    }
  }

  private enum Answer {
    case bytes([UInt8])
    /// A clause that follows the command's name; hopeless if it would fail on other values too.
    case failure(String, isHopeless: Bool)
  }

  /// Returns the first line of a program's output with a colon before it, or "" if it wrote nothing.
  private static func quoted(_ said: [UInt8]) -> String {
    let line = said.split(separator: 0x0A).first ?? []
    let text = String(decoding: line.prefix(200), as: UTF8.self).unicodeScalars
      .filter { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
    return text.isEmpty ? "" : ": \(String(String.UnicodeScalarView(text)))"
  }

  /// True if a command names its files itself, or is more than one program with arguments.
  private static func namesFiles(_ command: String) -> Bool {
    if command.contains(where: { ";&|<>\n".contains($0) }) { return true }
    return command.contains(/\$\{?[123@*]/)
  }

  private func run(_ contents: [[UInt8]]) throws(SystemError) -> Answer {
    let directory = "\(store.path)/merge-\(UInt64.random(in: 0...UInt64.max))"
    try FileSystem.makeDirectory(directory, permissions: 0o700)
    defer { try? FileSystem.removeTree(directory) }
    var paths: [String] = []
    for (name, bytes) in zip(["base", "first", "second"], contents) {
      let path = "\(directory)/\(name)"
      try File(path, [.readWrite, .create, .exclusive]).write(bytes, at: 0)
      paths.append(path)
    }
    // The shell's own limit, in blocks of 512 bytes, on every file that the command writes.
    let files = Self.namesFiles(command) ? "" : " \"$1\" \"$2\" \"$3\""
    let script = "ulimit -f \(Self.maximumLength / 512)\n\(command)\(files)"
    let ending = try ChildProcess.run(
      ["/bin/sh", "-c", script, "llvs-merge"] + paths, patience: patience, isGivenUp: isCancelled)
    guard let code = ending.code else {
      return .failure("took longer than \(patience / 1_000_000_000) s", isHopeless: true)
    }
    guard code == 0 else {
      // sh(1): 126 for a file that is no program, 127 for a program that is not found.
      return .failure(
        "ended with \(code)\(Self.quoted(ending.said))", isHopeless: code == 126 || code == 127)
    }
    // The command may have made any kind of file: a link is no result, and reading a FIFO would never end.
    guard (try? FileSystem.status(paths[1], following: false))?.kind == .regular else {
      return .failure("left no file", isHopeless: false)
    }
    return .bytes(try FileSystem.read(paths[1], atMost: Self.maximumLength))
  }
}
