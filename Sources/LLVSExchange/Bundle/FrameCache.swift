import LLVSCore
internal import Synchronization

/// The frames of an exchange's bundles that were unpacked last, up to a number of bytes.
/// - Concurrency: any thread.
final class FrameCache: Sendable {
  struct Place: Hashable {
    var bundle: Digest
    var kind: BundleFormat.FrameKind
    var number: Int
  }

  private struct State: Sendable {
    var frames: [Place: [UInt8]] = [:]
    /// The least recently used is first.
    var order: [Place] = []
    var bytes = 0
  }

  let compression = Compression()
  /// The bundles in which something wrong was read.
  private let damaged = Mutex<Set<BundleName>>([])
  private let budget: Int
  // A leaf lock, not held while a frame is read.
  private let state = Mutex(State())
  init(budget: Int = 32 << 20) { self.budget = budget }

  func noteDamage(of bundle: BundleName) { damaged.withLock { _ = $0.insert(bundle) } }

  /// Returns the bundles that were found damaged since the last call.
  func takeDamaged() -> [BundleName] {
    damaged.withLock { damaged in
      defer { damaged = [] }
      return damaged.sorted()
    }
  }

  func frame(_ place: Place) -> [UInt8]? {
    state.withLock { state in
      guard let bytes = state.frames[place] else { return nil }
      if state.order.last != place {
        state.order.removeAll { $0 == place }
        state.order.append(place)
      }
      return bytes
    }
  }

  func keep(_ bytes: [UInt8], at place: Place) {
    state.withLock { state in
      guard state.frames.updateValue(bytes, forKey: place) == nil else { return }
      state.order.append(place)
      state.bytes += bytes.count
      while state.bytes > budget, state.order.count > 1 {
        let oldest = state.order.removeFirst()
        state.bytes -= state.frames.removeValue(forKey: oldest)?.count ?? 0
      }
    }
  }
}
