internal import Glibc
internal import Synchronization

/// The calls that a test can make fail.
package enum SystemCall: String, Hashable, Sendable, CaseIterable {
  case open, read, write, sync, truncate, allocate, punch, rename, link, unlink, makeDirectory
  case removeDirectory, status, list, lock
  /// A reply to the kernel, not a call.
  case reply
}

/// Lets tests force a call to fail or to fall short, or the process to die.
///
/// Every call of this module passes here with its path. A fault is for paths below one directory, so concurrent tests
/// do not disturb each other. Without a plan the cost is one relaxed load.
package enum Faults {
  package enum Action: Hashable, Sendable {
    /// The call fails with this errno and does nothing.
    case fail(Int32)
    /// A write transfers at most this many bytes, as write(2) may.
    case short(Int)
    /// A write transfers this many bytes, an allocation or a hole is completed, another call is not made; then the
    /// process ends as by kill -9.
    case dieAfter(Int)
    /// The process ends as by kill -9, before the call.
    case die
  }

  package struct Plan: Sendable {
    package var calls: Set<SystemCall>
    /// Paths with this prefix count, except those with `sparing`.
    package var below: String
    package var sparing: String?
    /// The first call that has the effect, from 1, and the number of such calls.
    package var nth: Int
    package var times: Int
    package var action: Action

    package init(
      calls: Set<SystemCall> = Set(SystemCall.allCases), below: String, sparing: String? = nil,
      nth: Int = 1, times: Int = .max, action: Action
    ) {
      self.calls = calls
      self.below = below
      self.sparing = sparing
      self.nth = nth
      self.times = times
      self.action = action
    }
  }

  package struct Token: Hashable, Sendable { fileprivate let id: Int }

  package enum Phase: Hashable, Sendable {
    case before
    /// After a sync, an allocation or a hole that succeeded, with a path for reading the file.
    case after(String)
  }

  private struct Watcher {
    var id: Int
    var below: String
    var body: @Sendable (SystemCall, Phase) -> Void
  }

  private struct Armed {
    var id: Int
    var plan: Plan
    var counted = 0
  }

  private struct State {
    var armed: [Armed] = []
    var watchers: [Watcher] = []
    var next = 1
  }

  private static let isArmed = Atomic<Bool>(false)
  // A leaf lock.
  private static let state = Mutex(State())

  package static func arm(_ plan: Plan) -> Token {
    state.withLock { state in
      let id = state.next
      state.next += 1
      state.armed.append(Armed(id: id, plan: plan))
      isArmed.store(true, ordering: .sequentiallyConsistent)
      return Token(id: id)
    }
  }

  /// Disarms a plan and returns the number of calls that it counted.
  @discardableResult
  package static func disarm(_ token: Token) -> Int {
    state.withLock { state in
      guard let index = state.armed.firstIndex(where: { $0.id == token.id }) else { return 0 }
      let counted = state.armed.remove(at: index).counted
      updateArmed(state)
      return counted
    }
  }

  /// Calls a body at every call on paths with a prefix, on the calling thread.
  package static func watch(
    below: String, _ body: @escaping @Sendable (SystemCall, Phase) -> Void
  ) -> Token {
    state.withLock { state in
      let id = state.next
      state.next += 1
      state.watchers.append(Watcher(id: id, below: below, body: body))
      isArmed.store(true, ordering: .sequentiallyConsistent)
      return Token(id: id)
    }
  }

  package static func unwatch(_ token: Token) {
    state.withLock { state in
      state.watchers.removeAll { $0.id == token.id }
      updateArmed(state)
    }
  }

  private static func updateArmed(_ state: State) {
    let isOn = !state.armed.isEmpty || !state.watchers.isEmpty
    isArmed.store(isOn, ordering: .sequentiallyConsistent)
  }

  /// Reports a successful call that changes what survives a power failure.
  @inline(__always)
  static func passed(_ call: SystemCall, _ path: String, _ descriptor: Int32) {
    guard isArmed.load(ordering: .relaxed) else { return }
    notify(call, path, .after("/proc/self/fd/\(descriptor)"))
  }

  static func notify(_ call: SystemCall, _ path: String, _ phase: Phase) {
    let found = state.withLock { state in
      state.watchers.filter { path.hasPrefix($0.below) }
    }
    for watcher in found { watcher.body(call, phase) }
  }

  static var isOn: Bool { isArmed.load(ordering: .relaxed) }

  /// Applies a fault to a call that transfers no bytes.
  @inline(__always)
  static func pass(_ call: SystemCall, _ name: StaticString, _ path: String) throws(SystemError) {
    guard isArmed.load(ordering: .relaxed) else { return }
    if try passSpace(call, name, path) { die() }
  }

  /// Applies a fault to a call that changes a file's space; true if the process dies after it.
  static func passSpace(
    _ call: SystemCall, _ name: StaticString, _ path: String
  ) throws(SystemError) -> Bool {
    guard isArmed.load(ordering: .relaxed) else { return false }
    switch match(call, path) {
    case nil, .short: return false
    case .fail(let code): throw SystemError(errno: code, call: "\(name)", subject: path)
    case .dieAfter: return true
    case .die: die()
    }
  }

  /// Reports a reply that is about to be sent, which a watcher may delay.
  @inline(__always)
  package static func replying(_ what: StaticString, of path: String) {
    guard isArmed.load(ordering: .relaxed) else { return }
    notify(.reply, "\(path)/\(what)", .before)
  }

  /// Applies a fault to a write; returns the bytes that it may transfer, and true if the process dies then.
  @inline(__always)
  static func passWrite(
    _ name: StaticString, _ path: String, _ count: Int
  ) throws(SystemError) -> (count: Int, dies: Bool) {
    guard isArmed.load(ordering: .relaxed) else { return (count, false) }
    switch match(.write, path) {
    case nil: return (count, false)
    case .short(let most): return (min(count, max(1, most)), false)
    case .dieAfter(let most): return (min(count, most), true)
    case .fail(let code): throw SystemError(errno: code, call: "\(name)", subject: path)
    case .die: die()
    }
  }

  /// As kill -9 would.
  static func die() -> Never { _exit(137) }

  private static func match(_ call: SystemCall, _ path: String) -> Action? {
    notify(call, path, .before)
    return state.withLock { state in
      var action: Action?
      for index in state.armed.indices {
        let plan = state.armed[index].plan
        guard plan.calls.contains(call), path.hasPrefix(plan.below),
          !(plan.sparing.map { path.hasPrefix($0) } ?? false)
        else { continue }
        state.armed[index].counted += 1
        let counted = state.armed[index].counted
        guard action == nil, counted >= plan.nth, counted - plan.nth < plan.times else { continue }
        action = plan.action
      }
      return action
    }
  }

  // Faults of a C library that makes its own calls on descriptors, with the system's results and errno.

  /// Calls pwrite(2), or write(2) without an offset, unless a fault forbids it.
  package static func write(
    to descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, at offset: Int64?
  ) -> Int {
    let most: (count: Int, dies: Bool)
    do throws(SystemError) {
      most = try passWrite("pwrite", path(of: descriptor), count)
    } catch {
      errno = error.errno
      return -1
    }
    let written =
      if let offset { unsafe pwrite(descriptor, bytes, most.count, off_t(offset)) } else {
        unsafe Glibc.write(descriptor, bytes, most.count)
      }
    if most.dies { die() }
    return written
  }

  /// Runs `body`, which syncs files; nil if a fault forbids it.
  package static func sync(_ paths: [String], _ body: () -> Int32) -> Int32? {
    guard isOn else { return body() }
    do throws(SystemError) {
      for path in paths { try pass(.sync, "fdatasync", path) }
    } catch {
      return nil
    }
    let result = body()
    if result == 0 { for path in paths { notify(.sync, path, .after(path)) } }
    return result
  }

  private static func path(of descriptor: Int32) -> String {
    guard isOn else { return "" }
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
    return String(
      decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
