internal import CShims
internal import Glibc

/// The clocks.
package enum SystemClock {
  /// Returns the time since 1970, UTC.
  package static func realtime() -> (seconds: Int64, nanoseconds: UInt32) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    return (Int64(now.tv_sec), UInt32(truncatingIfNeeded: now.tv_nsec))
  }

  /// Returns nanoseconds since some start; the value never goes back.
  package static func monotonic() -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  /// Returns nanoseconds since the machine started, those in which it slept too; the value never goes
  /// back.
  package static func boottime() -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_BOOTTIME, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  /// Puts the calling thread to sleep, signals notwithstanding.
  package static func sleep(nanoseconds: UInt64) {
    var rest = timespec(
      tv_sec: time_t(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    var left = timespec()
    // nanosleep(2) writes what is left when a signal wakes it.
    while unsafe nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
  }
}

/// Random numbers from the kernel.
package enum SystemRandom {
  /// Returns random bytes that are fit for keys and ids.
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

  /// Returns random bytes as lower-case hexadecimal text, two digits for each byte.
  package static func hex(_ count: Int) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
      as: UTF8.self)
  }
}

/// This process and this machine.
package enum SystemProcess {
  /// The process's id.
  package static var id: Int32 { getpid() }
  /// The id of the process that started this one.
  package static var parent: Int32 { getppid() }

  /// Sets the process's name in lists of processes, of which the first 15 bytes count.
  ///
  /// A process that was started through a link of another name would otherwise be listed by that
  /// name.
  ///
  /// - Concurrency: on the thread that the process began with.
  package static func call(_ name: String) {
    // Without a name of its own, the process keeps the name that it was started by. The file knows
    // no offsets.
    guard let file = try? File("/proc/self/comm", .write) else { return }
    _ = unsafe Array(name.utf8).withUnsafeBytes {
      unsafe Glibc.write(file.descriptor, $0.baseAddress, $0.count)
    }
  }

  /// The user id that the process was started with.
  package static var user: UInt32 { getuid() }
  /// The group id that the process was started with.
  package static var group: UInt32 { getgid() }
  /// The permissions that are removed from each created file (umask).
  ///
  /// - Concurrency: for a process in which no other thread creates files in the meantime.
  package static var creationMask: UInt32 {
    let mask = umask(0o077)
    umask(mask)
    return mask
  }
  /// The user id that permissions are checked for.
  package static var effectiveUser: UInt32 { geteuid() }

  /// Returns the id of the kernel's run: each boot has another.
  package static func bootID() throws(SystemError) -> String {
    let text = try FileSystem.read("/proc/sys/kernel/random/boot_id", atMost: 128)
    return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// Ends the process at once, without any clean-up, as kill -9 would.
  package static func exitAtOnce(_ code: Int32) -> Never { _exit(code) }

  /// Returns true if there is a process with this id.
  package static func isRunning(_ id: Int32) -> Bool {
    id > 0 && (kill(id, 0) == 0 || errno == EPERM)
  }
}
