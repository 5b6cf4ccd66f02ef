internal import CShims
internal import Glibc
internal import Synchronization

/// The changed names in directories, as inotify(7) reports them: without changes by other machines on a file
/// server.
/// - Concurrency: one thread calls ``changes()``, any the other methods; the lock is a leaf.
package final class DirectoryWatch: Sendable {
  /// A name that was made, written or replaced in a directory.
  package struct Change: Hashable, Sendable {
    package var directory: String
    /// Nil if any name in the directory may have changed.
    package var name: String?
  }

  private struct State {
    var wanted: Set<String> = []
    /// By the numbers of their watches.
    var watched: [Int32: String] = [:]
    var isEnded = false
  }

  private static let events =
    UInt32(IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE)
  /// The time between two checks for missing directories, in milliseconds.
  private static let pause: Int32 = 30_000
  private let state = Mutex(State())
  private let queue: Int32
  /// A pipe that ends the wait.
  private let ends: [Int32]

  /// - Throws: the error of inotify_init1(2) or pipe2(2): EMFILE when the user has too many.
  package init() throws(SystemError) {
    ends = try ChildProcess.makePipe()
    do throws(SystemError) {
      queue = try FileSystem.check(
        inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)), "inotify_init1")
    } catch {
      for end in ends { close(end) }
      throw error
    }
  }

  deinit { for end in [queue] + ends { close(end) } }

  /// Sets the directories; a missing one is watched once it exists.
  package func watch(_ directories: Set<String>) {
    let isNew = state.withLock { state in
      defer { state.wanted = directories }
      return state.wanted != directories
    }
    if isNew { wake() }
  }

  /// Makes ``changes()`` return nil from now on.
  package func end() {
    state.withLock { $0.isEnded = true }
    wake()
  }

  private func wake() {
    var byte: UInt8 = 0
    // A full pipe wakes as well.
    _ = unsafe write(ends[1], &byte, 1)
  }

  /// Waits for changes, also of each new directory; nil after ``end()``.
  package func changes() -> [Change]? {
    while true {
      var changes = follow()
      if state.withLock({ $0.isEnded }) { return nil }
      if changes.isEmpty {
        let isMissing = state.withLock { $0.watched.count < $0.wanted.count }
        var waiting = [
          pollfd(fd: queue, events: Int16(POLLIN), revents: 0),
          pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0),
        ]
        guard unsafe poll(&waiting, 2, isMissing ? Self.pause : -1) > 0 else { continue }
        if waiting[1].revents != 0 { _ = ChildProcess.read(ends[0]) }
        if waiting[0].revents != 0 { changes = read() }
      }
      if !changes.isEmpty { return changes }
    }
  }

  private func follow() -> [Change] {
    let (missing, surplus) = state.withLock { state in
      let known = Set(state.watched.values)
      return (
        state.wanted.subtracting(known), state.watched.filter { !state.wanted.contains($0.value) }
      )
    }
    for (number, _) in surplus {
      inotify_rm_watch(queue, number)
      state.withLock { $0.watched[number] = nil }
    }
    var changes: [Change] = []
    for directory in missing.sorted() {
      let number = unsafe inotify_add_watch(queue, directory, Self.events | UInt32(IN_ONLYDIR))
      guard number >= 0 else { continue }
      state.withLock { $0.watched[number] = directory }
      changes.append(Change(directory: directory, name: nil))
    }
    return changes
  }

  private func read() -> [Change] {
    guard let bytes = ChildProcess.read(queue) else { return [] }
    return state.withLock { state in
      var changes: [Change] = []
      for event in Self.events(in: bytes[...]) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
          changes += state.watched.values.map { Change(directory: $0, name: nil) }
        } else if let directory = state.watched[event.watch] {
          if event.mask & UInt32(IN_IGNORED) != 0 { state.watched[event.watch] = nil }
          let change = Change(
            directory: directory, name: event.mask & UInt32(IN_IGNORED) != 0 ? nil : event.name)
          if changes.last != change { changes.append(change) }
        }
      }
      return changes
    }
  }

  private struct Event {
    var watch: Int32
    var mask: UInt32
    var name: String
  }

  /// Splits inotify(7)'s events: the watch, a mask, a cookie, the length of the name with padding, and the name.
  private static func events(in bytes: ArraySlice<UInt8>) -> [Event] {
    let header = MemoryLayout<inotify_event>.size
    var events: [Event] = []
    var rest = bytes
    while rest.count >= header {
      let words = unsafe Array(rest.prefix(header)).withUnsafeBytes { bytes in
        (0..<4).map { unsafe bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
      }
      let length = Int(words[3])
      guard rest.count - header >= length else { break }
      let name = rest.dropFirst(header).prefix(length).prefix { $0 != 0 }
      events.append(
        Event(
          watch: Int32(bitPattern: words[0]), mask: words[1],
          name: String(decoding: name, as: UTF8.self)))
      rest = rest.dropFirst(header + length)
    }
    return events
  }
}
