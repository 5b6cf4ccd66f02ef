import Events
import Grammar
import Platform

/// Runs the commands of `on-version`, `on-conflict` and `on-sync`, one after the other, concurrently with the rest.
/// The shell runs a command as the mounting user, with paths as arguments, which never become part of the script.
/// `LLVS_EVENT`, `LLVS_VERSION` and `LLVS_STORE` describe the event. A failure is in the log, and in the status
/// until a success.
/// - Concurrency: any thread; its lock is a leaf and not held while a command runs.
package final class HookRunner: Sendable {
  struct Call: Sendable {
    var setting: StoreSettings.Name
    var command: String
    var version: String
    /// Paths from the top of the tree.
    var paths: [[UInt8]]
  }

  /// The longest time that a command may take, in nanoseconds.
  package static let patience: UInt64 = 60_000_000_000
  /// The most commands that wait; further ones are dropped and logged.
  private static let queueLimit = 64
  /// The most paths of a command, and their most bytes.
  private static let pathLimit = 1000
  private static let byteLimit = 100_000

  private struct State {
    var waiting: [@Sendable () -> Call?] = []
    var isRunning = false
    var isEnding = false
    /// The commands whose last run failed.
    var failures: [StoreSettings.Name: (command: String, text: String)] = [:]
  }

  private let state = Monitor(State())
  private let store: String
  private let log: EventLog

  init(store: String, log: EventLog) {
    self.store = store
    self.log = log
  }

  /// Queues a command; its thread computes which one, and with what arguments.
  func add(_ make: @escaping @Sendable () -> Call?) {
    let (isNew, isFull) = state.withLock { state -> (Bool, Bool) in
      if state.isEnding { return (false, false) }
      guard state.waiting.count < Self.queueLimit else { return (false, true) }
      state.waiting.append(make)
      defer { state.isRunning = true }
      return (!state.isRunning, false)
    }
    if isFull { log.add("error", "too much happens at once: a command of on-... is left out") }
    guard isNew else { return }
    do throws(SystemError) {
      try SystemThread.detach { [self] in runAll() }
    } catch {
      state.withLock { state in
        state.waiting = []
        state.isRunning = false
      }
      log.add("error", "no command of on-... can be run: \(error)")
    }
  }

  /// Runs all queued commands and accepts no more.
  package func finish() {
    state.withLock { $0.isEnding = true }
    _ = state.wait(nanoseconds: Self.patience) { $0.isRunning ? nil : true }
  }

  package func drain() { _ = state.wait(nanoseconds: Self.patience) { $0.isRunning ? nil : true } }

  private func runAll() {
    while true {
      let next = state.withLock { state -> (@Sendable () -> Call?)? in
        guard !state.waiting.isEmpty else {
          state.isRunning = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      guard let next else { return state.broadcast() }
      if let call = next() { run(call) }
    }
  }

  private func run(_ call: Call) {
    var paths: [[UInt8]] = []
    var room = Self.byteLimit
    for path in call.paths.prefix(Self.pathLimit) where !path.contains(0) {
      room -= path.count
      if room < 0 { break }
      paths.append(path)
    }
    let event = String(call.setting.rawValue.dropFirst(3))
    // The command gets only the paths, without the words that describe the event.
    let names = call.command.contains { ";&|<>$".contains($0) } ? "" : " \"$@\""
    let script = """
      LLVS_EVENT=$1 LLVS_VERSION=$2 LLVS_STORE=$3; export LLVS_EVENT LLVS_VERSION LLVS_STORE; shift 3
      \(call.command)\(names)
      """
    let words = ["/bin/sh", "-c", script, "llvs-\(event)", event, call.version, store]
    do throws(SystemError) {
      let ending = try ChildProcess.run(
        bytes: words.map { Array($0.utf8) } + paths, patience: Self.patience)
      guard let code = ending.code else {
        return note(call, "took longer than \(Self.patience / 1_000_000_000) s")
      }
      let said = String(decoding: ending.said.prefix { $0 != 0x0A }.prefix(200), as: UTF8.self)
      note(call, code == 0 ? nil : "ended with \(code)" + (said.isEmpty ? "" : ": \(said)"))
    } catch {
      note(call, "could not be run: \(error)")
    }
  }

  private func note(_ call: Call, _ failure: String?) {
    let text = failure.map { "\(call.setting.rawValue): \(call.command) \($0)" }
    state.withLock { $0.failures[call.setting] = text.map { (call.command, $0) } }
    if let text { log.add("error", text) }
  }

  /// The failures of commands that are set now and have not succeeded since.
  func failures(in settings: StoreSettings) -> [String] {
    state.withLock { $0.failures }.filter { settings.text(of: $0.key) == $0.value.command }
      .map(\.value.text).sorted()
  }
}
