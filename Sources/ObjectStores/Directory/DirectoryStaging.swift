internal import Platform
internal import Synchronization

/// Objects that appear whole in a directory: written beside it, made durable all at once, and renamed.
final class DirectoryStaging: ObjectStaging {
  private struct State {
    /// The open folders, in which a file is found by its name alone.
    var folders: [String: File] = [:]
    /// The files that were written, by the name that they are going to have.
    var ready: [ObjectName: String] = [:]
    var number = 0
  }

  private let directory: DirectoryStore
  private let control: TransferControl
  private let scratch: File
  // A leaf lock.
  private let state = Mutex(State())

  /// The longest time for removing what was not published, in nanoseconds.
  private static let patience: UInt64 = 300_000_000

  init(_ directory: DirectoryStore, control: TransferControl) throws(RemoteError) {
    self.directory = directory
    self.control = control
    scratch = try directory.openScratch()
  }

  // MARK: Writing

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
      do throws(SystemError) {
        file = try File(path, in: staging.scratch, [.readWrite, .create, .truncate, .noFollow])
      } catch {
        throw staging.directory.translated(error, name.text)
      }
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(RemoteError) {
      try staging.control.send(bytes.count)
      do throws(SystemError) {
        try file.write(bytes, at: offset)
      } catch {
        throw staging.directory.translated(error, name.text)
      }
      offset += UInt64(bytes.count)
    }

    func finish() { staging.state.withLock { $0.ready[name] = path } }
  }

  func begin(_ name: ObjectName) throws(RemoteError) -> any StagedObject {
    try control.check()
    let number = state.withLock { state -> Int in
      state.number += 1
      return state.number
    }
    return try Writing(self, name, "staged-\(number)")
  }

  // MARK: Publishing

  func publish(_ names: [ObjectName], replacing: Bool) throws(RemoteError) {
    try control.check()
    let ready = state.withLock { $0.ready }
    do throws(SystemError) {
      // One call for all files, so that their bytes are on the disk before their names.
      try scratch.syncFileSystem()
    } catch {
      throw directory.translated(error)
    }
    var touched: [String: File] = [:]
    for name in names {
      guard let path = ready[name] else { continue }
      try control.check()
      let folder = try folder(name.folder)
      touched[name.folder] = folder
      do throws(SystemError) {
        try move(path, to: name, in: folder, replacing: replacing)
      } catch {
        throw directory.translated(error, name.text)
      }
      state.withLock { $0.ready[name] = nil }
    }
    for (name, folder) in touched {
      do throws(SystemError) {
        try folder.sync()
      } catch {
        throw directory.translated(error, name)
      }
    }
  }

  private func folder(_ name: String) throws(RemoteError) -> File {
    if let known = state.withLock({ $0.folders[name] }) { return known }
    guard let folder = try directory.folder(name) else {
      throw RemoteError(.noPlace, "the directory was removed", object: name)
    }
    state.withLock { $0.folders[name] = folder }
    return folder
  }

  private func move(
    _ path: String, to name: ObjectName, in folder: File, replacing: Bool
  ) throws(SystemError) {
    if replacing {
      return try FileSystem.rename(path, in: scratch, to: name.last, in: folder)
    }
    do throws(SystemError) {
      try FileSystem.rename(path, in: scratch, to: name.last, in: folder, .exclusive)
    } catch {
      switch error.errno {
      case Errno.exists: try FileSystem.unlink("\(scratch.path)/\(path)")
      case Errno.invalid, Errno.notSupported, Errno.notImplemented:
        // This file system has no exclusive rename.
        if try FileSystem.exists("\(folder.path)/\(name.last)") {
          try FileSystem.unlink("\(scratch.path)/\(path)")
        } else {
          try FileSystem.rename(path, in: scratch, to: name.last, in: folder)
        }
      default: throw error
      }
    }
  }

  func abandon() {
    let left = state.withLock { state in
      defer { state.ready = [:] }
      return Array(state.ready.values)
    }
    let end = SystemClock.monotonic() + Self.patience
    // What is not removed now is removed by the next use of the directory.
    for path in left {
      guard SystemClock.monotonic() < end else { return }
      try? FileSystem.unlink("\(scratch.path)/\(path)")
    }
    try? FileSystem.removeDirectory(scratch.path)
  }
}
