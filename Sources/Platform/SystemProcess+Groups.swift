internal import CShims
internal import Glibc

extension SystemProcess {
  /// Returns true if a thread is the first of its process; it then has the process's id.
  package static func isFirstThread(_ thread: Int32) -> Bool {
    // tgkill(2) finds a thread only in the given group; signal 0 checks and sends nothing.
    thread > 0 && llvs_has_thread(thread, thread) != 0
  }

  /// Returns the process of a thread; nil if the thread does not exist.
  package static func group(ofThread thread: Int32) -> Int32? {
    guard thread > 0 else { return nil }
    guard let text = try? FileSystem.read("/proc/\(thread)/status", atMost: 65_536) else {
      return nil
    }
    for line in text.split(separator: UInt8(ascii: "\n")) {
      guard line.starts(with: "Tgid:".utf8) else { continue }
      let digits = line.dropFirst(5).filter { $0 >= 0x30 && $0 <= 0x39 }
      return Int32(String(decoding: digits, as: UTF8.self))
    }
    return nil
  }

  /// Returns the start of a process by ``SystemClock/boottime()``, at most 10 ms too early; nil if it has ended.
  package static func start(of process: Int32) -> UInt64? {
    guard let text = try? FileSystem.read("/proc/\(process)/stat", atMost: 8192),
      let end = text.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    // proc(5): the name is in parentheses and may hold any bytes; the start is field 22.
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 19, let ticks = UInt64(String(decoding: fields[19], as: UTF8.self)) else {
      return nil
    }
    let rate = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (nanoseconds, overflows) = ticks.multipliedReportingOverflow(by: 1_000_000_000 / rate)
    return overflows ? nil : nanoseconds
  }

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
