internal import Platform
internal import Synchronization

/// Objects that appear whole in a directory: written next to it, synced together, and renamed.
final class DirectoryStaging: ObjectStaging {
  private struct State {
    var folders: [String: File] = [:]
    var unfinished: Set<String> = []
    var ready: [ObjectName: String] = [:]
    var number = 0
    /// The directory of the unfinished files; while it contains one, no process can remove it.
    var scratch: File
  }

  private let directory: DirectoryStore
  private let control: TransferControl
  // A leaf lock.
  private let state: Mutex<State>
  /// The longest time for removing unpublished files, in nanoseconds.
  private static let patience: UInt64 = 300_000_000

  init(_ directory: DirectoryStore, control: TransferControl) throws(RemoteError) {
    self.directory = directory
    self.control = control
    state = Mutex(State(scratch: try directory.openScratch()))
  }

  private final class Writing: StagedObject {
    private let staging: DirectoryStaging
    private let name: ObjectName
    private let path: String
    private let file: File
    private var offset: UInt64 = 0

    init(_ staging: DirectoryStaging, _ name: ObjectName, _ path: String) throws(RemoteError) {
      self.staging = staging
      self.name = name
      self.path = path
      file = try staging.created(path, for: name)
    }

    func checkRoom(for length: UInt64) throws(RemoteError) {
      do throws(SystemError) {
        guard try file.fileSystem().availableBytes < length else { return }
        throw SystemError(
          errno: Errno.noSpace, call: "\(DirectoryStore.needing)\(length)", subject: name.text)
      } catch {
        throw staging.directory.translated(error, name.text)
      }
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(RemoteError) {
      try staging.control.send(bytes.count)
      try staging.directory.translating(try file.write(bytes, at: offset), name.text)
      offset += UInt64(bytes.count)
    }

    func finish() {
      staging.state.withLock { state in
        state.unfinished.remove(path)
        state.ready[name] = path
      }
    }
  }

  func begin(_ name: ObjectName) throws(RemoteError) -> any StagedObject {
    try control.check()
    let path = state.withLock { state -> String in
      state.number += 1
      let path = "\(directory.token)-staged-\(state.number)"
      state.unfinished.insert(path)
      return path
    }
    return try Writing(self, name, path)
  }

  /// Creates an unfinished file, in a new directory if another use removed this one.
  private func created(_ path: String, for name: ObjectName) throws(RemoteError) -> File {
    let scratch = state.withLock { $0.scratch }
    do throws(SystemError) {
      return try DirectoryStore.created(path, in: scratch)
    } catch  where error.errno == Errno.noEntry {
    } catch {
      throw directory.translated(error, name.text)
    }
    let new = try directory.openScratch()
    let file = try directory.translating(
      try DirectoryStore.created(path, in: new), name.text)
    state.withLock { $0.scratch = new }
    return file
  }

  func publish(_ names: [ObjectName], replacing: Bool) throws(RemoteError) {
    try control.check()
    let (ready, scratch) = state.withLock { ($0.ready, $0.scratch) }
    // One call for all files, so that their bytes are durable before their names.
    try directory.translating(try scratch.syncFileSystem())
    var touched: [String: File] = [:]
    for name in names {
      guard let path = ready[name] else { continue }
      try control.check()
      let folder = try folder(name.folder)
      touched[name.folder] = folder
      try directory.translating(
        try move(path, from: scratch, to: name, in: folder, replacing: replacing), name.text)
      state.withLock { $0.ready[name] = nil }
    }
    for (name, folder) in touched { try directory.translating(try folder.sync(), name) }
  }

  private func folder(_ name: String) throws(RemoteError) -> File {
    if let known = state.withLock({ $0.folders[name] }) {
      try directory.checkFolder(name)
      return known
    }
    let folder = try directory.openFolder(name)
    state.withLock { $0.folders[name] = folder }
    return folder
  }

  private func move(
    _ path: String, from scratch: File, to name: ObjectName, in folder: File, replacing: Bool
  ) throws(SystemError) {
    if replacing { return try FileSystem.rename(path, in: scratch, to: name.last, in: folder) }
    do throws(SystemError) {
      try FileSystem.rename(path, in: scratch, to: name.last, in: folder, .exclusive)
    } catch {
      switch error.errno {
      case Errno.exists: try FileSystem.unlink(path, in: scratch)
      case Errno.invalid, Errno.notSupported, Errno.notImplemented:
        // This file system has no exclusive rename.
        if try FileSystem.exists("\(folder.path)/\(name.last)") {
          try FileSystem.unlink(path, in: scratch)
        } else {
          try FileSystem.rename(path, in: scratch, to: name.last, in: folder)
        }
      default: throw error
      }
    }
  }

  func abandon() {
    let (left, scratch) = state.withLock { state in
      defer { (state.ready, state.unfinished) = ([:], []) }
      return (Array(state.ready.values) + state.unfinished, state.scratch)
    }
    let end = SystemClock.monotonic() + Self.patience
    // The next use of the directory removes the remaining files.
    for path in left {
      guard SystemClock.monotonic() < end else { return }
      try? FileSystem.unlink(path, in: scratch)
    }
    try? FileSystem.removeDirectory(scratch.path)
  }
}
