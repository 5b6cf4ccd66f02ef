internal import Platform

/// Zeros ahead of the end of SQLite's log (store.sqlite-wal), for a session with small commits: a commit
/// that lengthens the file syncs slower than one over existing bytes.
///
/// INVARIANT S11: zeros are written only behind the file's end, by the process that may write to the log, while it
/// has no open transaction. SQLite accepts a frame only with the salts of the log's header and a checksum over
/// everything before it, so zeros are the end of the log to every reader.
struct WALPreallocation {
  /// The number of frames at which a checkpoint restarts the log.
  static let checkpoint = 1000
  private static let header: UInt64 = 32
  private static let frameHeader: UInt64 = 24
  /// A commit with more frames is not small, unless it is the last before a checkpoint.
  private static let smallCommit = 16
  /// After this many small commits more are expected.
  private static let commitsBeforeStart = 4
  private static let step: UInt64 = 256 << 10
  private let path: String
  private let frame: UInt64
  private var file: File?
  private var frames = 0
  private var commits = 0
  private var end: UInt64 = 0

  init(database path: String, pageSize: Int) {
    self.path = path + "-wal"
    frame = WALPreallocation.frameHeader + UInt64(pageSize)
  }

  /// Counts a commit after which the log has `count` frames, and writes zeros for the next.
  mutating func committed(_ count: Int) {
    let added = count - (count < frames ? 0 : frames)
    frames = count
    guard added > 0, added <= WALPreallocation.smallCommit else { return }
    commits += 1
    let used = WALPreallocation.header + UInt64(count) * frame
    let next = used + UInt64(WALPreallocation.smallCommit) * frame
    guard commits > WALPreallocation.commitsBeforeStart, next > end else { return }
    guard preallocate(used: used, next: next) else {
      // Later there may be space.
      commits = 0
      return
    }
  }

  mutating func emptied() { (frames, commits, end) = (0, 0, 0) }

  private mutating func preallocate(used: UInt64, next: UInt64) -> Bool {
    do throws(SystemError) {
      if file == nil { file = try File.regular(path, .readWrite) }
      guard let file else { return false }
      end = try file.status().size
      guard next > end else { return true }
      // The length of a full log, which is then restarted.
      let most = WALPreallocation.checkpoint + WALPreallocation.smallCommit
      let full = WALPreallocation.header + UInt64(most) * frame
      let step = used + WALPreallocation.step
      let wanted = next <= full ? min(step, full) : step
      guard end >= used, file.makeRoom(from: end, to: max(wanted, next)) else { return false }
      end = max(wanted, next)
      return true
    } catch {
      return false
    }
  }
}
