internal import Glibc

/// A process that this one started.
package struct ChildProcess: Sendable {
  /// The process's id.
  package let id: Int32

  /// Starts this program again in a session of its own, without input and output; its standard error
  /// goes to a file.
  ///
  /// - Throws: the error of posix_spawn(3).
  package static func startDetached(
    arguments: [String], errors: File
  ) throws(SystemError) -> ChildProcess {
    var attributes = posix_spawnattr_t()
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawnattr_init(&attributes)
    unsafe posix_spawn_file_actions_init(&actions)
    defer {
      unsafe posix_spawnattr_destroy(&attributes)
      unsafe posix_spawn_file_actions_destroy(&actions)
    }
    // spawn.h: POSIX_SPAWN_SETSID, which the importer does not see.
    unsafe posix_spawnattr_setflags(&attributes, 0x80)
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, errors.descriptor, 2)
    var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var process = pid_t()
    let code = unsafe posix_spawn(
      &process, "/proc/self/exe", &actions, &attributes, words, environ)
    guard code == 0 else { throw SystemError(errno: code, call: "posix_spawn") }
    return ChildProcess(id: process)
  }

  /// Runs a program with this process's input and output and waits for its end.
  ///
  /// - Returns: its exit code; 128 plus the signal's number if a signal ended it.
  package static func run(_ arguments: [String]) throws(SystemError) -> Int32 {
    try run(bytes: arguments.map { Array($0.utf8) })
  }

  /// Runs a program with this process's input and output and waits for its end; arguments may be
  /// any bytes.
  ///
  /// - Returns: its exit code; 128 plus the signal's number if a signal ended it.
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

  /// The result of a program that was run to its end.
  package struct Ending: Hashable, Sendable {
    /// Its exit code; nil if this process killed it.
    package var code: Int32?
    /// The first bytes that it wrote to standard error, at most ``mostSaid``.
    package var said: [UInt8] = []

    /// The greatest number of bytes of standard error that are kept.
    package static let mostSaid = 1024
  }

  /// Runs a program to its end in a session of its own, without input and output.
  ///
  /// A program that takes longer than `patience` nanoseconds, or for which `isGivenUp` returns
  /// true, is killed, with all processes of its group.
  ///
  /// - Throws: the error of pipe(2), posix_spawnp(3) or waitpid(2).
  package static func run(
    _ arguments: [String], patience: UInt64, isGivenUp: () -> Bool = { false }
  ) throws(SystemError) -> Ending {
    try run(
      bytes: arguments.map { Array($0.utf8) }, patience: patience, isGivenUp: isGivenUp)
  }

  /// The same with arguments of any bytes but NUL.
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
      // After the end of the output, poll(2) would return at once each time.
      var waiting = pollfd(fd: isSilent ? -1 : ends[0], events: Int16(POLLIN), revents: 0)
      if unsafe poll(&waiting, 1, pause) > 0 { isSilent = drain(ends[0], into: &ending.said) }
      pause = min(pause * 2, 20)
    }
    // The process has not been reaped yet, so its id cannot belong to another.
    kill(-child.id, SIGKILL)
    _ = try child.exitCode(waiting: true)
    _ = drain(ends[0], into: &ending.said)
    return ending
  }

  /// Reads everything that a pipe holds, so that the writer need not wait; keeps the first bytes.
  ///
  /// - Returns: true at the end of the output: no process has the other end open.
  private static func drain(_ pipe: Int32, into said: inout [UInt8]) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    // A pipe holds no more than this; what is written in the meantime is read by the next call.
    for _ in 0..<16 {
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe Glibc.read(pipe, $0.baseAddress, $0.count)
      }
      guard count > 0 else { return count == 0 }
      said += bytes.prefix(min(count, Ending.mostSaid - said.count))
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
}

extension SystemProcess {
  /// Sends SIGTERM to a process; ids below 2 are left alone.
  ///
  /// - Throws: the error of kill(2).
  package static func terminate(_ id: Int32) throws(SystemError) {
    guard id > 1, kill(id, SIGTERM) != 0 else { return }
    throw SystemError(errno: errno, call: "kill", subject: "\(id)")
  }

  /// Ends the process after the handlers of atexit(3) have run.
  package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

  /// The directory that relative paths start from; `/` if it cannot be found out.
  package static var workingDirectory: [UInt8] {
    (try? FileSystem.resolve([0x2E])) ?? [0x2F]
  }

  /// Makes `/` the directory that relative paths start from.
  package static func leaveWorkingDirectory() { _ = unsafe chdir("/") }
}
