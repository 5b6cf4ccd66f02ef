internal import Glibc

extension SystemProcess {
  /// The signals that ask a process to stop waiting: from a terminal, a timer, or kill(1).
  private static let endings = [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGALRM, SIGTERM]

  /// Returns true if a thread has a pending, unblocked signal that asks it to end; nil if this is unknown. The
  /// source is `/proc/THREAD/status` (proc(5): SigPnd, ShdPnd, SigBlk).
  package static func isAskedToEnd(thread: Int32) -> Bool? {
    guard thread > 0, let text = try? FileSystem.read("/proc/\(thread)/status", atMost: 16_384)
    else { return nil }
    return isAskedToEnd(status: text)
  }

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
