// Tells the kernel what it may no longer believe.
//
// A notification takes kernel locks that a request in flight may hold (`inval_entry`: the parent
// directory's), so it is never sent from a thread that serves requests, nor by anybody who holds a
// lock that serving needs: a thread of its own sends them in order.

import CFuse3
import Glibc
import Platform

/// Takes notifications for the kernel; a file system is tested without a mount behind this.
///
/// - Concurrency: Callable from any thread; only ``flush()`` waits.
package protocol KernelCache: AnyObject, Sendable {
  /// The node's attributes are not to be believed; its cached bytes neither, from `offset` on for
  /// `length` bytes (0 is to the end; a negative offset leaves the bytes alone).
  func invalidate(_ node: NodeID, offset: Int64, length: Int64)
  /// What the kernel knows of a name, that it exists or that it does not, is not to be believed.
  func invalidate(_ name: [UInt8], in parent: NodeID)
  /// The name was looked up too long ago to be believed without asking, but stays where it is in use.
  func expire(_ name: [UInt8], in parent: NodeID)
  /// The name is gone; programs that watch the directory are told so.
  func removed(_ name: [UInt8], in parent: NodeID, child: NodeID)
  /// Waits until the kernel was told everything that was said before this call.
  ///
  /// Never to be called while serving a request.
  func flush()
}

extension KernelCache {
  /// Neither attributes nor bytes of the node are to be believed.
  package func invalidate(_ node: NodeID) { invalidate(node, offset: 0, length: 0) }
  /// The node's attributes are not to be believed; its cached bytes are.
  package func invalidateAttributes(_ node: NodeID) { invalidate(node, offset: -1, length: 0) }
}

/// The kernel's caches of a session.
package final class Notifier: KernelCache {
  private enum Notification {
    case node(NodeID, offset: Int64, length: Int64)
    case name([UInt8], parent: NodeID)
    case expired([UInt8], parent: NodeID)
    case removed([UInt8], parent: NodeID, child: NodeID)
  }

  private struct State {
    var queue: [Notification] = []
    /// How many were ever queued, and how many of them the kernel was told.
    var queued: UInt64 = 0
    var delivered: UInt64 = 0
    var isClosed = false
    /// Set once it runs.
    var session: SessionPointer?
    /// Threads that tell the kernel something themselves.
    var telling = 0
  }

  private let monitor = Monitor(State())

  init() {}

  package func invalidate(_ node: NodeID, offset: Int64, length: Int64) {
    add(.node(node, offset: offset, length: length))
  }

  package func invalidate(_ name: [UInt8], in parent: NodeID) {
    add(.name(name, parent: parent))
  }

  package func expire(_ name: [UInt8], in parent: NodeID) {
    add(.expired(name, parent: parent))
  }

  package func removed(_ name: [UInt8], in parent: NodeID, child: NodeID) {
    add(.removed(name, parent: parent, child: child))
  }

  package func flush() {
    let target = monitor.withLock { $0.queued }
    monitor.wait { $0.delivered >= target || $0.isClosed || $0.session == nil ? () : nil }
  }

  /// The node's attributes are not to be believed from now on; may be called while serving a request.
  ///
  /// The kernel takes no lock for that: it only notes it (fuse_reverse_inval_inode).
  package func invalidateAttributesAtOnce(_ node: NodeID) {
    let session = monitor.withLock { state -> SessionPointer? in
      guard !state.isClosed, let session = state.session else { return nil }
      state.telling += 1
      return session
    }
    guard let session else { return }
    unsafe Self.send(.node(node, offset: -1, length: 0), to: session.raw)
    monitor.withLock { $0.telling -= 1 }
    monitor.broadcast()
  }

  private func add(_ notification: Notification) {
    let wakes = monitor.withLock { state in
      // Without a mount the kernel knows nothing that could be wrong.
      guard state.session != nil, !state.isClosed else { return false }
      state.queue.append(notification)
      state.queued += 1
      return state.queue.count == 1
    }
    if wakes { monitor.broadcast() }
  }

  /// Starts the thread; `session` must live until ``close(_:)`` returned.
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

  /// Ends the thread after what it is sending; what is queued has lost its meaning with the mount.
  func close(_ thread: consuming SystemThread) {
    monitor.withLock { state in
      state.isClosed = true
      state.queue = []
    }
    monitor.broadcast()
    thread.join()
    // The descriptor that they write to is closed next, and its number may soon be another file's.
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

  /// What fails is a node or name that the kernel does not know (ENOENT) or a mount that is gone.
  private static func send(_ notification: Notification, to session: OpaquePointer) {
    switch notification {
    case .node(let node, let offset, let length):
      _ = unsafe fuse_lowlevel_notify_inval_inode(
        session, node.rawValue, off_t(offset), off_t(length))
    case .name(let name, let parent):
      unsafe withName(name) {
        _ = unsafe fuse_lowlevel_notify_inval_entry(session, parent.rawValue, $0, name.count)
      }
    case .expired(let name, let parent):
      unsafe withName(name) {
        // Kernels before 6.2 do not know it; they are told the stronger thing.
        if unsafe fuse_lowlevel_notify_expire_entry(
          session, parent.rawValue, $0, name.count, FUSE_LL_EXPIRE_ONLY) == -ENOSYS
        {
          _ = unsafe fuse_lowlevel_notify_inval_entry(session, parent.rawValue, $0, name.count)
        }
      }
    case .removed(let name, let parent, let child):
      unsafe withName(name) {
        _ = unsafe fuse_lowlevel_notify_delete(
          session, parent.rawValue, child.rawValue, $0, name.count)
      }
    }
  }

  private static func withName(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Void) {
    unsafe name.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      unsafe body(base.assumingMemoryBound(to: CChar.self))
    }
  }
}
