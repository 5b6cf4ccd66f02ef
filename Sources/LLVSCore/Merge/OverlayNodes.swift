internal import Synchronization

/// Map nodes in memory over those of a store, for temporary maps: virtual merge bases and dry runs.
/// - Concurrency: any thread; the lock is a leaf and not held during I/O.
package final class OverlayNodes: NodeStorage {
  /// No segment of a store has this number.
  private static let segment = UInt32.max
  /// Places are unique in a process, so node caches work for overlays too.
  private static let nextPlace = Atomic<UInt64>(0)
  private let below: any NodeStorage
  private struct State {
    var nodes: [UInt64: [UInt8]] = [:]
    var bytes = 0
  }

  private let state = Mutex(State())

  /// The approximate size of a node next to its bytes.
  private static let overhead = 96

  var byteCount: Int { state.withLock { $0.bytes } }
  /// Counts bytes that are kept together with the nodes.
  func note(_ bytes: Int) { state.withLock { $0.bytes += bytes } }
  package init(over below: any NodeStorage) { self.below = below }

  package func writeNode(
    _ bytes: UnsafeRawBufferPointer, after prior: Location?
  ) throws(StoreError) -> Location {
    let node = Array(bytes)
    let place = Self.nextPlace.add(1, ordering: .relaxed).oldValue
    state.withLock { state in
      state.nodes[place] = node
      state.bytes += node.count + Self.overhead
    }
    return Location(
      segment: Self.segment, offset: place, length: UInt32(truncatingIfNeeded: node.count))
  }

  package func readNode(at location: Location) throws(StoreError) -> [UInt8] {
    guard location.segment == Self.segment else { return try below.readNode(at: location) }
    guard let node = state.withLock({ $0.nodes[location.offset] }) else {
      throw .corrupt("a map refers to a node that was never kept")
    }
    return node
  }
}
