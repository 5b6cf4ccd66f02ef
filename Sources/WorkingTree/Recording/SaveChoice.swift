package import Inodes

/// Decides which save of a file a cut takes (docs/writes.md, rule 1): the newest, the newest that were idle for the quiet period, or
/// none.
package struct SaveChoice: Sendable {
  /// The reason for the cut.
  package var reason: CutReason
  /// The nanoseconds in which no write must follow a save.
  package var settle: UInt64
  /// The files as they are now that an overdue cut were idle for the quiet period; none for another cut.
  package var later = NodeMap()
  /// Bytes of files that cannot be read, which no version takes.
  package var unreadable: [InodeNumber: [FileContent]] = [:]

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

  /// Returns the bytes of a file that count without a save: those that the newest version took, or those that it was
  /// made with; nil if there are none.
  func kept(of number: InodeNumber, _ file: PendingFile) -> FileContent? {
    guard let kept = unchecked(file), isReadable(kept, of: number) else { return nil }
    return kept
  }

  /// True if the newest bytes of the file that a version might take are left out since they cannot be read.
  package func leavesOut(_ number: InodeNumber, _ file: PendingFile) -> Bool {
    guard !unreadable.isEmpty, let newest = file.saved?.content ?? unchecked(file) else {
      return false
    }
    return !isReadable(newest, of: number)
  }

  private func unchecked(_ file: PendingFile) -> FileContent? {
    if file.isNeverSaved { return nil }
    if let taken = file.taken { return taken }
    return file.isPending ? nil : file.content
  }

  private func readable(_ save: PendingFile.Save?, of number: InodeNumber) -> PendingFile.Save? {
    guard let save, isReadable(save.content, of: number) else { return nil }
    return save
  }

  private func isReadable(_ content: FileContent, of number: InodeNumber) -> Bool {
    !(unreadable[number]?.contains(content) ?? false)
  }

  private func hadQuiet(_ save: PendingFile.Save, of number: InodeNumber) -> Bool {
    guard save.hadQuiet(of: settle) else { return false }
    guard let file = later[number]?.file else { return true }
    if let now = file.saved, now.isSame(as: save) { return now.hadQuiet(of: settle) }
    // A newer save has taken its place, which keeps it if it were idle for the quiet period.
    return file.counted?.isSame(as: save) ?? false
  }
}
