import Platform

/// Detects a daemon that was killed and has not ended (ConnectionWatch.swift).
package enum HeldDaemon {
  /// True if a process was killed, or is writing a core dump, and some of its threads have not ended.
  package static func isHeld(_ process: Int32, named name: String) -> Bool {
    guard process > 0,
      let text = try? FileSystem.read("/proc/\(process)/status", atMost: 16_384)
    else { return false }
    return isHeld(status: text, named: name)
  }

  /// The same for the text of `/proc/PID/status` (proc(5): Name, State, Threads, CoreDumping).
  package static func isHeld(status: [UInt8], named name: String) -> Bool {
    var fields: [Substring: Substring] = [:]
    for line in String(decoding: status, as: UTF8.self).split(separator: "\n") {
      let words = line.split(maxSplits: 1) { $0 == "\t" || $0 == " " }
      if words.count == 2 { fields[words[0]] = words[1] }
    }
    guard fields["Name:"].map(String.init) == name else { return false }
    if fields["CoreDumping:"] == "1" { return true }
    return fields["State:"]?.first == "Z" && (fields["Threads:"].flatMap { Int($0) } ?? 0) > 1
  }
}
