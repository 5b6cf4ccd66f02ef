// State: made -> mounted (`mount(at:)`) -> serving (`run()`) -> ended. A session is used once. An
// unmount by any process ends it: the kernel then answers the waiting threads with ENODEV. At the end libfuse's
// threads and the notifier's thread are joined, parked requests are interrupted and answered, and the session is
// destroyed.

import CFuse3
import Glibc
import Platform
import Synchronization

@safe struct SessionPointer: @unchecked Sendable {
  // Several threads may use a fuse_session; only `FuseSession.end()` destroys it.
  let raw: OpaquePointer
}

/// A file system served to the kernel.
/// - Concurrency: ``run()`` holds its thread; everything else is callable from any thread.
package final class FuseSession: Sendable {
  private enum State {
    case made
    case mounted(path: String)
    case serving(path: String)
    case ended
  }

  package let notifier = Notifier()
  private let pointer: SessionPointer
  private let box: SessionBox
  private let flags: MountFlags
  private let state: Mutex<State>

  /// Retains the operations as long as the session exists.
  /// - Throws: ``FuseError/session(reason:)``, for example on an invalid option.
  package init(
    _ operations: any FuseReading, mount: MountOptions,
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
    var table = fuse_lowlevel_ops(isReadOnly: box.writable == nil)
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
    state = Mutex(.made)
  }

  deinit {
    if case .mounted = state.withLock({ $0 }) { unsafe fuse_session_unmount(pointer.raw) }
    unsafe fuse_session_destroy(pointer.raw)
    unsafe Unmanaged.passUnretained(box).release()
  }

  /// Nil before the mount and after the end.
  package var mountPoint: String? {
    state.withLock {
      switch $0 {
      case .mounted(let path), .serving(let path): path
      case .made, .ended: nil
      }
    }
  }

  /// Mounts the file system; callers at the path wait until it is served.
  /// - Throws: ``FuseError/mount(path:reason:)``, or ``FuseError/system(call:errno:)`` if the kernel refuses a flag.
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

  /// Serves until any process unmounts the file system.
  /// - Throws: ``FuseError/system(call:errno:)`` if serving ended for another reason, after an unmount.
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
    // Programs must not wait for answers that will never come.
    if status != 0 { _ = try? MountPoint.unmount(path, lazily: true) }
    notifier.close(notifierThread)
    box.parked.close()
    // Closes the descriptor of the unmounted path.
    unsafe fuse_session_unmount(pointer.raw)
    state.withLock { $0 = .ended }
    if status != 0 { throw .system(call: "read /dev/fuse", errno: status) }
  }

  /// Ends the session by unmounting, `lazily` even while files are open: these are served until they are closed.
  /// - Throws: ``FuseError/unmount(path:errno:)``: EBUSY while the mount is in use.
  package func requestUnmount(lazily: Bool = false) throws(FuseError) {
    guard let path = mountPoint else { return }
    try MountPoint.unmount(path, lazily: lazily)
  }

  /// Announces that the calling handler will take long, so that another thread takes requests in the meantime;
  /// otherwise they wait for a millisecond. O(1).
  package func aboutToBlock() { box.loop.withLock { $0 }?.aboutToBlock() }
}
