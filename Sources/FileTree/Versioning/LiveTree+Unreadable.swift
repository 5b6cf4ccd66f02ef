import LLVS
import Platform

// Files whose bytes rotted before a version took them: the others must not wait for them.

extension LiveTree {
  /// Makes cuts leave out a save whose bytes cannot be read; another error than damage changes nothing.
  func leaveOut(_ save: SavedState, of inode: UInt64, _ error: StoreError) {
    guard let reason = error.damageMetReading else { return }
    let isFirst = lock.withLock { _ in
      defer { save.isUnreadable = true }
      if !save.isUnreadable { leftOut += 1 }
      return !save.isUnreadable
    }
    guard isFirst else { return }
    damage.tell("\(reason); no version takes it", of: nameForPeople(inode))
  }

  /// How many saves cuts have learned to leave out.
  var leftOutCount: UInt64 { lock.withLock { _ in leftOut } }
}

extension StoreError {
  /// What is damaged if reading found it, in words; nil for every other error.
  fileprivate var damageMetReading: String? {
    if case .system(let error) = self, !error.call.hasPrefix("pread") { return nil }
    return damage
  }
}
