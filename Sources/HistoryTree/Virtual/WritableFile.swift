import LLVSCore

/// A file of a writable place.
///
/// Everything that changes is guarded by the lock of its place.
final class WritableFile: @unchecked Sendable, Hashable {
  struct State: Sendable {
    var bytes: [UInt8]
    var mode: UInt32 = 0o644
    var mtime: Attributes.Time
  }

  /// Held, for the kernel knows a file longer than its place has a name: ``WritablePlace/leave()``.
  let place: WritablePlace
  let inode: UInt64
  /// Nil once it was unlinked or replaced.
  var name: [UInt8]?
  var state: State
  /// Written or resized since it last took effect.
  var isDirty = false
  /// Holds what its name stands for: nothing is lost if it is dropped and read again.
  var isInEffect: Bool
  var handles = 0
  /// The name whose file this was before an editor moved it away.
  var movedFrom: [UInt8]?
  /// What its bytes take of the place's memory.
  let charge: MemoryBudget.Charge?

  init(
    place: WritablePlace, inode: UInt64, name: [UInt8], bytes: [UInt8], isInEffect: Bool,
    mtime: Attributes.Time
  ) {
    self.place = place
    self.inode = inode
    self.name = name
    self.isInEffect = isInEffect
    charge = place.budget.map { MemoryBudget.Charge($0) }
    state = State(bytes: bytes, mtime: mtime)
  }

  static func == (a: WritableFile, b: WritableFile) -> Bool { a === b }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
