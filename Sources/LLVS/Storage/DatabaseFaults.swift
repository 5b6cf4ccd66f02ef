internal import CSQLite
internal import Platform

/// Lets tests force SQLite's own writes and syncs to fail, or the process to die at them, through the
/// same ``Platform/Faults`` as every other call. Nothing of it is in force until a test asks for it.
package enum DatabaseFaults {
  /// Puts the calls of SQLite's unix file system through the fault seam, for the whole process.
  package static func install() {
    guard let vfs = sqlite3_vfs_find("unix"), let set = vfs.pointee.xSetSystemCall else { return }
    let pwrite: @convention(c) (Int32, UnsafeRawPointer?, Int, Int64) -> Int = {
      Faults.write(to: $0, $1, $2, at: $3)
    }
    let write: @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int = {
      Faults.write(to: $0, $1, $2, at: nil)
    }
    let sync: @convention(c) (Int32) -> Int32 = { Faults.sync($0) }
    _ = set(vfs, "pwrite", unsafeBitCast(pwrite, to: sqlite3_syscall_ptr.self))
    _ = set(vfs, "pwrite64", unsafeBitCast(pwrite, to: sqlite3_syscall_ptr.self))
    _ = set(vfs, "write", unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
    _ = set(vfs, "fsync", unsafeBitCast(sync, to: sqlite3_syscall_ptr.self))
  }
}
