internal import CShims
internal import Glibc

extension StandardStream {
  /// The number of columns of the terminal; nil if this is not a terminal, or it does not say.
  package var columns: Int? {
    let columns = llvs_terminal_columns(rawValue)
    return columns > 0 ? Int(columns) : nil
  }
}

extension StandardStream {
  /// Reads a line as ``readLine()`` does, while the terminal shows nothing of what is typed.
  ///
  /// - Returns: nil at the end of the stream, or if this is no terminal whose echo can be turned off.
  package func readHiddenLine() -> String? {
    var before = termios()
    guard unsafe tcgetattr(rawValue, &before) == 0 else { return nil }
    var hidden = before
    hidden.c_lflag &= ~tcflag_t(ECHO)
    hidden.c_lflag |= tcflag_t(ECHONL)
    guard unsafe tcsetattr(rawValue, TCSAFLUSH, &hidden) == 0 else { return nil }
    defer { _ = unsafe tcsetattr(rawValue, TCSAFLUSH, &before) }
    return readLine()
  }
}

/// A program that shows this process's standard output page by page.
///
/// - Concurrency: started and finished by one thread.
package final class Pager: Sendable {
  private let process: ChildProcess

  private init(process: ChildProcess) { self.process = process }

  /// Starts a command of the shell and connects standard output to its input.
  ///
  /// A write after the command has ended fails with EPIPE instead of ending this process.
  ///
  /// - Parameters:
  ///   - command: the text that `sh -c` runs.
  ///   - defaults: variables to set for it where the environment has none of the name.
  /// - Returns: the running program, to be ended by ``finish()``.
  /// - Throws: the error of pipe(2), posix_spawn(3) or dup2(2); standard output is then as it was.
  package static func start(
    _ command: String, defaults: [(name: String, value: String)]
  ) throws(SystemError) -> Pager {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw SystemError(errno: errno, call: "pipe") }
    // With the writing end open in it, the program would never see the end of its input.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
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
    guard dup2(ends[1], 1) == 1 else { throw SystemError(errno: errno, call: "dup2") }
    _ = signal(SIGPIPE, SIG_IGN)
    return Pager(process: ChildProcess(id: process))
  }

  /// Ends the program's input and waits until the program has ended.
  package func finish() {
    close(1)
    // Later output must not go into a file that happens to get the number 1.
    _ = unsafe open("/dev/null", O_WRONLY)
    _ = try? process.exitCode(waiting: true)
  }
}
