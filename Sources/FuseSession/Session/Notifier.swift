// Notifies the kernel that cached entries, attributes or bytes are no longer valid.
//
// A notification takes kernel locks that a request in progress may hold (`inval_entry`: the parent directory's). So
// one thread sends them all, in order; it serves no requests and holds no lock that serving needs.

import CFuse3
import Glibc
import Platform

/// Sends notifications to the kernel of a session.
/// - Concurrency: any thread; only ``flush()`` waits.
package final class Notifier: Sendable {
  private enum Notification {
    case node(NodeID, offset: Int64, length: Int64)
    case name([UInt8], parent: NodeID)
  }

  private struct State {
    var queue: [Notification] = []
    /// The numbers of notifications that were queued, and sent.
    var queued: UInt64 = 0
    var delivered: UInt64 = 0
    var isClosed = false
    /// Set while the session runs.
    var session: SessionPointer?
    /// The number of threads that send a notification themselves.
    var telling = 0
  }

  private let monitor = Monitor(State())

  init() {}

  /// Invalidates the node's attributes and `length` cached bytes from `offset` on: 0 means to the end, and a negative
  /// offset keeps the bytes.
  package func invalidate(_ node: NodeID, offset: Int64 = 0, length: Int64 = 0) {
    add(.node(node, offset: offset, length: length))
  }

  /// Keeps the cached bytes.
  package func invalidateAttributes(_ node: NodeID) { invalidate(node, offset: -1) }
  /// Invalidates a cached name, also an absent one.
  package func invalidate(_ name: [UInt8], in parent: NodeID) { add(.name(name, parent: parent)) }

  /// Waits until the kernel got all earlier notifications; never while serving a request.
  package func flush() {
    let target = monitor.withLock { $0.queued }
    monitor.wait { $0.delivered >= target || $0.isClosed || $0.session == nil ? () : nil }
  }

  /// Invalidates the node's attributes at once, also while serving a request, because the kernel takes no lock for
  /// it (fuse_reverse_inval_inode).
  package func invalidateAttributesAtOnce(_ node: NodeID) {
    sendAtOnce(.node(node, offset: -1, length: 0))
  }

  /// Drops the cached names of a directory at once, also while serving a request: the kernel locks only its pages,
  /// which it never holds during a request.
  package func invalidateListingAtOnce(_ directory: NodeID) {
    sendAtOnce(.node(directory, offset: 0, length: 0))
  }

  private func sendAtOnce(_ notification: Notification) {
    let session = monitor.withLock { state -> SessionPointer? in
      guard !state.isClosed, let session = state.session else { return nil }
      state.telling += 1
      return session
    }
    guard let session else { return }
    unsafe Self.send(notification, to: session.raw)
    monitor.withLock { $0.telling -= 1 }
    monitor.broadcast()
  }

  private func add(_ notification: Notification) {
    let wakes = monitor.withLock { state in
      // Without a mount the kernel caches nothing.
      guard state.session != nil, !state.isClosed else { return false }
      state.queue.append(notification)
      state.queued += 1
      return state.queue.count == 1
    }
    if wakes { monitor.broadcast() }
  }

  /// `session` must exist until ``close(_:)`` has returned.
  func start(_ session: SessionPointer) throws(SystemError) -> SystemThread {
    monitor.withLock { $0.session = session }
    return try SystemThread(name: "llvs-notify") { [self] in
      while let batch = nextBatch() {
        for notification in batch { unsafe Self.send(notification, to: session.raw) }
        monitor.withLock { $0.delivered += UInt64(batch.count) }
        monitor.broadcast()
      }
    }
  }

  /// Ends the thread after its current notification, because the mount no longer exists.
  func close(_ thread: consuming SystemThread) {
    monitor.withLock { state in
      state.isClosed = true
      state.queue = []
    }
    monitor.broadcast()
    thread.join()
    // The descriptor of these threads is closed next, and its number may be reused.
    monitor.wait { $0.telling == 0 ? () : nil }
  }

  private func nextBatch() -> [Notification]? {
    let batch: [Notification]? = monitor.wait { state in
      if state.isClosed { return [] }
      guard !state.queue.isEmpty else { return nil }
      var batch: [Notification] = []
      swap(&batch, &state.queue)
      return batch
    }
    guard let batch, !batch.isEmpty else { return nil }
    return batch
  }

  /// Ignores errors: the kernel does not know the node or name (ENOENT), or the mount no longer exists.
  private static func send(_ notification: Notification, to session: OpaquePointer) {
    switch notification {
    case .node(let node, let offset, let length):
      _ = unsafe fuse_lowlevel_notify_inval_inode(
        session, node.rawValue, off_t(offset), off_t(length))
    case .name(let name, let parent):
      unsafe name.withUnsafeBytes { bytes in
        guard let base = bytes.baseAddress else { return }
        _ = unsafe fuse_lowlevel_notify_inval_entry(
          session, parent.rawValue, base.assumingMemoryBound(to: CChar.self), name.count)
      }
    }
  }
}
