package import Inodes

/// The threads whose open of a file without a name failed with ESTALE.
///
/// The kernel may look a name up before a head replaces the file, and open the file after that. It answers ESTALE with a
/// second look-up of the whole path, and opens what the name shows now. A descriptor, or a file handle, leads to the same
/// file again, and the second open of the thread gets it. So a program never sees the error.
struct StaleOpens {
  private static let limit = 256
  private var told: [Int32: InodeNumber] = [:]

  /// True if the open is the first, which fails.
  mutating func isFirst(_ thread: Int32, of number: InodeNumber) -> Bool {
    if told[thread] == number {
      told[thread] = nil
      return false
    }
    // A thread that loses its entry fails with ESTALE if it opens by a descriptor: for that, 256 others have to come
    // between its two opens.
    if told.count >= Self.limit { told = [:] }
    told[thread] = number
    return true
  }
}

extension WorkingTree {
  /// True if a thread that opens or truncates a file by its path must look the path up again, because a head gave the
  /// file's name to something else.
  package func mustLookUpAgain(_ number: InodeNumber, thread: Int32) -> Bool {
    state { state in
      guard !state.overlay.orphans.isEmpty, case .detached? = state.overlay.nodes.orphan(of: number)
      else { return false }
      return state.staleOpens.isFirst(thread, of: number)
    }
  }
}
