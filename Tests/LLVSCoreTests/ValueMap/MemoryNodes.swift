import LLVSCore
import Synchronization

/// Map nodes in memory, with a count of what was written and read.
final class MemoryNodes: NodeStorage {
  private struct State {
    var nodes: [[UInt8]] = []
    var reads = 0
  }

  private let state = Mutex(State())

  func writeNode(
    _ bytes: UnsafeRawBufferPointer, after prior: Location?
  ) throws(StoreError) -> Location {
    let copy = Array(bytes)
    return state.withLock { state in
      state.nodes.append(copy)
      return Location(
        segment: 1, offset: UInt64(state.nodes.count - 1), length: UInt32(copy.count))
    }
  }

  func readNode(at location: Location) throws(StoreError) -> [UInt8] {
    let found = state.withLock { state -> [UInt8]? in
      state.reads += 1
      guard location.segment == 1, location.offset < UInt64(state.nodes.count) else { return nil }
      return state.nodes[Int(location.offset)]
    }
    guard let found else { throw .corrupt("no node there") }
    return found
  }

  var written: Int { state.withLock { $0.nodes.count } }
  var reads: Int { state.withLock { $0.reads } }
  var writtenBytes: Int { state.withLock { $0.nodes.reduce(0) { $0 + $1.count } } }

  func damage(at location: Location, _ change: (inout [UInt8]) -> Void) {
    state.withLock { change(&$0.nodes[Int(location.offset)]) }
  }
}
