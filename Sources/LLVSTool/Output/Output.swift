import Platform

/// Buffered standard output: written in large pieces, and after 50 ms at the next write.
/// - Concurrency: any thread; the lock is held while it writes, so that pieces do not mix.
final class Output: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    /// The time of the last write, on the monotonic clock.
    var last: UInt64 = 0
    var pager: Pager?
    var error: SystemError?
  }

  private static let limit = 65_536
  private let state = Monitor(State())

  /// Appends bytes; ends the process if the reader of the pipe has closed it.
  func write(_ bytes: some Sequence<UInt8>, now: Bool = false) {
    state.withLock { state in
      state.bytes += bytes
      let time = SystemClock.monotonic()
      guard now || state.bytes.count >= Self.limit || time > state.last + 50_000_000 else { return }
      state.last = time
      Self.flush(&state)
    }
  }

  private static func flush(_ state: inout State) {
    guard !state.bytes.isEmpty, state.error == nil else { return }
    do throws(SystemError) {
      try StandardStream.output.write(state.bytes)
    } catch {
      guard error.errno != Errno.brokenPipe else {
        state.pager?.finish()
        SystemProcess.exit(ExitCode.done.rawValue)
      }
      state.error = error
    }
    state.bytes.removeAll(keepingCapacity: true)
  }

  func page(_ command: String) {
    state.withLock { state in
      guard state.pager == nil else { return }
      Self.flush(&state)
      // Without a pager the text is written to standard output.
      state.pager = try? Pager.start(
        command, defaults: [("LESS", "FRX"), ("LV", "-c")])
    }
  }

  /// Writes everything that is buffered and waits for the pager.
  /// - Throws: The first error of writing standard output.
  func finish() throws(SystemError) {
    let error = state.withLock { state -> SystemError? in
      Self.flush(&state)
      state.pager?.finish()
      state.pager = nil
      return state.error
    }
    if let error { throw error }
  }
}
