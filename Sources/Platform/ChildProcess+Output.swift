internal import Glibc

extension ChildProcess {
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
    var piece = [UInt8](repeating: 0, count: 4096)
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
        let count = unsafe piece.withUnsafeMutableBytes {
          unsafe Glibc.read(ends[0], $0.baseAddress, $0.count)
        }
        guard count != 0 else { break }
        if count > 0 { bytes += piece.prefix(count) }
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
