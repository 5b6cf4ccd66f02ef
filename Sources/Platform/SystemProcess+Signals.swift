internal import Glibc

extension SystemProcess {
  /// The signals by which somebody is told to stop waiting: a terminal's, a timer's, an end's.
  private static let endings = [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGALRM, SIGTERM]

  /// Whether a thread, of any process, has a signal waiting that tells it to stop what it does, and does not
  /// block it; nil where there is no such thread, or it cannot be looked at.
  ///
  /// Others, such as of a child that ended or a terminal that was resized, do not count. From
  /// `/proc/THREAD/status` (proc(5): SigPnd, ShdPnd, SigBlk).
  package static func isAskedToEnd(thread: Int32) -> Bool? {
    guard thread > 0, let text = try? FileSystem.read("/proc/\(thread)/status", atMost: 16_384)
    else { return nil }
    return isAskedToEnd(status: text)
  }

  /// The same from such a text; nil for one that does not tell.
  static func isAskedToEnd(status: [UInt8]) -> Bool? {
    var masks: [String: UInt64] = [:]
    for line in String(decoding: status, as: UTF8.self).split(separator: "\n") {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count == 2, let mask = UInt64(words[1], radix: 16) else { continue }
      masks[String(words[0])] = mask
    }
    guard let own = masks["SigPnd:"], let shared = masks["ShdPnd:"] else { return nil }
    let pending = (own | shared) & ~(masks["SigBlk:"] ?? 0)
    return endings.contains { pending >> UInt64($0 - 1) & 1 == 1 }
  }
}
