internal import Platform

/// The queue of processes that wait to write a store: the one that is next has a lock on
/// `STORE/turn`.
///
/// The lock means nothing for what is written. It tells the writer that somebody waits, so that a
/// writer that takes turns (``SharedStore``) gives up the store's own lock.
struct TurnQueue: Sendable {
  private let file: File

  init(of store: String) throws(StoreError) {
    do throws(SystemError) {
      file = try File.kept("\(store)/turn", [.readWrite, .create, .noFollow])
    } catch {
      throw .system(error)
    }
  }

  /// Becomes the next one without waiting.
  ///
  /// - Returns: false if somebody else is next.
  func tryEnter() throws(StoreError) -> Bool {
    do throws(SystemError) {
      return try file.lock(.exclusive)
    } catch {
      throw .system(error)
    }
  }

  func enter() throws(StoreError) {
    do throws(SystemError) {
      _ = try file.lock(.exclusive, waiting: true)
    } catch {
      throw .system(error)
    }
  }

  func leave() { file.unlock() }

  var isWaitedFor: Bool {
    guard let isEntered = try? file.lock(.exclusive) else { return false }
    if isEntered { file.unlock() }
    return !isEntered
  }
}
