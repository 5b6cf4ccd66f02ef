package import Inodes

/// Decides which save a cut takes (docs/writes.md, rule 1): the newest, the newest before a quiet period, or none.
package struct SaveChoice: Sendable {
  package var reason: CutReason
  /// The quiet period in nanoseconds.
  package var settle: UInt64
  /// The files after an overdue cut's quiet period; empty for another cut.
  package var later = NodeMap()
  /// Unreadable bytes, which no version takes.
  package var unreadable: [InodeNumber: [FileContent]] = [:]

  /// The files among them that need bytes that the store has forgotten or never got.
  package var forgotten: Set<InodeNumber> = []

  package init(_ reason: CutReason, settle: UInt64) {
    self.reason = reason
    self.settle = settle
  }

  /// nil if no save counts.
  package func save(of number: InodeNumber, _ file: PendingFile) -> PendingFile.Save? {
    let counted = readable(file.counted, of: number)
    guard let saved = readable(file.saved, of: number) else { return counted }
    if reason == .command || saved.isFirm { return saved }
    if reason == .overdue, saved.isSteady, !file.isUnsaved { return saved }
    return hadQuiet(saved, of: number) ? saved : counted
  }

  /// Returns bytes that count without a save: those of the newest version, or those that the file was made with.
  func kept(of number: InodeNumber, _ file: PendingFile) -> FileContent? {
    guard let kept = unchecked(file), isReadable(kept, of: number) else { return nil }
    return kept
  }

  /// True if the newest bytes that a version might take are left out as unreadable.
  package func leavesOut(_ number: InodeNumber, _ file: PendingFile) -> Bool {
    guard !unreadable.isEmpty, let newest = file.saved?.content ?? unchecked(file)
    else { return false }
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
    // A newer save keeps this one if the quiet period followed it.
    return file.counted?.isSame(as: save) ?? false
  }
}
