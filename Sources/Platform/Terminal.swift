internal import CShims
internal import Glibc

extension StandardStream {
  /// How many columns the terminal behind it has; nil where it is none or does not say.
  package var columns: Int? {
    let columns = llvs_terminal_columns(rawValue)
    return columns > 0 ? Int(columns) : nil
  }
}

/// A program that shows this process's standard output page by page.
///
/// - Concurrency: started and finished by one thread.
package final class Pager: Sendable {
  private let process: ChildProcess

  private init(process: ChildProcess) { self.process = process }

  /// Starts a command of the shell and gives it what is written to standard output from now on.
  ///
  /// A write after the program ended fails with EPIPE instead of ending this process.
  ///
  /// The defaults are variables that are set for it where the environment has none of the name.
  ///
  /// - Throws: what pipe(2), posix_spawn(3) and dup2(2) say; standard output is then as it was.
  package static func start(
    _ command: String, defaults: [(name: String, value: String)]
  ) throws(SystemError) -> Pager {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw SystemError(errno: errno, call: "pipe") }
    // The program would never see the end of its input if it held the other end too.
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

  /// Ends the program's input and waits until somebody has read it all or left.
  package func finish() {
    close(1)
    // Whatever is written yet must not land in a file that takes the number.
    _ = unsafe open("/dev/null", O_WRONLY)
    _ = try? process.exitCode(waiting: true)
  }
}
