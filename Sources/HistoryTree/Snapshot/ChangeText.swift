import LLVSCore
import Platform
import TreeNames

/// The text of the file `changes`, made while it is read; an earlier offset starts again.
/// - Concurrency: one reader at a time. Its lock is held while maps are read.
package final class ChangeText: Sendable {
  static let added = UInt8(ascii: "+")
  static let removed = UInt8(ascii: "-")
  static let changed = UInt8(ascii: "*")

  private struct State {
    var changes: SnapshotChanges
    /// The part of the text that was made last, and below its offset.
    var text: [UInt8] = []
    var start: UInt64 = 0
  }

  private let begin: SnapshotChanges
  private let state: Monitor<State>

  init(_ changes: SnapshotChanges) {
    begin = changes
    state = Monitor(State(changes: changes))
  }

  private static func line(_ change: (mark: UInt8, path: [UInt8])) -> [UInt8] {
    [change.mark, 0x20] + PrintableText.visible(change.path) + [0x0A]
  }

  func length() throws(FSError) -> UInt64 {
    var changes = begin
    var length: UInt64 = 0
    try FSError.wrapping { () throws(StoreError) in
      while let change = try changes.next() { length += UInt64(Self.line(change).count) }
    }
    return length
  }

  func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) -> Int {
    guard offset < UInt64(Int64.max) else { return 0 }
    let end = offset + UInt64(buffer.count)
    return try state.withLock { state throws(FSError) in
      if offset < state.start { state = State(changes: begin) }
      do throws(StoreError) {
        while state.start + UInt64(state.text.count) < end {
          // Text that was already read is dropped.
          let passed = min(UInt64(state.text.count), offset - min(offset, state.start))
          if passed > 1 << 16 {
            state.text.removeFirst(Int(passed))
            state.start += passed
          }
          guard let change = try state.changes.next() else { break }
          state.text += Self.line(change)
        }
      } catch {
        throw FSError.store(error)
      }
      guard offset >= state.start else { return 0 }
      return state.text.copy(from: offset - state.start, into: buffer)
    }
  }
}

extension [UInt8] {
  /// Copies the bytes from an offset on, and returns their number.
  func copy(from offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard offset < UInt64(count) else { return 0 }
    let start = Int(offset)
    let length = Swift.min(buffer.count, count - start)
    withUnsafeBytes { raw in
      UnsafeMutableRawBufferPointer(rebasing: buffer[..<length])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: raw[start..<(start + length)]))
    }
    return length
  }
}
