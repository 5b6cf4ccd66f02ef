internal import Platform
internal import Synchronization

/// Objects that appear whole at a server: moved from temporary names, or put only when they are published. A server
/// that turns out to move nothing gets puts, unless they leave parts of objects (docs/exchanges.md, rule 8).
final class RemoteStaging: ObjectStaging {
  private struct Ready {
    /// The temporary name; nil for an object that is not at the remote yet.
    var place: ObjectName?
    var body: ObjectBody
  }

  private struct State {
    var ready: [ObjectName: Ready] = [:]
    var number = 0
    var isMoving: Bool
  }

  private let store: any ObjectStore
  private let folder: String
  private let temporary: String
  private let control: TransferControl
  // A leaf lock.
  private let state: Mutex<State>
  private var isMoving: Bool { state.withLock { $0.isMoving } }
  /// The answers of servers that cannot move, and of proxies in front of them.
  private static let notMoving: Set<Int> = [403, 405, 501, 502]
  private static let width = 8
  /// The most checks for an object that a list does not show yet, half a second apart.
  private static let looks = 10
  /// The longest time for removing unpublished objects, in nanoseconds.
  private static let patience: UInt64 = 500_000_000

  init(
    _ store: any ObjectStore, scratch: String, temporary: String, control: TransferControl
  ) throws(RemoteError) {
    self.store = store
    folder = scratch
    self.temporary = temporary
    self.control = control
    let isMoving = store.capabilities.contains(.move)
    state = Mutex(State(isMoving: isMoving))
    guard isMoving || store.capabilities.contains(.wholePuts) else { throw Self.tearing }
    guard isMoving else { return }
    try store.prepare([scratch])
    try clear()
  }

  private static var tearing: RemoteError {
    RemoteError(
      .unsupported,
      "this remote can show a half-written file to programs that read it: keep bundles there, "
        + "which are read safely, in place of single files")
  }

  /// Puts objects in place from now on.
  /// - Throws: ``RemoteError`` with `unsupported` if a put that breaks off leaves a part of the object.
  private func stopMoving() throws(RemoteError) {
    guard let name = ObjectName("\(folder)/half") else { throw Self.tearing }
    let half = [UInt8](repeating: 1, count: 1 << 20)
    let broken = ObjectBody(half, length: 2 << 20, hash: SHA256Digest.of(half))
    defer { try? store.delete(name) }
    do throws(RemoteError) {
      try store.put(name, broken)
    } catch {
      guard error.kind == .mismatched else { throw error }
    }
    for _ in 0..<Self.looks {
      // A server may still be writing when its client is gone.
      try control.pause(nanoseconds: TransferControl.patience)
      guard try lengths(of: [name]).isEmpty else { throw Self.tearing }
    }
    state.withLock { $0.isMoving = false }
  }

  /// Removes the objects of an interrupted send.
  private func clear() throws(RemoteError) {
    guard let prefix = ObjectPrefix(folder: folder) else { return }
    let left = try store.all(prefix)
    try RequestThreads.each(left.count, width: Self.width) { [self] (index) throws(RemoteError) in
      try store.delete(left[index].name)
    }
  }

  private final class Writing: StagedObject {
    private let staging: RemoteStaging
    private let name: ObjectName
    private let spool: BodySpool

    init(_ staging: RemoteStaging, _ name: ObjectName) {
      self.staging = staging
      self.name = name
      spool = BodySpool(directory: staging.temporary)
    }

    /// Checks this machine's disk, where the unfinished object is.
    func checkRoom(for length: UInt64) throws(RemoteError) {
      let room: UInt64
      do throws(SystemError) {
        room = try File(staging.temporary, [.read, .directory]).fileSystem().availableBytes
      } catch {
        throw RemoteError(.unreachable, "\(error)", object: name.text)
      }
      guard room < length else { return }
      throw RemoteError(
        .noSpace, "\(length) bytes do not fit into \(staging.temporary)", object: name.text)
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(RemoteError) {
      try staging.control.check()
      try spool.append(bytes)
    }

    func finish() throws(RemoteError) { try staging.finish(name, try spool.body()) }
  }

  func begin(_ name: ObjectName) throws(RemoteError) -> any StagedObject {
    try control.check()
    return Writing(self, name)
  }

