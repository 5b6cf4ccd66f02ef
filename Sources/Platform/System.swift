internal import CShims
internal import Glibc

package enum SystemClock {
  /// Since 1970, UTC.
  package static func realtime() -> (seconds: Int64, nanoseconds: UInt32) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    return (Int64(now.tv_sec), UInt32(truncatingIfNeeded: now.tv_nsec))
  }

  /// Returns nanoseconds since 1970.
  package static func now() -> Int64 { Int64(read(CLOCK_REALTIME)) }

  /// Returns nanoseconds since some start; the value never goes back.
  package static func monotonic() -> UInt64 { read(CLOCK_MONOTONIC) }

  /// Returns nanoseconds since the machine started, sleep included; the value never goes back.
  package static func boottime() -> UInt64 { read(CLOCK_BOOTTIME) }

  private static func read(_ clock: clockid_t) -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(clock, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  /// Returns the difference of local time from UTC, in seconds, at a number of seconds since 1970.
  package static func localOffset(at seconds: Int64) -> Int64 {
    // tzset(3): the zone's file may have been replaced since the last call.
    tzset()
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe localtime_r(&time, &parts) != nil else { return 0 }
    return unsafe Int64(parts.tm_gmtoff)
  }

  /// Sleeps in the calling thread, in spite of signals.
  package static func sleep(nanoseconds: UInt64) {
    var rest = timespec(
      tv_sec: time_t(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    var left = timespec()
    // nanosleep(2) writes the rest of the time when a signal wakes it.
    while unsafe nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
  }
}

package enum SystemMemory {
  /// Returns unused pages to the system.
  /// - Complexity: O(memory); a thread that allocates in the meantime may wait for milliseconds.
  package static func trim() { _ = malloc_trim(0) }

  /// Makes threads allocate from one arena a processor, and not from eight, whose free pages no other thread uses.
  package static func shareArenas() { _ = mallopt(M_ARENA_MAX, max(2, llvs_processor_count())) }
}

/// Random numbers from the kernel.
package enum SystemRandom {
  /// Fit for keys and ids.
  package static func bytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      var word = generator.next()
      for _ in 0..<min(8, count - bytes.count) {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    return bytes
  }

  /// Returns random bytes as hexadecimal text, two digits for each byte.
  package static func hex(_ count: Int) -> String { bytes(count).hex }
}

extension Collection<UInt8> {
  /// Two digits for each byte.
  package var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(2 * count)
    for byte in self {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}

package enum SystemProcess {
  package static var id: Int32 { getpid() }

  /// Sets the process's name in lists of processes, at most 15 bytes of it.
  /// - Concurrency: on the process's first thread.
  package static func call(_ name: String) {
    // The file has no offsets.
    guard let file = try? File("/proc/self/comm", .write) else { return }
    _ = unsafe Array(name.utf8).withUnsafeBytes {
      unsafe Glibc.write(file.descriptor, $0.baseAddress, $0.count)
    }
  }

  package static var user: UInt32 { getuid() }
  package static var group: UInt32 { getgid() }
  /// The umask.
  /// - Concurrency: no other thread may create files in the meantime.
  package static var creationMask: UInt32 {
    let mask = umask(0o077)
    umask(mask)
    return mask
  }
  /// The user id of permission checks.
  package static var effectiveUser: UInt32 { geteuid() }

  /// Different for each boot.
  package static func bootID() throws(SystemError) -> String {
    let text = try FileSystem.read("/proc/sys/kernel/random/boot_id", atMost: 128)
    return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// Ends the process without any clean-up, as kill -9 would.
  package static func exitAtOnce(_ code: Int32) -> Never { _exit(code) }

  package static func isRunning(_ id: Int32) -> Bool {
    id > 0 && (kill(id, 0) == 0 || errno == EPERM)
  }

  /// The program's name comes first.
  package static var arguments: [[UInt8]] {
    (0..<Int(CommandLine.argc)).compactMap { index in
      guard let word = unsafe CommandLine.unsafeArgv[index] else { return nil }
      return unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
    }
  }

  /// The directory for temporary files: `TMPDIR`, or /tmp.
  package static var temporaryDirectory: String {
    let named = environment("TMPDIR") ?? ""
    return named.hasPrefix("/") ? named : "/tmp"
  }

  package static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Returns true if execvp(3) would find a program of this name.
  package static func isInstalled(_ program: String) -> Bool {
    if program.contains("/") { return unsafe access(program, X_OK) == 0 }
    let path = environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
    return path.split(separator: ":").contains { unsafe access("\($0)/\(program)", X_OK) == 0 }
  }

  /// The full name of the process's user, else the login name; empty without both.
  package static let userName: String = {
    var buffer = [CChar](repeating: 0, count: 65_536)
    let names = unsafe buffer.withUnsafeMutableBufferPointer { buffer -> [String] in
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      guard let start = buffer.baseAddress,
        unsafe getpwuid_r(geteuid(), &entry, start, buffer.count, &found) == 0,
        let user = unsafe found?.pointee
      else { return [] }
      return unsafe [user.pw_gecos, user.pw_name].map { text in
        unsafe text.map { unsafe String(cString: $0) } ?? ""
      }
    }
    // passwd(5): a room and telephone numbers follow after a comma.
    let full = names.first?.prefix { $0 != "," } ?? ""
    return oneLine(full.isEmpty ? names.last ?? environment("USER") ?? "" : String(full))
  }()

  /// The name of this machine, without its domain; empty if it has none.
  package static let hostName: String = {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
    let text = String(
      decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return oneLine(text.split(separator: ".").first.map(String.init) ?? text)
  }()

  private static func oneLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 }.prefix(200)))
  }
}
