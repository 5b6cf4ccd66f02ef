import Inodes
import LLVSCore
import Platform
import Synchronization
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// A journal that keeps all changes and bytes in memory.
final class MemoryJournal: ChangeJournal {
  private struct State {
    var changes: [Change] = []
    var bytes: [UInt8] = []
    var refusal: StoreError?
    /// True if punching makes room: then appends succeed again.
    var hasRoomToGive = false
    /// The bytes that were alive when room was made.
    var live: LiveBytes?
    /// Runs before the next reading of bytes.
    var beforeRead: (@Sendable () throws -> Void)?
  }

  private let state = Mutex(State())

  /// All changes, in order.
  var changes: [Change] { state.withLock { $0.changes } }

  /// Makes all further appends fail; nil makes them succeed again.
  func refuse(with error: StoreError?) { state.withLock { $0.refusal = error } }

  /// Runs a closure before the next reading of bytes; an error of the store is what the reading throws.
  func beforeRead(_ body: @escaping @Sendable () throws -> Void) {
    state.withLock { $0.beforeRead = body }
  }

  func append(_ changes: [Change], mayUseReserve: Bool) throws(StoreError) {
    let refusal = state.withLock { state -> StoreError? in
      if state.refusal == nil { state.changes += changes }
      return state.refusal
    }
    if let refusal { throw refusal }
  }

  func stage(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) -> Extent {
    let bytes = Array(bytes)
    let start = state.withLock { state in
      defer { state.bytes += bytes }
      return state.bytes.count
    }
    return Extent(start: offset, length: UInt64(bytes.count), offset: UInt64(start), source: 1)
  }

  func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    let count = buffer.count
    let before = state.withLock { state in
      defer { state.beforeRead = nil }
      return state.beforeRead
    }
    if let before {
      do {
        try before()
      } catch let error as StoreError {
        throw error
      } catch {
        throw .corrupt("\(error)")
      }
      throw .corrupt("the bytes are gone")
    }
    let bytes = state.withLock { Array($0.bytes[Int(offset)..<(Int(offset) + count)]) }
    buffer.copyBytes(from: bytes)
  }

  func abandon(_ extent: Extent) {}

  func sync() throws(StoreError) {}

  /// Makes room by the next punching, which then ends a refusal.
  func giveRoom() { state.withLock { $0.hasRoomToGive = true } }

  /// The bytes that were alive when room was made.
  var live: LiveBytes? { state.withLock { $0.live } }

  func punch(ifMoreThan least: UInt64, _ live: () -> LiveBytes) throws(StoreError) -> Bool {
    let alive = live()
    return state.withLock { state in
      guard state.hasRoomToGive, least == 0 else { return false }
      (state.hasRoomToGive, state.refusal, state.live) = (false, nil, alive)
      return true
    }
  }

  func collect(_ live: () -> LiveBytes) throws(StoreError) {}

  func needsRenewal(atRest: Bool) -> Bool { false }

  var awaitsRenewal: Bool { false }

  var instant: JournalInstant { JournalInstant(number: 0, end: 0, appended: 0) }

  func renew(
    isForced: Bool, afterFailure: Bool, _ image: () throws(StoreError) -> JournalImage,
    adopt: (ExtentMoves) -> Void
  ) throws(StoreError) -> [String] { [] }
}

/// A head of a store, with a closure that runs before its map is read.
final class ObservedHead: HeadReading {
  let stored: StoredHead
  private let before = Mutex<(@Sendable () throws(FSError) -> Void)?>(nil)

  init(_ stored: StoredHead) {
    self.stored = stored
  }

  /// Runs a closure before the next reading; its error is what the reading throws.
  func beforeRead(_ body: @escaping @Sendable () throws(FSError) -> Void) {
    before.withLock { $0 = body }
  }

  func extended(
    at path: TreePath, in version: VersionNumber?
  ) throws(FSError) -> [Attributes.Extended] {
    let body = before.withLock { before in
      defer { before = nil }
      return before
    }
    try body?()
    return try stored.extended(at: path, in: version)
  }

  func ownAttribute(_ name: [UInt8], of place: StatedPlace) throws(FSError) -> [UInt8]? {
    try stored.ownAttribute(name, of: place)
  }
}
