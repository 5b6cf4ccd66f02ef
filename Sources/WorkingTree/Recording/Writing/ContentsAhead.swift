import Inodes
import LLVSCore
import Platform

/// The bytes of a long cut's files, read, hashed and compressed ahead of the thread that stores them.
///
/// That is half the cost of a version of many files and needs neither order nor transaction. A helper thread
/// shares the work with the storing thread, which helps when nothing is ready.
/// - Concurrency: ``take(_:)`` from one thread.
final class ContentsAhead: Sendable {
  /// The number of changes from which on a helper thread pays.
  private static let longCut = 64
  /// The most bytes waiting to be stored; the facts of each file take room as well.
  private static let most = 8 << 20
  private static let costOfFile = 512

  private struct Work: Sendable {
    let ready: Result<ReadyValue?, StoreError>
    let cost: Int
  }

  private struct State {
    /// Ready works that were not taken, by index of the change.
    var works: [Int: Work] = [:]
    /// All changes before this one are ready or in work.
    var next = 0
    var bytes = 0
    /// True while the helper waits for room.
    var isFull = false
  }

  private let contents: any PendingContents
  private let store: Store
  /// By index of the change; nil without anything to prepare.
  private let jobs: [FileContent?]
  private let state: Monitor<State>

  private init(_ edits: [PathEdit], _ contents: any PendingContents, _ store: Store) {
    self.contents = contents
    self.store = store
    jobs = edits.map { edit in
      // A file of several names is stored once, at the name that comes first.
      guard let save = edit.save, edit.node?.attributes.linkID == nil,
        save.content.unchangedBase == nil
      else { return nil }
      return save.content
    }
    state = Monitor(State())
  }

  /// Runs `body` with a helper ahead of it; nil for few changes.
  static func of(
    _ edits: [PathEdit], _ contents: any PendingContents, _ store: Store, _ helper: ForkJoin,
    _ body: (ContentsAhead?) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard edits.count >= longCut else { return try body(nil) }
    let ahead = ContentsAhead(edits, contents, store)
    // The helper reads neither the tree nor the store after this returns.
    func storing() throws(StoreError) {
      defer { ahead.end() }
      try body(ahead)
    }
    try store.contents.handlingMany { () throws(StoreError) in
      _ = try helper.both({ () throws(StoreError) in ahead.help() }, beside: storing)
    }
  }

  private func end() {
    state.withLock { s in
      s.next = jobs.count
      s.isFull = false
    }
    state.broadcast()
  }

  private func help() { while let index = claim() { publish(work(index), for: index) } }

  /// Claims the next change once there is room; nil if none is left.
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
    guard let content = jobs[index] else { return Work(ready: .success(nil), cost: 0) }
    let ready = Result { () throws(StoreError) in
      try store.contents.prepare(PendingSource(contents: contents, content: content))
    }
    return Work(ready: ready, cost: Self.costOfFile + Int(clamping: min(content.size, 1 << 20)))
  }

  /// Returns the bytes of a change's file, once; nil if there are none to prepare or too many. Also nil for
  /// unreadable bytes: the storing thread gets the same error and names the file.
  func take(_ index: Int) throws(StoreError) -> ReadyValue? {
    guard jobs[index] != nil else { return nil }
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
        // The helper works on this change, so take the next free one in the meantime.
        guard s.next <= index || !s.isFull && s.next < jobs.count else { return nil }
        s.next += 1
        return .work(s.next - 1)
      }
      if hasRoom { state.broadcast() }
      switch step {
      case .taken(let work)?: return try? work.ready.get()
      case .work(index)?: return try? work(index).ready.get()
      case .work(let other)?: publish(work(other), for: other)
      case nil: preconditionFailure("a wait without a time limit ends with a result")
      }
    }
  }
}
