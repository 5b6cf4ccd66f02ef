package import LLVSCore
import Synchronization

/// The values of history that programs have open, whose bytes are kept until they close them.
/// - Concurrency: any thread; the lock is a leaf.
package final class OpenContents: Sendable {
  private struct State {
    var count: UInt64 = 0
    var contents: [UInt64: StoredContent] = [:]
  }

  private let state = Mutex(State())

  init() {}

  /// Adds an open value; returns the number to remove it by.
  package func insert(_ stored: StoredContent) -> UInt64 {
    state.withLock { state in
      state.count += 1
      state.contents[state.count] = stored
      return state.count
    }
  }

  package func remove(_ number: UInt64) {
    state.withLock { _ = $0.contents.removeValue(forKey: number) }
  }

  var all: [StoredContent] { state.withLock { Array($0.contents.values) } }
}
