import Foundation

/// A clock that a test turns, for programs that run with its environment.
package struct FakeClock: Sendable {
  private static let library = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
    .map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
    .first { FileManager.default.fileExists(atPath: $0) }

  /// True if Debian's faketime is installed.
  package static var isPossible: Bool { library != nil }

  private let file: String

  /// Makes a clock that is right; the file keeps its offset.
  package init(file: String) throws {
    self.file = file
    try set("+0")
  }

  /// Turns the clock by an offset from the right time, such as `-20h`.
  package func set(_ offset: String) throws {
    try "\(offset)\n".write(toFile: file + ".new", atomically: true, encoding: .utf8)
    _ = try shell("mv '\(file).new' '\(file)'")
  }

  /// The environment of programs that have this clock.
  ///
  /// The library makes files with the number of its process, which a killed one leaves, and exits
  /// where it meets such files. So the files of processes that are gone are removed first.
  package func environment() throws -> [String: String] {
    _ = try shell(
      """
      for file in /dev/shm/*faketime_s[eh]m_*; do
        test -d "/proc/${file##*_}" || rm -f "$file"
      done
      """)
    return [
      "LD_PRELOAD": Self.library ?? "", "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1",
      "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
      // Else the library changes the environment, behind which Swift looks for its arguments.
      "FAKETIME_SHARED": "none none",
    ]
  }
}
