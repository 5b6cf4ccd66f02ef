import LLVSCore
internal import Synchronization

/// The bundles that an exchange opened last, and what it read of them, each up to a number of bytes.
///
/// - Concurrency: any thread.
final class OpenBundles: Sendable {
  private struct State: Sendable {
    /// The newest is the last.
    var bundles: [BundleReader] = []
    var bytes = 0
  }

  /// More are not looked through.
  private static let most = 64

  let frames = FrameCache()
  let parts = RemoteBytes.Cache()
  private let budget: Int
  // A leaf lock.
  private let state = Mutex(State())

  /// Creates an empty one that keeps bundles of up to `budget` bytes in memory, and the newest.
  init(budget: Int = 64 << 20) { self.budget = budget }

  /// The number of bundles that are kept.
  var count: Int { state.withLock { $0.bundles.count } }

  /// Returns a bundle that is kept.
  func bundle(_ name: BundleName) -> BundleReader? {
    state.withLock { $0.bundles.last { $0.name == name } }
  }

  func keep(_ bundle: BundleReader) {
    let bytes = bundle.memory
    state.withLock { state in
      state.bundles.append(bundle)
      state.bytes += bytes
      while state.bundles.count > 1, state.bytes > budget || state.bundles.count > Self.most {
        state.bytes -= state.bundles.removeFirst().memory
      }
    }
  }
}

/// The memory that bundles may take which are read side by side, before what they say is noted.
///
/// - Concurrency: any thread.
final class ReadingBudget: Sendable {
  private let limit: Int
  private let used = Mutex(0)

  init(_ limit: Int) { self.limit = limit }

  /// Takes so many bytes; false if they have no place next to what was taken before. The first always
  /// has a place, however much it takes.
  func take(_ bytes: Int) -> Bool {
    used.withLock { used in
      guard used == 0 || bytes <= limit - used else { return false }
      used += max(1, bytes)
      return true
    }
  }
}

extension BundleReader {
  /// About the memory that the bundle takes while it is open, in bytes.
  var memory: Int { 1024 + directory.memory }

  /// About the memory that its items take until they are noted, in bytes: the table, and the names of
  /// the items as the catalog has them.
  var memoryOfItems: Int { directory.items * 144 }
}

extension BundleDirectory {
  /// About the memory that it takes with the offsets that a reader adds, in bytes.
  fileprivate var memory: Int {
    let runs = stays.reduce(from.runs.count) { $0 + $1.kept.runs.count }
    return content.count * 40 + (outline.count + table.count) * 64 + runs * 16 + stays.count * 128
      + needs.count * 64
  }
}
