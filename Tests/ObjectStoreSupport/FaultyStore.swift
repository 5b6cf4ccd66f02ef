package import ObjectStores
import Platform
import Synchronization
import TestSupport

/// The faults of a remote. Each number is a probability from 0 to 1.
package struct StoreFaults: Sendable {
  /// A request fails before it did anything.
  package var fails = 0.0
  /// A request does what it should and its answer is lost.
  package var loses = 0.0
  /// A put leaves the first part of the object under its name and fails.
  package var tears = 0.0
  /// A get ends in the middle.
  package var breaks = 0.0
  /// A put is done once more, after some later request.
  package var doubles = 0.0
  /// A get finds nothing though the object was put.
  package var forgets = 0.0
  /// An object is put and never listed.
  package var withholds = 0.0
  /// The number of later lists that may still show what was there before a put or a delete.
  package var lag = 0
  /// Lists come in another order each time.
  package var shuffles = false
  /// The duration of a request, in nanoseconds.
  package var delay: ClosedRange<UInt64> = 0...0

  /// Nothing goes wrong.
  package init() {}
}

/// Puts faults before a remote. What happens follows from the seed and the order of the calls.
package final class FaultyStore<Base: ObjectStore>: ObjectStore {
  private struct Change {
    /// The lists that it is hidden from yet.
    var left: Int
    /// The object that stood there before; nil if there was none.
    var before: ListedObject?
  }

  private struct State {
    var random: SeededRandom
    var changes: [ObjectName: Change] = [:]
    var withheld: Set<ObjectName> = []
    var late: [(ObjectName, ObjectBody)] = []
  }

  private let base: Base
  private let control: TransferControl
  private let faults: StoreFaults
  private let state: Mutex<State>

  /// Puts faults before `base`.
  package init(_ base: Base, _ faults: StoreFaults, seed: UInt64, control: TransferControl) {
    self.base = base
    self.faults = faults
    self.control = control
    state = Mutex(State(random: SeededRandom(seed: seed)))
  }

  package var capabilities: StoreCapabilities {
    faults.tears > 0 ? base.capabilities.subtracting(.wholePuts) : base.capabilities
  }

  private func happens(_ chance: Double) -> Bool {
    chance > 0 && state.withLock { Double.random(in: 0..<1, using: &$0.random) < chance }
  }

  private var lost: RemoteError {
    RemoteError(.unreachable, "the answer was lost on purpose", isTransient: true)
  }

  private func request<Result>(
    _ body: () throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    try control.check()
    let delay = state.withLock { UInt64.random(in: faults.delay, using: &$0.random) }
    if delay > 0 { try control.pause(nanoseconds: delay) }
    let late = state.withLock { state in
      defer { state.late = [] }
      return state.late
    }
    for (name, body) in late { try base.put(name, body) }
    if happens(faults.fails) {
      throw RemoteError(.unreachable, "it failed on purpose", status: 503, isTransient: true)
    }
    let result = try body()
    if happens(faults.loses) { throw lost }
    return result
  }

  package func prepare(_ folders: [String]) throws(RemoteError) {
    try request { () throws(RemoteError) in try base.prepare(folders) }
  }

  package func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    var found = try request { () throws(RemoteError) in
      try base.list(prefix, after: after, page: page)
    }
    state.withLock { state in
      found.objects.removeAll { state.withheld.contains($0.name) || state.changes[$0.name] != nil }
      for (name, change) in state.changes {
        guard name.folder == prefix.folder, prefix.name(of: name.last) != nil else { continue }
        // Shown once, on the first page, as it was.
        if page == nil, let before = change.before, after.map({ name > $0 }) ?? true {
          found.objects.append(before)
        }
        if found.next == nil { state.changes[name]?.left -= 1 }
      }
      state.changes = state.changes.filter { $0.value.left > 0 }
      if faults.shuffles { found.objects.shuffle(using: &state.random) }
    }
    return found
  }

  package func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    if happens(faults.forgets) {
      throw RemoteError(.absent, "it is hidden on purpose", object: name.text)
    }
    let breaks = happens(faults.breaks)
    return try request { () throws(RemoteError) in
      var pieces = 0
      return try base.get(name, range: range) { (piece) throws(RemoteError) in
        pieces += 1
        guard breaks else { return try sink(piece) }
        guard pieces == 1, piece.count > 1 else { throw self.lost }
        _ = try sink(UnsafeRawBufferPointer(rebasing: piece[..<(piece.count / 2)]))
        throw self.lost
      }
    }
  }

  /// The entry of an object in a list of the remote now.
  private func shown(_ name: ObjectName) throws(RemoteError) -> ListedObject? {
    guard let prefix = ObjectPrefix(name.text) else { return nil }
    return try base.all(prefix).first { $0.name == name }
  }

  private func noteChange(of name: ObjectName, from before: ListedObject?) {
    state.withLock { state in
      guard faults.lag > 0, state.changes[name] == nil else { return }
      let left = Int.random(in: 0...faults.lag, using: &state.random)
      if left > 0 { state.changes[name] = Change(left: left, before: before) }
    }
  }

  package func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    try request { () throws(RemoteError) in
      let before = faults.lag > 0 ? try shown(name) : nil
      if body.length > 0, happens(faults.tears) {
        let half = Int(clamping: body.length / 2)
        var bytes: [UInt8] = []
        try body.read { (piece) throws(RemoteError) in
          bytes += piece.prefix(half - bytes.count)
        }
        try base.put(name, ObjectBody(bytes))
        throw lost
      }
      try base.put(name, body)
      noteChange(of: name, from: before)
      let withholds = happens(faults.withholds)
      let doubles = happens(faults.doubles)
      state.withLock { state in
        if withholds { state.withheld.insert(name) }
        if doubles { state.late.append((name, body)) }
      }
    }
  }

  package func delete(_ name: ObjectName) throws(RemoteError) {
    try request { () throws(RemoteError) in
      let before = faults.lag > 0 ? try shown(name) : nil
      try base.delete(name)
      noteChange(of: name, from: before)
    }
  }

  package func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    try request { () throws(RemoteError) in
      let before = faults.lag > 0 ? try shown(name) : nil
      try base.move(name, to: target)
      noteChange(of: name, from: before)
      noteChange(of: target, from: nil)
    }
  }
}
