import LLVS
import Platform

/// The log that `.llvs/log` shows: one line per version, merge, exchange and error, newest last.
///
/// Kept in `STORE/log`; half of it goes when it reaches 4 MiB, the older half. Losing lines loses nothing
/// else.
package final class EventLog: Sendable {
  private static let limit = 4 << 20
  private let path: String
  // Held while a line is written, so that lines do not mix; nothing else is taken under it.
  private let file = Monitor<(File?, UInt64)>((nil, 0))

  /// Opens the log of a store's directory.
  package init(directory: String) {
    path = directory + "/log"
  }

  /// Adds a line; one that cannot be written is dropped, since nothing may fail for the log's sake.
  package func add(_ kind: String, _ text: String) {
    let time = Self.time()
    let clean = text.map { $0 == "\n" ? " " : String($0) }.joined()
    let line = Array("\(time) \(kind) \(clean)\n".utf8)
    file.withLock { state in
      do throws(SystemError) {
        let file: File
        if let open = state.0 {
          file = open
        } else {
          file = try File(path, [.readWrite, .create, .noFollow], permissions: 0o600)
          state = (file, try file.status().size)
        }
        if state.1 > UInt64(Self.limit) {
          let tail = try file.read(Self.limit / 2, at: state.1 - UInt64(Self.limit / 2))
          let start = tail.firstIndex(of: 0x0A).map { $0 + 1 } ?? 0
          try FileSystem.replace(path, with: Array(tail[start...]))
          let fresh = try File(path, .readWrite)
          state = (fresh, UInt64(tail.count - start))
          try fresh.write(line, at: state.1)
        } else {
          try file.write(line, at: state.1)
        }
        state.1 += UInt64(line.count)
      } catch {
        state = (nil, 0)
      }
    }
  }

  private static func time() -> String {
    let now = SystemClock.realtime()
    guard let utc = SystemClock.utc(now.seconds) else { return "?" }
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "\(utc.year)-\(two(utc.month))-\(two(utc.day))T\(two(utc.hour)):\(two(utc.minute)):"
      + "\(two(utc.second))Z"
  }

  /// The whole log.
  package func text() -> [UInt8] {
    (try? FileSystem.read(path, atMost: Self.limit * 2)) ?? []
  }
}