  private func finish(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    guard isMoving else { return state.withLock { $0.ready[name] = Ready(place: nil, body: body) } }
    let number = state.withLock { state -> Int in
      state.number += 1
      return state.number
    }
    guard let place = ObjectName("\(folder)/\(number)") else {
      throw RemoteError(.invalid, "\(folder) is not a folder of a remote")
    }
    try store.put(place, body)
    state.withLock { $0.ready[name] = Ready(place: place, body: body) }
  }

  private struct Publishing {
    let name: ObjectName
    var object: Ready
    var isTaken = false
  }

  func publish(_ names: [ObjectName], replacing: Bool) throws(RemoteError) {
    do throws(RemoteError) {
      try publishReady(names, replacing: replacing)
    } catch {
      let cannotMove = error.kind == .unsupported || Self.notMoving.contains(error.status ?? 0)
      guard isMoving, cannotMove else { throw error }
      try stopMoving()
      try publishReady(names, replacing: replacing)
    }
  }

  private func publishReady(_ names: [ObjectName], replacing: Bool) throws(RemoteError) {
    let ready = state.withLock { $0.ready }
    var open = names.compactMap { name in ready[name].map { Publishing(name: name, object: $0) } }
    let before = isMoving ? [:] : try lengths(of: open.map(\.name))
    for index in open.indices {
      guard let length = before[open[index].name] else { continue }
      open[index].isTaken = !replacing || length == open[index].object.body.length
    }
    let taken = Mutex<Set<Int>>([])
    let objects = open
    try RequestThreads.each(objects.count, width: Self.width) {
      [self] (index) throws(RemoteError) in
      do throws(RemoteError) {
        if !objects[index].isTaken { try put(objects[index]) }
      } catch {
        guard error.kind == .exists else { throw error }
        taken.withLock { _ = $0.insert(index) }
      }
    }
    for index in taken.withLock({ $0 }) { open[index].isTaken = true }
    try check(open, replacing: replacing)
    state.withLock { state in for name in names { state.ready[name] = nil } }
  }

  private func put(_ publishing: Publishing) throws(RemoteError) {
    let place = publishing.object.place
    if isMoving, let place { return try store.move(place, to: publishing.name) }
    try store.put(publishing.name, publishing.object.body)
    if let place { try store.delete(place) }
  }

  /// Waits until lists show the objects, and replaces others if `replacing`.
  private func check(_ objects: [Publishing], replacing: Bool) throws(RemoteError) {
    var open = objects
    for look in 0..<Self.looks where !open.isEmpty {
      if look > 0 { try control.pause(nanoseconds: 500_000_000) }
      let there = try lengths(of: open.map(\.name))
      var rest: [Publishing] = []
      for var publishing in open {
        guard let length = there[publishing.name] else {
          rest.append(publishing)
          continue
        }
        if length == publishing.object.body.length || publishing.isTaken && !replacing {
          if publishing.isTaken, let place = publishing.object.place { try store.delete(place) }
          continue
        }
        if publishing.isTaken {
          try store.delete(publishing.name)
          try put(publishing)
          publishing.isTaken = false
        }
        rest.append(publishing)
      }
      open = rest
    }
    guard let first = open.first else { return }
    throw RemoteError(
      .unreachable, "the remote took it and does not show it whole", object: first.name.text)
  }

  private func lengths(of names: [ObjectName]) throws(RemoteError) -> [ObjectName: UInt64] {
    var lengths: [ObjectName: UInt64] = [:]
    let wanted = Set(names)
    for folder in Set(names.map(\.folder)) {
      guard let prefix = ObjectPrefix(folder: folder) else { continue }
      try store.list(prefix) { (page) throws(RemoteError) in
        for object in page where wanted.contains(object.name) {
          lengths[object.name] = object.length
        }
      }
    }
    return lengths
  }

  func abandon() {
    let left = state.withLock { state in
      defer { state.ready = [:] }
      return state.ready.values.compactMap(\.place)
    }
    let end = SystemClock.monotonic() + Self.patience
    for place in left where !control.isCancelled && SystemClock.monotonic() < end {
      // The next send removes a file that cannot be removed now.
      try? store.delete(place)
    }
  }
}
