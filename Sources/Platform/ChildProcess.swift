internal import Glibc

package struct ChildProcess: Sendable {
  package let id: Int32

  /// Starts this program again in a session of its own, without input and output.
  package static func startDetached(
    arguments: [String], errors: File
  ) throws(SystemError) -> ChildProcess {
    try spawn(
      bytes: arguments.map { Array($0.utf8) }, path: "/proc/self/exe", errors: errors.descriptor,
      keepsSignals: true)
  }

  /// Runs a program with this process's input and output; returns its exit code, or 128 plus the signal number.
  package static func run(_ arguments: [String]) throws(SystemError) -> Int32 {
    try run(bytes: arguments.map { Array($0.utf8) })
  }

  /// The same with arguments of any bytes.
  package static func run(bytes arguments: [[UInt8]]) throws(SystemError) -> Int32 {
    guard let program = arguments.first.map({ FileSystem.text($0) }) else { return 0 }
    let texts = try arguments.map { argument throws(SystemError) in
      try FileSystem.terminated(argument)
    }
    var words: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var process = pid_t()
    let code = unsafe posix_spawnp(&process, program, nil, nil, words, environ)
    guard code == 0 else { throw SystemError(errno: code, call: "posix_spawnp", subject: program) }
    while true {
      if let code = try ChildProcess(id: process).exitCode(waiting: true) { return code }
    }
  }

  package struct Ending: Hashable, Sendable {
    /// Nil if this process killed it.
    package var code: Int32?
    /// The first bytes of standard error.
    package var said: [UInt8] = []
    package static let mostSaid = 1024
  }

  /// Runs a program in a session of its own, without input and output. After `patience` nanoseconds, or once
  /// `isGivenUp` is true, its group is killed.
  package static func run(
    _ arguments: [String], patience: UInt64, isGivenUp: () -> Bool = { false }
  ) throws(SystemError) -> Ending {
    try run(
      bytes: arguments.map { Array($0.utf8) }, patience: patience, isGivenUp: isGivenUp)
  }

  package static func run(
    bytes arguments: [[UInt8]], patience: UInt64, isGivenUp: () -> Bool = { false }
  ) throws(SystemError) -> Ending {
    guard !arguments.isEmpty else { return Ending(code: 0) }
    let ends = try makePipe()
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    var writer = ends[1]
    defer {
      close(ends[0])
      if writer >= 0 { close(writer) }
    }
    let child = try spawn(bytes: arguments, errors: writer)
    close(writer)
    writer = -1
    let end = SystemClock.monotonic() + patience
    var ending = Ending()
    var isSilent = false
    var pause: Int32 = 1
    while SystemClock.monotonic() < end, !isGivenUp() {
      if let code = try child.exitCode() {
        _ = drain(ends[0], into: &ending.said)
        ending.code = code
        return ending
      }
      // After the end of the output poll(2) would return at once.
      var waiting = pollfd(fd: isSilent ? -1 : ends[0], events: Int16(POLLIN), revents: 0)
      if unsafe poll(&waiting, 1, pause) > 0 { isSilent = drain(ends[0], into: &ending.said) }
      pause = min(pause * 2, 20)
    }
    // Not reaped yet, so the process still has this id.
    kill(-child.id, SIGKILL)
    _ = try child.exitCode(waiting: true)
    _ = drain(ends[0], into: &ending.said)
    return ending
  }

  /// Reads everything in a pipe and keeps the first bytes; true at the end of the output.
  private static func drain(_ pipe: Int32, into said: inout [UInt8]) -> Bool {
    // A pipe holds no more.
    for _ in 0..<16 {
      guard let bytes = read(pipe) else { return false }
      if bytes.isEmpty { return true }
      said += bytes.prefix(Ending.mostSaid - said.count)
    }
    return false
  }

  /// The exit code, 128 plus the number for a signal; nil while the process runs.
  package func exitCode(waiting: Bool = false) throws(SystemError) -> Int32? {
    var status: Int32 = 0
    while true {
      let found = unsafe waitpid(id, &status, waiting ? 0 : WNOHANG)
      if found == 0 { return nil }
      if found == id { break }
      let code = errno
      guard code == EINTR else { throw SystemError(errno: code, call: "waitpid") }
    }
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  /// Runs a program in a session of its own, without input, and returns its exit code and its output.
  /// - Throws: E2BIG if it wrote more than `bound` bytes, ETIMEDOUT if it took longer than `patience` nanoseconds,
  ///   ECANCELED once `isGivenUp` is true; the error of pipe(2) or posix_spawn(3).
  package static func output(
    of arguments: [String], atMost bound: Int, patience: UInt64, isGivenUp: () -> Bool = { false }
  ) throws(SystemError) -> (code: Int32, bytes: [UInt8]) {
    let ends = try makePipe()
    defer { close(ends[0]) }
    let child: ChildProcess
    do throws(SystemError) {
      child = try spawn(arguments, output: ends[1])
    } catch {
      close(ends[1])
      throw error
    }
    close(ends[1])
    let end = SystemClock.monotonic() + patience
    var bytes: [UInt8] = []
    do throws(SystemError) {
      while true {
        let failure: Int32? =
          bytes.count > bound
          ? E2BIG : SystemClock.monotonic() > end ? ETIMEDOUT : isGivenUp() ? ECANCELED : nil
        if let failure {
          throw SystemError(errno: failure, call: "run", subject: arguments.first ?? "")
        }
        var waiting = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&waiting, 1, 50) > 0 else { continue }
        guard let piece = read(ends[0]) else { continue }
        guard !piece.isEmpty else { break }
        bytes += piece
      }
      while SystemClock.monotonic() < end {
        if let code = try child.exitCode() { return (code, bytes) }
        SystemClock.sleep(nanoseconds: 1_000_000)
      }
      throw SystemError(errno: ETIMEDOUT, call: "run", subject: arguments.first ?? "")
    } catch {
      // Not reaped yet, so the session still has this id.
      kill(-child.id, SIGKILL)
      _ = try? child.exitCode(waiting: true)
      throw error
    }
  }
}

extension SystemProcess {
  /// Sends SIGTERM to a process; ids below 2 are ignored.
  package static func terminate(_ id: Int32) throws(SystemError) {
    guard id > 1, kill(id, SIGTERM) != 0 else { return }
    throw SystemError(errno: errno, call: "kill", subject: "\(id)")
  }

  /// Ends the process after the handlers of atexit(3) have run.
  package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

  /// Nil if it was removed, or cannot be reached.
  package static var workingDirectory: [UInt8]? { try? FileSystem.resolve([0x2E]) }

  package static func leaveWorkingDirectory() { _ = unsafe chdir("/") }
}
