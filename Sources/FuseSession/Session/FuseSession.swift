// A mounted file system, from mount to unmount.
//
// State: made -> mounted (`mount(at:)`) -> serving (`run()` or `start()`) -> ended. A session is
// used once. Unmounting is what ends it, whoever does it: the kernel then answers the threads that
// wait for requests with ENODEV. The end, in order: libfuse's threads are joined, the notifier's
// thread is joined, parked requests are interrupted and waited for, the session is destroyed.

import CFuse3
import Glibc
import Platform
import Synchronization

/// libfuse's session.
@safe struct SessionPointer: @unchecked Sendable {
  // fuse_session is made for use by several threads; who may destroy it is `FuseSession.end()`.
  let raw: OpaquePointer
}

/// A file system served to the kernel.
///
/// - Concurrency: ``run()`` holds its thread; everything else is callable from any thread.
package final class FuseSession: Sendable {
  private enum State {
    case made
    case mounted(path: String)
    case serving(path: String)
    case ended
  }

  /// What the kernel is told of changes that did not come through it.
  package let notifier = Notifier()

  private let pointer: SessionPointer
  private let box: SessionBox
  private let flags: MountFlags
  private let state: Monitor<State>

  /// Makes a session.
  ///
  /// The operations are kept for as long as the session.
  ///
  /// - Throws: ``FuseError/session(reason:)`` with libfuse's words, for example on a bad option.
  package init(
    _ operations: any FuseOperations, serving set: OperationSet = .all, mount: MountOptions,
    connection: ConnectionOptions = ConnectionOptions()
  ) throws(FuseError) {
    FuseLog.install()
    var arguments = unsafe fuse_args()
    defer { unsafe fuse_opt_free_args(&arguments) }
    for word in ["llvs", "-o", mount.text] {
      guard unsafe fuse_opt_add_arg(&arguments, word) == 0 else {
        throw .system(call: "fuse_opt_add_arg", errno: ENOMEM)
      }
    }
    let box = SessionBox(operations: operations, connection: connection)
    // Released in `deinit`, after fuse_session_destroy.
    let userData = unsafe Unmanaged.passRetained(box)
    var table = fuse_lowlevel_ops(set)
    guard
      let session = unsafe fuse_session_new(
        &arguments, &table, MemoryLayout<fuse_lowlevel_ops>.size, userData.toOpaque())
    else {
      unsafe userData.release()
      throw .session(reason: FuseLog.takeLastError())
    }
    unsafe pointer = SessionPointer(raw: session)
    self.box = box
    flags = mount.flags
    state = Monitor(.made)
  }

  deinit {
    if case .mounted = state.withLock({ $0 }) { unsafe fuse_session_unmount(pointer.raw) }
    unsafe fuse_session_destroy(pointer.raw)
    unsafe Unmanaged.passUnretained(box).release()
  }

  /// The path it is mounted on, until it has ended.
  package var mountPoint: String? {
    state.withLock {
      switch $0 {
      case .mounted(let path), .serving(let path): path
      case .made, .ended: nil
      }
    }
  }

  /// Mounts the file system; from now on users of the path wait until it is served.
  ///
  /// - Throws: ``FuseError/mount(path:reason:)`` with libfuse's words, ``FuseError/system(call:errno:)`` where
  ///   the kernel refuses one of the mount's flags.
  package func mount(at path: String) throws(FuseError) {
    guard case .made = state.withLock({ $0 }) else {
      throw .mount(path: path, reason: "the session was mounted before")
    }
    _ = FuseLog.takeLastError()
    guard unsafe fuse_session_mount(pointer.raw, path) == 0 else {
      throw .mount(path: path, reason: FuseLog.takeLastError())
    }
    box.connection.watch?.guardConnection(mountedAt: path)
    _ = unsafe PrivilegeAgreement.install(in: pointer.raw)
    do throws(FuseError) {
      try flags.complete(at: path)
    } catch {
      unsafe fuse_session_unmount(pointer.raw)
      throw error
    }
    state.withLock { $0 = .mounted(path: path) }
  }

  /// Serves until the file system is unmounted, by whomever.
  ///
  /// - Throws: ``FuseError/system(call:errno:)`` if serving ended for another reason; the file
  ///   system is unmounted then too.
  package func run() throws(FuseError) {
    let path: String? = state.withLock { state in
      guard case .mounted(let path) = state else { return nil }
      state = .serving(path: path)
      return path
    }
    guard let path else { throw .session(reason: "it is not mounted") }
    let notifierThread = try FuseError.wrapping { () throws(SystemError) in
      try notifier.start(pointer)
    }
    let loop = RequestLoop(pointer, box)
    box.loop.withLock { $0 = loop }
    let status: Int32
    do throws(SystemError) {
      status = try loop.run()
    } catch {
      status = error.errno
    }
    // Where the kernel did not end it, programs must not wait for answers that will not come.
    if status != 0 { _ = try? MountPoint.unmount(path, lazily: true) }
    notifier.close(notifierThread)
    box.parked.close()
    // Closes the descriptor; what is mounted there no more is left alone.
    unsafe fuse_session_unmount(pointer.raw)
    state.withLock { $0 = .ended }
    state.broadcast()
    if status != 0 { throw .system(call: "read /dev/fuse", errno: status) }
  }

  /// Serves on a thread of its own and returns at once.
  ///
  /// `ended` is called on that thread at the end, with the error of ``run()`` if any.
  ///
  /// - Throws: ``FuseError/system(call:errno:)`` if there can be no other thread.
  package func start(
    ended: @escaping @Sendable (FuseError?) -> Void = { _ in }
  ) throws(FuseError) {
    try FuseError.wrapping { () throws(SystemError) in
      try SystemThread.detach(name: "llvs-fuse") { [self] in
        do throws(FuseError) {
          try run()
          ended(nil)
        } catch {
          ended(error)
        }
      }
    }
  }

  /// Asks for the end by unmounting; ``run()`` returns once requests under way are answered.
  ///
  /// - Parameter lazily: Takes the mount out of sight at once even while files in it are open; it
  ///   is then served until the last of them is closed.
  /// - Throws: ``FuseError/unmount(path:errno:)``: EBUSY while files are open or it is somebody's
  ///   working directory. Having ended before is no error.
  package func requestUnmount(lazily: Bool = false) throws(FuseError) {
    guard let path = mountPoint else { return }
    try MountPoint.unmount(path, lazily: lazily)
  }

  /// Says that the calling handler will take long (a disk's sync, a lock that others hold for long),
  /// so that another thread takes requests meanwhile.
  ///
  /// Without it others wait for a millisecond before that is noticed.
  ///
  /// - Complexity: O(1), cheap where another thread waits for requests already.
  package func aboutToBlock() { box.loop.withLock { $0 }?.aboutToBlock() }

  /// Waits until ``run()`` is through with its work.
  package func waitUntilEnded() {
    state.wait { state -> Void? in
      if case .ended = state { () } else { nil }
    }
  }
}
