import Documents
import Platform
import Synchronization

/// Reports when to sync changed documents: ``quiet`` after a change, at most once in ``pause``.
/// - Concurrency: any thread; the lock is a leaf.
final class DocumentWatch: Sendable {
  /// The time without a change after which a document is synced, in nanoseconds.
  static let quiet: UInt64 = 2_000_000_000
  /// The time from one sync of a document to the next, in nanoseconds.
  static let pause: UInt64 = 10_000_000_000

  private struct Followed {
    var address: DocumentAddress
    /// The time of the last change without a later sync.
    var changed: UInt64?
    var synced: UInt64?

    /// The time for its next sync; nil if nothing has changed.
    var due: UInt64? {
      changed.map { changed in
        max(changed + DocumentWatch.quiet, synced.map { $0 + DocumentWatch.pause } ?? 0)
      }
    }
  }

  private let documents = Mutex<[String: Followed]>([:])
  private let directories: DirectoryWatch?
  private let thread = ServiceThread()
  private let wake: @Sendable () -> Void

  /// Prepares the watch; without support of the system it never reports anything.
  init(wake: @escaping @Sendable () -> Void) {
    self.wake = wake
    directories = try? DirectoryWatch()
  }

  func start() throws(SystemError) {
    guard let directories else { return }
    try thread.start { [self] in
      while let changes = directories.changes() { note(changes) }
    }
  }

  func stop() {
    guard let directories else { return }
    thread.end { directories.end() }
  }

  func follow(_ addresses: [String: DocumentAddress]) {
    documents.withLock { documents in
      documents = Dictionary(
        uniqueKeysWithValues: addresses.map { name, address in
          if let known = documents[name], known.address == address { return (name, known) }
          return (name, Followed(address: address))
        })
    }
    directories?.watch(Set(addresses.values.map { FileSystem.directory(of: $0.path) }))
  }

  private func note(_ changes: [DirectoryWatch.Change]) {
    let now = SystemClock.monotonic()
    let isNew = documents.withLock { documents in
      var isNew = false
      for (name, followed) in documents
      where changes.contains(where: { Self.concerns($0, followed.address) }) {
        isNew = isNew || followed.changed == nil
        documents[name]?.changed = now
      }
      return isNew
    }
    if isNew { wake() }
  }

  private static func concerns(
    _ change: DirectoryWatch.Change, _ address: DocumentAddress
  ) -> Bool {
    guard change.directory == FileSystem.directory(of: address.path) else { return false }
    guard let name = change.name else { return true }
    // SQLite keeps unwritten changes in the file next to it.
    return name == address.name || name == "\(address.name)-wal"
      || ConflictCopies.isCopy(name, of: address.name)
  }

  /// The earliest time for a document's sync; nil for none.
  var due: UInt64? { documents.withLock { $0.values.compactMap(\.due).min() } }

  func take(at now: UInt64) -> [(name: String, address: DocumentAddress)] {
    documents.withLock { documents in
      var taken: [(name: String, address: DocumentAddress)] = []
      for (name, followed) in documents {
        guard let due = followed.due, due <= now else { continue }
        documents[name]?.changed = nil
        documents[name]?.synced = now
        taken.append((name, followed.address))
      }
      return taken.sorted { $0.name < $1.name }
    }
  }
}
