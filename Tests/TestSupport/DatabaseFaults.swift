import CSQLite
import Platform

/// Routes SQLite's syncs through ``Platform/Faults``, so that tests can force them to fail.
///
/// SQLite lets a program replace its write calls but not its syncs. A VFS makes these; otherwise it equals `unix`.
/// Nothing is active until a test installs it.
package enum DatabaseFaults {
  private typealias Methods = sqlite3_io_methods
  private typealias Sync = @convention(c) (UnsafeMutablePointer<sqlite3_file>?, Int32) -> Int32

  private struct OpenFile {
    var path: String
    /// True until a new log's first sync, when SQLite syncs the directory too.
    var isNew: Bool
  }

  private struct State: @unchecked Sendable {
    // Unchecked: the objects live as long as the process and are only read.
    var unix: UnsafeMutablePointer<sqlite3_vfs>?
    var sync: Sync?
    /// Copies of methods by the address of the original.
    var methods: [UnsafePointer<Methods>: UnsafePointer<Methods>] = [:]
    var files: [UnsafeMutablePointer<sqlite3_file>: OpenFile] = [:]
  }

  // A leaf lock.
  private static let state = Monitor(State())

  package static func install() {
    guard let unix = sqlite3_vfs_find("unix"), let set = unix.pointee.xSetSystemCall else { return }
    let isFirst = state.withLock { state in
      defer { state.unix = unix }
      return state.unix == nil
    }
    guard isFirst else { return }
    let pwrite: @convention(c) (Int32, UnsafeRawPointer?, Int, Int64) -> Int = {
      Faults.write(to: $0, $1, $2, at: $3)
    }
    let write: @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int = {
      Faults.write(to: $0, $1, $2, at: nil)
    }
    _ = set(unix, "pwrite", unsafeBitCast(pwrite, to: sqlite3_syscall_ptr.self))
    _ = set(unix, "pwrite64", unsafeBitCast(pwrite, to: sqlite3_syscall_ptr.self))
    _ = set(unix, "write", unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    own.initialize(to: unix.pointee)
    let name: StaticString = "llvs-faults"
    own.pointee.zName = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    own.pointee.pNext = nil
    own.pointee.xOpen = { DatabaseFaults.open($1, $2, $3, $4) }
    sqlite3_vfs_register(own, 1)
  }

  private static func open(
    _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ flagsOut: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    guard let unix = state.withLock({ $0.unix }), let file, let open = unix.pointee.xOpen else {
      return SQLITE_CANTOPEN
    }
    let path = name.map { String(cString: $0) }
    let isThere = path.flatMap { try? FileSystem.exists($0) } ?? true
    let result = open(unix, name, file, flags, flagsOut)
    guard result == SQLITE_OK, let original = file.pointee.pMethods, let path else { return result }
    let isLog = flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL) != 0
    file.pointee.pMethods = state.withLock { state in
      state.files[file] = OpenFile(path: path, isNew: isLog && !isThere)
      if let known = state.methods[original] { return known }
      let copy = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
      copy.initialize(to: original.pointee)
      state.sync = original.pointee.xSync
      copy.pointee.xSync = { DatabaseFaults.sync($0, $1) }
      state.methods[original] = UnsafePointer(copy)
      return UnsafePointer(copy)
    }
    return result
  }

  private static func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
    let (sync, known) = state.withLock { state in
      (state.sync, file.flatMap { state.files[$0] })
    }
    guard let sync, let file else { return SQLITE_IOERR }
    guard let known else { return sync(file, flags) }
    let paths = [known.path] + (known.isNew ? [FileSystem.directory(of: known.path)] : [])
    guard let result = Faults.sync(paths, { sync(file, flags) }) else { return ioErrorOfSync }
    if result == SQLITE_OK { state.withLock { $0.files[file]?.isNew = false } }
    return result
  }

  /// SQLITE_IOERR_FSYNC, a macro that is not imported.
  private static let ioErrorOfSync = SQLITE_IOERR | 4 << 8
}
