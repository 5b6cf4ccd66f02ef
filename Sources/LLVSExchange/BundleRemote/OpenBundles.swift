internal import Synchronization

/// The bundles that an exchange opened last, and what it read of them, each up to a number of bytes.
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
  init(budget: Int = 64 << 20) { self.budget = budget }
  var count: Int { state.withLock { $0.bundles.count } }

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

/// The memory that bundles may take that are read side by side.
/// - Concurrency: any thread.
final class ReadingBudget: Sendable {
  private let limit: Int
  private let used = Mutex(0)
  init(_ limit: Int) { self.limit = limit }

  /// Takes memory; false if there is too little left. The first always gets as much as it wants.
  func take(_ bytes: Int) -> Bool {
    used.withLock { used in
      guard used == 0 || bytes <= limit - used else { return false }
      used += max(1, bytes)
      return true
    }
  }
}

extension BundleReader {
  /// The estimated memory of the open bundle, in bytes.
  var memory: Int { 1024 + directory.memory + directory.items * 64 }
  /// The estimated memory of its items until they are noted, in bytes.
  var memoryOfItems: Int { directory.items * 144 }
}

extension BundleDirectory {
  fileprivate var memory: Int {
    let runs = stays.reduce(from.runs.count) { $0 + $1.kept.runs.count }
    return content.count * 40 + (outline.count + table.count) * 64 + runs * 16 + stays.count * 128
      + needs.count * 64
  }
}
