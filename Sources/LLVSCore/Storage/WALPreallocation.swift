internal import Platform

/// Zeros ahead of the end of SQLite's log (store.sqlite-wal), for a session that makes small commits.
///
/// The log is written from its beginning again after each checkpoint, in place: that its syncs are short.
/// Until it has had its full length once it would grow by every commit; so it grows in steps.
///
/// INVARIANT: zeros are written behind the file's end alone, by the one who may write to the log, while no
/// transaction of his is open. SQLite takes a frame for one only with the salt of the log's header and a
/// checksum over everything before it, so that zeros are the end of the log to whoever reads it.
struct WALPreallocation {
  /// Frames after which the log is checkpointed, and begun again.
  static let checkpoint = 1000

  private static let header: UInt64 = 32
  private static let frameHeader: UInt64 = 24
  /// A commit of more frames is not small, and one of the last before a checkpoint may have this many.
  private static let smallCommit = 16
  /// So many small commits promise more of them.
  private static let commitsForRoom = 4
  private static let step: UInt64 = 256 << 10

  private let path: String
  private let frame: UInt64
  private var file: File?
  private var frames = 0
  private var commits = 0
  /// The file ends here, as far as is known.
  private var end: UInt64 = 0

  /// For the log of the database at a path, with pages of this size.
  init(database path: String, pageSize: Int) {
    self.path = path + "-wal"
    frame = WALPreallocation.frameHeader + UInt64(pageSize)
  }

  /// Takes note of a commit after which the log has so many frames, and makes room for the next.
  mutating func committed(_ count: Int) {
    let added = count - (count < frames ? 0 : frames)
    frames = count
    guard added > 0, added <= WALPreallocation.smallCommit else { return }
    commits += 1
    let used = WALPreallocation.header + UInt64(count) * frame
    let next = used + UInt64(WALPreallocation.smallCommit) * frame
    guard commits > WALPreallocation.commitsForRoom, next > end else { return }
    guard makeRoom(used: used, next: next) else {
      // Some commits later there may be room.
      commits = 0
      return
    }
  }

  /// Takes note that the log was cut off.
  mutating func emptied() {
    (frames, commits, end) = (0, 0, 0)
  }

  private mutating func makeRoom(used: UInt64, next: UInt64) -> Bool {
    do throws(SystemError) {
      if file == nil { file = try File.regular(path, .readWrite) }
      guard let file else { return false }
      end = try file.status().size
      guard next > end else { return true }
      // No more than a log has when it is begun again.
      let full = WALPreallocation.header + UInt64(WALPreallocation.checkpoint + WALPreallocation.smallCommit) * frame
      let wanted = next <= full ? min(used + WALPreallocation.step, full) : used + WALPreallocation.step
      guard end >= used, file.makeRoom(from: end, to: max(wanted, next)) else { return false }
      end = max(wanted, next)
      return true
    } catch {
      return false
    }
  }
}
