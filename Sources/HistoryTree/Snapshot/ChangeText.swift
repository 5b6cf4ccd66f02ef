import LLVSCore
import Platform
import TreeNames

/// The text of `changes`, made as it is read: going back begins anew.
///
/// - Concurrency: one reader at a time; its lock is held while maps are read, and nothing waits for it but
///   other readers of the same open file.
package final class ChangeText: Sendable {
  static let added = UInt8(ascii: "+")
  static let removed = UInt8(ascii: "-")
  static let changed = UInt8(ascii: "*")

  private struct State {
    var changes: SnapshotChanges
    /// The text that was made last, and where it begins.
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

  /// How long the text is; nothing of it is kept.
  func length() throws(FSError) -> UInt64 {
    var changes = begin
    var length: UInt64 = 0
    try reading { () throws(StoreError) in
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
          // What was read before is not kept.
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
      return MetaFile.copy(state.text, from: offset - state.start, into: buffer)
    }
  }
}
