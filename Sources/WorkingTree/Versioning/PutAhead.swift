import Inodes
import LLVSCore
import Platform
import TreeNames

/// What stands at the paths of a long plan's files, and their bytes, read, hashed and compressed ahead of
/// the thread that stores them.
///
/// Half of what a version of many files costs needs neither their order nor the store's transaction. Two
/// threads share it: a helper, and the one that stores, whenever it finds nothing ready.
///
/// - Concurrency: ``take(_:)`` from one thread.
final class PutAhead: Sendable {
  /// From so many items on another thread pays.
  private static let longPlan = 64
  /// How many bytes may wait to be stored; what is found out besides takes room as well.
  private static let most = 8 << 20
  private static let costOfItem = 2048

  /// What was found out for an item.
  struct Work: Sendable {
    let found: Result<TreeView.Found?, StoreError>
    /// Nil where there is nothing to read ahead.
    let content: Result<ReadyValue?, StoreError>?
    fileprivate let cost: Int
  }

  // Unchecked: of a save nothing is read but its content, which never changes.
  private struct Job: @unchecked Sendable {
    let path: [UInt8]
    let save: CutPlan.Save?

    var content: FileContent? { save?.content }
  }

  private struct State {
    /// What is ready and was not taken, by item.
    var works: [Int: Work] = [:]
    /// Items before this one are ready or being worked on.
    var next = 0
    var bytes = 0
    /// The helper waits for room.
    var isFull = false
  }

  private let tree: LiveTree
  private let view: TreeView
  /// By item; nil for one that puts nothing.
  private let jobs: [Job?]
  private let state: Monitor<State>

  private init(_ tree: LiveTree, _ view: TreeView, _ items: [CutPlan.Item]) {
    self.tree = tree
    self.view = view
    jobs = items.map { item in
      guard case .put(let state, _) = item.action else { return nil }
      // A file of several names is stored once, by whoever comes to the first.
      let isStored = state.kind != .directory && state.attributes.linkID == nil
      let save = isStored ? state.taken : nil
      return Job(
        path: item.path, save: save.flatMap { $0.content.unchangedBase == nil ? $0 : nil })
    }
    state = Monitor(State())
  }

  /// Runs the body with what works ahead of it on these items; nil where they are few.
  static func on<Result>(
    _ items: [CutPlan.Item], of tree: LiveTree, in view: TreeView,
    _ body: (PutAhead?) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard items.count >= longPlan else { return try body(nil) }
    let ahead = PutAhead(tree, view, items)
    // Nothing of the tree or the store is touched once this has returned.
    func store() throws(StoreError) -> Result {
      defer { ahead.end() }
      return try body(ahead)
    }
    return try tree.versionHelper.both(
      { () throws(StoreError) in ahead.help() }, beside: store
    ).1
  }

  private func end() {
    state.withLock { s in
      s.next = jobs.count
      s.isFull = false
    }
    state.broadcast()
  }

  // MARK: - Working

  private func help() {
    while let index = claim() { publish(work(index), for: index) }
  }

  /// The next item that nobody works on, once there is room; nil when there is none.
  private func claim() -> Int? {
    let claimed = state.wait { s -> Int? in
      guard s.next < jobs.count else { return -1 }
      if s.isFull { return nil }
      s.next += 1
      return s.next - 1
    }
    return claimed.flatMap { $0 < 0 ? nil : $0 }
  }

  private func publish(_ work: Work, for index: Int) {
    state.withLock { s in
      s.works[index] = work
      s.bytes += work.cost
      if s.bytes >= Self.most { s.isFull = true }
    }
    state.broadcast()
  }

  private func work(_ index: Int) -> Work {
    guard let job = jobs[index] else {
      return Work(found: .success(nil), content: nil, cost: Self.costOfItem)
    }
    let found = Result { () throws(StoreError) in try view.find(path: job.path) }
    let content = job.content.map { content in
      Result { () throws(StoreError) in
        try tree.store.contents.prepare(ContentReader(tree: tree, content: content))
      }
    }
    return Work(
      found: found, content: content,
      cost: Self.costOfItem + Self.length(of: found)
        + (content == nil ? 0 : Int(job.content?.size ?? 0)))
  }

  /// How long the extended attributes are of what was found.
  private static func length(of found: Result<TreeView.Found?, StoreError>) -> Int {
    switch found {
    case .success(.value(let entry)?), .success(.directory(let entry?)?):
      entry.attributes.extended.reduce(0) { $0 + $1.value.count }
    default: 0
    }
  }

  // MARK: - Taking

  /// What was found out for an item; each is taken once, in order.
  func take(_ index: Int) -> Work {
    enum Step {
      case taken(Work)
      case work(Int)
    }
    while true {
      var hasRoom = false
      let step = state.wait { s -> Step? in
        if let work = s.works[index] {
          s.works[index] = nil
          s.bytes -= work.cost
          if s.isFull, s.bytes < Self.most / 2 {
            s.isFull = false
            hasRoom = true
          }
          return .taken(work)
        }
        // The helper is at this one: meanwhile the one after those it has begun.
        guard s.next <= index || !s.isFull && s.next < jobs.count else { return nil }
        s.next += 1
        return .work(s.next - 1)
      }
      if hasRoom { state.broadcast() }
      switch step {
      case .taken(let work)?: return work
      case .work(index)?: return work(index)
      case .work(let other)?: publish(work(other), for: other)
      case nil: preconditionFailure("a wait without a time limit ends with a result")
      }
    }
  }
}
