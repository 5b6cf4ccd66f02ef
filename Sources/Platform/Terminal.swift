internal import CShims
internal import Glibc

extension StandardStream {
  /// The number of columns of the terminal; nil if this is no terminal, or the number is unknown.
  package var columns: Int? {
    let columns = llvs_terminal_columns(rawValue)
    return columns > 0 ? Int(columns) : nil
  }

  /// Reads a line that the terminal does not show; nil at the end of the stream, after Ctrl-C, or if hiding fails.
  /// Ctrl-C sends SIGINT to this process only when the terminal shows typing again.
  package func readHiddenLine() -> String? {
    var before = termios()
    guard unsafe tcgetattr(rawValue, &before) == 0 else { return nil }
    var hidden = before
    hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
    hidden.c_lflag |= tcflag_t(ECHONL)
    // Elements VINTR and VEOL: the key of Ctrl-C ends the line.
    let interrupt = before.c_cc.0
    hidden.c_cc.11 = interrupt
    guard unsafe tcsetattr(rawValue, TCSAFLUSH, &hidden) == 0 else { return nil }
    let (line, end) = readBytes(to: interrupt == 0 ? [0x0A] : [0x0A, interrupt])
    _ = unsafe tcsetattr(rawValue, TCSAFLUSH, &before)
    if end == interrupt {
      raise(SIGINT)
      return nil
    }
    return end == nil && line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
  }

  /// Returns the bytes before the first byte of `ends`, and that byte; nil for it at the end of the stream.
  private func readBytes(to ends: [UInt8]) -> (bytes: [UInt8], end: UInt8?) {
    var bytes: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      let count = unsafe read(rawValue, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return (bytes, nil) }
      if ends.contains(byte) { return (bytes, byte) }
      bytes.append(byte)
    }
  }
}

/// A program that shows this process's standard output page by page. For one thread.
package final class Pager: Sendable {
  private let process: ChildProcess

  private init(process: ChildProcess) { self.process = process }

  /// Runs a command of `sh -c` and connects standard output to its input; an error changes nothing. A write after
  /// the command has ended fails with EPIPE. `defaults` are for missing environment variables.
  package static func start(
    _ command: String, defaults: [(name: String, value: String)]
  ) throws(SystemError) -> Pager {
    // With an inherited writing end the program would never see the end of its input.
    let ends = try ChildProcess.makePipe()
    defer { for end in ends { close(end) } }
    for (name, value) in defaults { unsafe setenv(name, value, 0) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
    let arguments = ["sh", "-c", command]
    var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var process = pid_t()
    let code = unsafe posix_spawn(&process, "/bin/sh", &actions, nil, words, environ)
    guard code == 0 else { throw SystemError(errno: code, call: "posix_spawn", subject: command) }
    try FileSystem.check(dup2(ends[1], 1), "dup2")
    _ = signal(SIGPIPE, SIG_IGN)
    return Pager(process: ChildProcess(id: process))
  }

  package func finish() {
    close(1)
    // Later output must not go into a file that happens to get the number 1.
    _ = unsafe open("/dev/null", O_WRONLY)
    _ = try? process.exitCode(waiting: true)
  }
}
