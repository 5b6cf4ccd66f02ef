import LLVSCore

/// A file of a writable place; the place's lock guards all variables.
final class WritableFile: @unchecked Sendable, Hashable {
  struct State: Sendable {
    var bytes: [UInt8]
    var mode: UInt32 = 0o644
    var mtime: Attributes.Time
  }

  /// Strong, because the kernel may know a file for longer than its place exists.
  let place: WritablePlace
  let inode: UInt64
  /// Nil once it was unlinked or replaced.
  var name: [UInt8]?
  var state: State
  /// True if the file was changed since its bytes last took effect.
  var isDirty = false
  /// True if the bytes are in effect, so that a dropped file can be read again.
  var isInEffect: Bool
  var handles = 0
  /// The name before an editor moved the file away as a backup.
  var movedFrom: [UInt8]?
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
