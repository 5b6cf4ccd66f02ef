package import Inodes
package import PendingTree

/// Decides which save of a file a cut takes (docs/writes.md, rule 1): the newest, the newest that had its quiet, or
/// none.
package struct SaveChoice: Sendable {
  /// The reason for the cut.
  package var reason: CutReason
  /// How many nanoseconds no write must follow a save.
  package var settle: UInt64
  /// The files as they are now that an overdue cut had its quiet; none for another cut.
  package var later = SharedMap<InodeNumber, PendingNode>()
  /// Saves whose bytes cannot be read, which no version takes.
  package var unreadable: [InodeNumber: [PendingFile.Save]] = [:]

  /// Creates a choice for a cut.
  package init(_ reason: CutReason, settle: UInt64) {
    self.reason = reason
    self.settle = settle
  }

  /// Returns the save of a file that a version takes; nil if none counts.
  package func save(of number: InodeNumber, _ file: PendingFile) -> PendingFile.Save? {
    let counted = readable(file.counted, of: number)
    guard let saved = readable(file.saved, of: number) else { return counted }
    if reason == .command || saved.isFirm { return saved }
    if reason == .overdue, saved.isSteady, !file.isUnsaved { return saved }
    return hadQuiet(saved, of: number) ? saved : counted
  }

  /// True if the file has a save that is left out since its bytes cannot be read.
  package func leavesOut(_ number: InodeNumber, _ file: PendingFile) -> Bool {
    file.saved != nil && readable(file.saved, of: number) == nil
  }

  private func readable(
    _ save: PendingFile.Save?, of number: InodeNumber
  ) -> PendingFile.Save? {
    guard let save, let left = unreadable[number] else { return save }
    return left.contains { $0.isSame(as: save) } ? nil : save
  }

  private func hadQuiet(_ save: PendingFile.Save, of number: InodeNumber) -> Bool {
    guard save.hadQuiet(of: settle) else { return false }
    guard let file = later[number]?.file else { return true }
    if let now = file.saved, now.isSame(as: save) { return now.hadQuiet(of: settle) }
    // A newer save has taken its place, which keeps it if it had its quiet.
    return file.counted?.isSame(as: save) ?? false
  }
}
