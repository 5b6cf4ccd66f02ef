import Inodes
import LLVSCore
import PendingTree
import Platform
import Synchronization
import TreeNames

@testable import PosixTree

/// A journal that keeps all changes and bytes in memory.
final class MemoryJournal: ChangeJournal {
  private struct State {
    var changes: [Change] = []
    var bytes: [UInt8] = []
    var refusal: FSError?
  }

  private let state = Mutex(State())

  /// All changes, in order.
  var changes: [Change] { state.withLock { $0.changes } }

  /// Makes all further appends fail; nil makes them succeed again.
  func refuse(with error: FSError?) { state.withLock { $0.refusal = error } }

  func append(_ changes: [Change], mayUseReserve: Bool) throws(FSError) {
    let refusal = state.withLock { state -> FSError? in
      if state.refusal == nil { state.changes += changes }
      return state.refusal
    }
    if let refusal { throw refusal }
  }

  func stage(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FSError) -> [Extent] {
    let bytes = Array(bytes)
    let start = state.withLock { state in
      defer { state.bytes += bytes }
      return state.bytes.count
    }
    return [
      Extent(start: offset, length: UInt64(bytes.count), offset: UInt64(start), source: 1)
    ]
  }

  func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) {
    let count = buffer.count
    let bytes = state.withLock { Array($0.bytes[Int(offset)..<(Int(offset) + count)]) }
    buffer.copyBytes(from: bytes)
  }

  func sync() throws(FSError) {}
}
