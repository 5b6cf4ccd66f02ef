package import Inodes
package import LLVSCore

/// The bytes of a file that programs see, and what of them was saved.
package struct PendingFile: Equatable, Sendable {
  package var content: FileContent
  /// True if there are bytes, or a size, that no save covers.
  package var isUnsaved = false
  /// True for a file that was made here and never saved, so no version has it.
  package var isNeverSaved = false
  /// True if each unsaved write came through a handle that appends, or neither made nor emptied the file.
  package var isSteady = true
  /// True if unsaved bytes came from a mapping, so closing any handle that may write saves them.
  package var isMapped = false
  /// The newest save that no version took.
  package var saved: Save?
  /// The newest save that was followed by the quiet period, if ``saved`` is newer.
  package var counted: Save? {
    get { rare?.counted }
    set { setRare(newValue, taken) }
  }
  /// The content in the newest version that took it since the file became known here.
  package var taken: FileContent? {
    get { rare?.taken }
    set { setRare(counted, newValue) }
  }

  /// Facts of few files, so that other files take no room for them.
  private final class Rare: Equatable, Sendable {
    let counted: Save?
    let taken: FileContent?

    init(counted: Save?, taken: FileContent?) { (self.counted, self.taken) = (counted, taken) }

    static func == (a: Rare, b: Rare) -> Bool {
      a === b || a.counted == b.counted && a.taken == b.taken
    }
  }

  private var rare: Rare?

  private mutating func setRare(_ counted: Save?, _ taken: FileContent?) {
    if counted == nil, taken == nil {
      rare = nil
    } else {
      rare = Rare(counted: counted, taken: taken)
    }
  }

  /// A saved state: what a version may take.
  package struct Save: Hashable, Sendable {
    package var content: FileContent
    /// The time of the last change of the bytes, or the one that utimensat(2) gave them.
    package var mtime: Attributes.Time?
    package var time: Attributes.Time
    /// The time of the next write.
    package var broken: Attributes.Time?
    /// The epoch that the bytes were made on; nil for what the tree shows.
    package var on: Epoch?
    package var hasSetTime = false
    /// True if later writes do not matter because fsync(2) asked for it or writes had paused.
    package var isFirm = false
    /// True for a log or a database, whose bytes may be taken between writes.
    package var isSteady = false

    /// True if no write followed for `settle` nanoseconds.
    package func hadQuiet(of settle: UInt64) -> Bool {
      guard let broken else { return true }
      return time.nanoseconds(until: broken) >= settle
    }

    /// True if both are of one save, whatever was written afterwards.
    package func isSame(as other: Save) -> Bool {
      time == other.time && content == other.content && mtime == other.mtime
    }
  }

  package init(content: FileContent) { self.content = content }

  /// The state of a file that was made here and not saved.
  init(new content: FileContent) {
    self.content = content
    (isUnsaved, isNeverSaved, isSteady) = (true, true, false)
  }

  /// The bytes that were saved last, if they are known: a program may be rewriting the file.
  package var savedContent: FileContent? {
    isUnsaved ? saved?.content ?? counted?.content ?? taken : content
  }
  package var isPending: Bool { isUnsaved || saved != nil }
}

extension Attributes.Time {
  /// 0 if `later` is earlier.
  package func nanoseconds(until later: Attributes.Time) -> UInt64 {
    guard self < later else { return 0 }
    let seconds = later.seconds.subtractingReportingOverflow(self.seconds)
    guard !seconds.overflow, seconds.partialValue < 1 << 32 else { return .max }
    let whole = seconds.partialValue * 1_000_000_000
    return UInt64(whole + Int64(later.nanoseconds) - Int64(nanoseconds))
  }
}
