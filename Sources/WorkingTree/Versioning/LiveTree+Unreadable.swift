import Events
import LLVSCore
import Platform
import TreeNames

// Files whose bytes rotted before a version took them: the others must not wait for them.

extension LiveTree {
  /// Makes cuts leave out a save whose bytes cannot be read; another error than damage changes nothing.
  func leaveOut(_ save: SavedState, of inode: UInt64, _ error: StoreError) {
    guard let reason = error.damageMetReading else { return }
    let isNew = lock.withLock { _ in
      if save.isUnreadable { return false }
      leftOut += 1
      // Bytes that are not what was written stay so; a read that failed is tried once more.
      if case .system = error, !save.hasFailed {
        save.hasFailed = true
        return false
      }
      save.isUnreadable = true
      return true
    }
    guard isNew else { return }
    damage.tell("\(reason); versions leave it out", of: nameForPeople(inode))
  }

  /// How often cuts have learned which save to leave out, or to read once more.
  var leftOutCount: UInt64 { lock.withLock { _ in leftOut } }
}

extension StoreError {
  /// What is damaged if reading found it, in words; nil for every other error.
  fileprivate var damageMetReading: String? {
    if case .system(let error) = self, !error.isOfReading { return nil }
    return damage
  }
}
