internal import Glibc

/// A program that ends with the last reference to it, and when this process ends in any way.
package final class OwnedProcess: Sendable {
  /// The shell gets the end of its input when this process ends, and then ends the program. The two have a process
  /// group of their own, so no reused id gets a signal.
  private static let guardScript = """
    exec 3<&0 </dev/null
    "$@" 3<&- &
    exec >/dev/null 2>&1
    read -r _ <&3
    trap : TERM
    kill -TERM 0
    wait
    """

  private struct State {
    var said: [UInt8] = []
    var isOver = false
  }

  private let child: ChildProcess
  /// This process's end of the shell's input.
  private let life: Int32
  private let reader: Int32
  private let state = Monitor(State())

  /// The most bytes of output that are kept.
  private static let mostSaid = 1 << 16

  /// Starts a program, found as execvp(3) finds it; `environment` has `NAME=VALUE`. The error of pipe(2) or
  /// posix_spawn(3).
  package init(_ arguments: [String], environment: [String]) throws(SystemError) {
    let input = try ChildProcess.makePipe()
    let output: [Int32]
    do throws(SystemError) {
      output = try ChildProcess.makePipe()
    } catch {
      for end in input { close(end) }
      throw error
    }
    defer {
      close(input[0])
      close(output[1])
    }
    do throws(SystemError) {
      child = try ChildProcess.spawn(
        ["/bin/sh", "-c", Self.guardScript, "sh"] + arguments,
        environment: environment, input: input[0], output: output[1], errors: output[1])
    } catch {
      close(input[1])
      close(output[0])
      throw error
    }
    life = input[1]
    reader = output[0]
    let (reader, state) = (reader, state)
    do throws(SystemError) {
      try SystemThread.detach(name: "llvs child") { Self.drain(reader, into: state) }
    } catch {
      // Without the thread no output is read.
      close(reader)
      state.withLock { $0.isOver = true }
    }
  }

  deinit {
    // The shell gets the end of its input.
    close(life)
    let end = SystemClock.monotonic() + 2_000_000_000
    while SystemClock.monotonic() < end {
      if let code = try? child.exitCode(), code >= 0 { return }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
    // Not reaped yet, so the session still has this id.
    kill(-child.id, SIGKILL)
    _ = try? child.exitCode(waiting: true)
  }

  private static func drain(_ pipe: Int32, into state: Monitor<State>) {
    while let bytes = ChildProcess.read(pipe), !bytes.isEmpty {
      state.withLock { $0.said += bytes.prefix(mostSaid - $0.said.count) }
      state.broadcast()
    }
    close(pipe)
    state.withLock { $0.isOver = true }
    state.broadcast()
  }

  package var said: String { state.withLock { String(decoding: $0.said, as: UTF8.self) } }

  /// True if the program has ended or closed its outputs.
  package var isOver: Bool { state.withLock { $0.isOver } }

  /// Returns what `body` finds in the output so far; nil after the time, or if the program ended first.
  package func wait<R>(nanoseconds: UInt64, for body: (String) -> R?) -> R? {
    let found: R?? = state.wait(nanoseconds: nanoseconds) { state in
      let found = body(String(decoding: state.said, as: UTF8.self))
      return found != nil || state.isOver ? .some(found) : nil
    }
    return found ?? nil
  }
}
