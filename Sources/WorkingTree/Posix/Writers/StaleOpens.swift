package import Inodes

/// The threads whose open of a file without a name failed with ESTALE.
///
/// The kernel may look a name up before a head replaces the file, and open it afterwards. On ESTALE it looks the
/// whole path up again, and opens the new file. A descriptor or a file handle resolves to the same file again, and
/// the thread's second open succeeds. So no program sees the error.
struct StaleOpens {
  private static let limit = 256
  private var told: [Int32: InodeNumber] = [:]

  /// True for the first open, which fails.
  mutating func isFirst(_ thread: Int32, of number: InodeNumber) -> Bool {
    if told[thread] == number {
      told[thread] = nil
      return false
    }
    // A thread that loses its entry and opens by a descriptor sees ESTALE; 256 other threads must come between its
    // opens.
    if told.count >= Self.limit { told = [:] }
    told[thread] = number
    return true
  }
}

extension WorkingTree {
  /// True if a thread that opens or truncates by path must look it up again, because a head gave the name to
  /// another file.
  package func mustLookUpAgain(_ number: InodeNumber, thread: Int32) -> Bool {
    state { state in
      guard !state.overlay.orphans.isEmpty, case .detached? = state.overlay.nodes.orphan(of: number)
      else { return false }
      return state.staleOpens.isFirst(thread, of: number)
    }
  }
}
