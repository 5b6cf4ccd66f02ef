internal import Platform

/// The queue of processes that wait to write a store. The next one has a lock on `STORE/turn`, so a writer that
/// takes turns (``SharedStore``) releases the store's own lock.
struct TurnQueue: Sendable {
  private let file: File

  init(of store: String) throws(StoreError) {
    file = try StoreError.wrapping { () throws(SystemError) in
      try File.kept("\(store)/turn", [.readWrite, .create, .noFollow])
    }
  }

  /// Becomes the next one without waiting; returns false if another process is next.
  func tryEnter() throws(StoreError) -> Bool {
    try StoreError.wrapping { () throws(SystemError) in try file.lock(.exclusive) }
  }

  func enter() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      _ = try file.lock(.exclusive, waiting: true)
    }
  }

  func leave() { file.unlock() }

  var isWaitedFor: Bool {
    guard let isEntered = try? file.lock(.exclusive) else { return false }
    if isEntered { file.unlock() }
    return !isEntered
  }
}
