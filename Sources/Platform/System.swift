internal import CShims
internal import Glibc

/// The clocks.
package enum SystemClock {
  /// Time since 1970, UTC.
  package static func realtime() -> (seconds: Int64, nanoseconds: UInt32) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    return (Int64(now.tv_sec), UInt32(truncatingIfNeeded: now.tv_nsec))
  }

  /// Nanoseconds since some start; never goes back.
  package static func monotonic() -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  package static func sleep(nanoseconds: UInt64) {
    var rest = timespec(
      tv_sec: time_t(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    var left = timespec()
    // nanosleep(2) writes what is left when a signal wakes it.
    while unsafe nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
  }

  /// The UTC fields of a time since 1970; nil outside the years 0 to 9999.
  package static func utc(
    _ seconds: Int64
  ) -> (year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int)? {
    guard seconds >= -62_167_219_200, seconds < 253_402_300_800 else { return nil }
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe gmtime_r(&time, &parts) != nil else { return nil }
    return unsafe (
      Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour),
      Int(parts.tm_min), Int(parts.tm_sec)
    )
  }
}

/// The kernel's randomness.
package enum SystemRandom {
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

  /// Lower-case hex digits, two for each byte.
  package static func hex(_ count: Int) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
      as: UTF8.self)
  }
}

/// This process and this machine.
package enum SystemProcess {
  package static var id: Int32 { getpid() }
  package static var parent: Int32 { getppid() }

  /// Takes a name for the list of processes, of at most 15 bytes, on the thread that the process began
  /// with: one that was started through a link of another name would be found by that.
  package static func call(_ name: String) {
    // Where that cannot be said, it is only called otherwise. It is no file that has offsets.
    guard let file = try? File("/proc/self/comm", .write) else { return }
    _ = unsafe Array(name.utf8).withUnsafeBytes {
      unsafe Glibc.write(file.descriptor, $0.baseAddress, $0.count)
    }
  }

  package static var user: UInt32 { getuid() }
  package static var group: UInt32 { getgid() }
  /// The permissions that are taken from what is created; for a process in which nothing else asks meanwhile.
  package static var creationMask: UInt32 {
    let mask = umask(0o077)
    umask(mask)
    return mask
  }
  package static var effectiveUser: UInt32 { geteuid() }

  /// The id of the kernel's run: another after each boot.
  package static func bootID() throws(SystemError) -> String {
    let text = try FileSystem.read("/proc/sys/kernel/random/boot_id", atMost: 128)
    return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// Ends the process without running anything more, as kill -9 would.
  package static func exitAtOnce(_ code: Int32) -> Never { _exit(code) }

  /// Whether a process with this id is there.
  package static func isRunning(_ id: Int32) -> Bool {
    id > 0 && (kill(id, 0) == 0 || errno == EPERM)
  }
}
