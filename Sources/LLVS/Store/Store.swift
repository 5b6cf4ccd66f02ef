public import Foundation
internal import LLVSCore
internal import Synchronization

/// A store of versions, each of which holds values under keys.
///
/// Any number of stores can be opened at one directory, in one process and in several: they take
/// turns to write. The history that an object answers from is the one that was there when it was
/// opened, when it wrote last, or when ``reloadHistory()`` was called last.
///
/// - Concurrency: callable from any thread.
public final class Store: Sendable {
  /// The store's directory.
  public let rootDirectoryURL: URL
  let backend: any StoreBackend

  private struct Loaded {
    var heads: [HistoryHead]
    /// True if this object has added versions since the heads were read.
    var isStale = false
    /// What was damaged when something was asked for by a function that cannot throw.
    var damage: (any Swift.Error)?
  }

  // Held while heads are read; the backend's locks come after it.
  private let loaded: Mutex<Loaded>

  /// Opens the store in a directory, or makes one if the directory is missing or empty.
  ///
  /// Directories above it are made too.
  ///
  /// - Parameter rootDirectoryURL: a directory on a local file system.
  /// - Throws: ``Store/Error/invalid(_:)`` if the URL is not a file URL, ``Store/Error/exists(_:)``
  ///   if something else is in the directory, ``Store/Error/corrupt(_:)``.
  public convenience init(rootDirectoryURL: URL) throws {
    guard rootDirectoryURL.isFileURL else {
      throw Error.invalid("\(rootDirectoryURL.absoluteString) is not the URL of a file")
    }
    let directory = rootDirectoryURL.standardizedFileURL
    try FileManager.default.createDirectory(
      at: directory.deletingLastPathComponent(), withIntermediateDirectories: true)
    try self.init(
      rootDirectoryURL: directory, backend: EngineBackend(path: directory.path))
  }

  init(rootDirectoryURL: URL, backend: any StoreBackend) throws {
    self.rootDirectoryURL = rootDirectoryURL
    self.backend = backend
    loaded = Mutex(Loaded(heads: try backend.heads()))
  }

  /// Takes notice of the versions that other objects and other processes have stored since.
  ///
  /// - Throws: what is damaged in the store, also what was found by functions that cannot throw.
  public func reloadHistory() throws {
    try backend.reload()
    let heads = try backend.heads()
    let damage = loaded.withLock { loaded in
      defer { loaded = Loaded(heads: heads) }
      return loaded.damage
    }
    if let damage { throw damage }
  }

  /// The versions without a successor, newest first.
  var heads: [HistoryHead] {
    loaded.withLock { loaded in
      guard loaded.isStale else { return loaded.heads }
      do {
        loaded.heads = try backend.heads()
        loaded.isStale = false
      } catch {
        loaded.damage = error
      }
      return loaded.heads
    }
  }

  /// Records that versions were added.
  func noteNewVersions() { loaded.withLock { $0.isStale = true } }

  /// Returns what the body returns; if it fails, the fallback, and ``reloadHistory()`` reports it.
  func answer<Result>(or fallback: Result, _ body: () throws -> Result) -> Result {
    do {
      return try body()
    } catch {
      loaded.withLock { $0.damage = error }
      log.error("A version cannot be read: \(error)")
      return fallback
    }
  }
}

extension Store {
  /// Merges all heads without a branch in the way in which every store makes the same versions.
  func mergeAutomatically(into version: Version.ID) throws -> AutomaticMerge {
    defer { noteNewVersions() }
    return try backend.mergeAutomatically(into: version)
  }
}
