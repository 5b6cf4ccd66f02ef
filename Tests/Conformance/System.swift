import CShims
import Glibc

// The system calls that the checks make, as the kernel has them: each returns -1 and sets errno where it
// fails. Raw calls, so that nothing of the C library stands between a check and what it checks.

/// A path as the kernel takes it.
struct Path: ExpressibleByStringLiteral, Sendable {
  let bytes: [CChar]

  init(_ text: String) { bytes = text.utf8CString.map { $0 } }
  init(stringLiteral text: String) { self.init(text) }
  init(raw: [UInt8]) { bytes = raw.map { CChar(bitPattern: $0) } + [0] }

  /// The path of a name in the directory.
  func appending(_ name: [UInt8]) -> Path {
    Path(raw: bytes.dropLast().map { UInt8(bitPattern: $0) } + [0x2F] + name)
  }
}

/// A path argument: a pointer, which may lead nowhere.
typealias Pointer = UnsafePointer<CChar>?

private func number(_ pointer: Pointer) -> Int { Int(bitPattern: pointer) }

/// Makes a raw system call.
func call(
  _ number: some BinaryInteger, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0, _ d: Int = 0,
  _ e: Int = 0, _ f: Int = 0
) -> Int {
  llvs_syscall(Int(number), a, b, c, d, e, f)
}

let here = Int(AT_FDCWD)

enum Sys {
  static func open(_ path: Pointer, _ flags: Int32, _ mode: Int = 0o644) -> Int {
    call(SYS_openat, here, number(path), Int(flags), mode)
  }
  static func close(_ fd: Int) { _ = call(SYS_close, fd) }
  static func link(_ from: Pointer, _ to: Pointer, flags: Int32 = 0) -> Int {
    call(SYS_linkat, here, number(from), here, number(to), Int(flags))
  }
  static func unlink(_ path: Pointer) -> Int { call(SYS_unlinkat, here, number(path), 0) }
  static func rmdir(_ path: Pointer) -> Int {
    call(SYS_unlinkat, here, number(path), Int(Linux.removeDirectory))
  }
  static func rename(_ from: Pointer, _ to: Pointer, _ flags: Int = 0) -> Int {
    call(SYS_renameat2, here, number(from), here, number(to), flags)
  }
  static func mkdir(_ path: Pointer, _ mode: Int = 0o755) -> Int {
    call(SYS_mkdirat, here, number(path), mode)
  }
  static func symlink(_ target: Pointer, _ path: Pointer) -> Int {
    call(SYS_symlinkat, number(target), here, number(path))
  }
  static func chmod(_ path: Pointer, _ mode: Int) -> Int {
    call(SYS_fchmodat, here, number(path), mode)
  }
  static func fchmod(_ fd: Int, _ mode: Int) -> Int { call(SYS_fchmod, fd, mode) }
  static func chown(_ path: Pointer, _ uid: Int, _ gid: Int) -> Int {
    call(SYS_fchownat, here, number(path), uid, gid, 0)
  }
  static func lchown(_ path: Pointer, _ uid: Int, _ gid: Int) -> Int {
    call(SYS_fchownat, here, number(path), uid, gid, Int(AT_SYMLINK_NOFOLLOW))
  }
  static func truncate(_ path: Pointer, _ size: Int) -> Int {
    call(SYS_truncate, number(path), size)
  }
  static func ftruncate(_ fd: Int, _ size: Int) -> Int { call(SYS_ftruncate, fd, size) }
  static func mknod(_ path: Pointer, _ mode: Int, _ device: Int = 0) -> Int {
    call(SYS_mknodat, here, number(path), mode, device)
  }
  /// access(2) for the effective ids.
  static func access(_ path: Pointer, _ mode: Int32) -> Int {
    call(SYS_faccessat, here, number(path), Int(mode))
  }
  static func readlink(_ path: Pointer) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
      call(SYS_readlinkat, here, number(path), Int(bitPattern: room.baseAddress), room.count)
    }
  }
  static func utimes(
    _ path: Pointer, _ accessed: timespec, _ modified: timespec, flags: Int32 = 0
  ) -> Int {
    withUnsafeTemporaryAllocation(of: timespec.self, capacity: 2) { times in
      times[0] = accessed
      times[1] = modified
      return call(
        SYS_utimensat, here, number(path), Int(bitPattern: times.baseAddress), Int(flags))
    }
  }
  static func touch(_ path: Pointer) -> Int { call(SYS_utimensat, here, number(path), 0, 0) }
  static func stat(_ path: Pointer, _ out: inout Glibc.stat, follow: Bool = true) -> Int {
    withUnsafeMutablePointer(to: &out) {
      Int(fstatat(AT_FDCWD, path ?? nowhere, $0, follow ? 0 : AT_SYMLINK_NOFOLLOW))
    }
  }
  static func read(_ fd: Int, _ count: Int) -> [UInt8]? {
    var got = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { room, used in
      got = call(SYS_read, fd, Int(bitPattern: room.baseAddress), count)
      used = max(0, got)
    }
    return got < 0 ? nil : bytes
  }
  static func pread(_ fd: Int, _ count: Int, at offset: Int) -> [UInt8]? {
    var got = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { room, used in
      got = call(SYS_pread64, fd, Int(bitPattern: room.baseAddress), count, offset)
      used = max(0, got)
    }
    return got < 0 ? nil : bytes
  }
  static func write(_ fd: Int, _ bytes: [UInt8]) -> Int {
    bytes.withUnsafeBytes { call(SYS_write, fd, Int(bitPattern: $0.baseAddress), $0.count) }
  }
  static func pwrite(_ fd: Int, _ bytes: [UInt8], at offset: Int) -> Int {
    bytes.withUnsafeBytes {
      call(SYS_pwrite64, fd, Int(bitPattern: $0.baseAddress), $0.count, offset)
    }
  }
  static func seek(_ fd: Int, _ offset: Int, _ whence: Int32) -> Int {
    call(SYS_lseek, fd, offset, Int(whence))
  }
  static func fallocate(_ fd: Int, _ mode: Int, _ offset: Int, _ count: Int) -> Int {
    call(SYS_fallocate, fd, mode, offset, count)
  }
  static func copyRange(
    _ from: Int, at source: Int, _ to: Int, at target: Int, _ count: Int
  ) -> Int {
    var source = source
    var target = target
    return withUnsafeMutablePointer(to: &source) { source in
      withUnsafeMutablePointer(to: &target) { target in
        call(
          SYS_copy_file_range, from, Int(bitPattern: source), to, Int(bitPattern: target), count,
          0)
      }
    }
  }
  /// fcntl(2) with a lock of a range; F_GETLK and F_OFD_GETLK answer in it.
  static func lock(_ fd: Int, _ command: Int32, _ range: inout flock) -> Int {
    withUnsafeMutablePointer(to: &range) { call(SYS_fcntl, fd, Int(command), Int(bitPattern: $0)) }
  }
  static func setxattr(_ path: Pointer, _ name: String, _ value: [UInt8], _ flags: Int = 0) -> Int {
    name.withCString { name in
      value.withUnsafeBytes {
        call(
          SYS_lsetxattr, number(path), number(name), Int(bitPattern: $0.baseAddress), $0.count,
          flags)
      }
    }
  }
  static func getxattr(_ path: Pointer, _ name: String, room: Int = 70_000) -> [UInt8]? {
    var got = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: max(room, 1)) { buffer, used in
      got = name.withCString {
        call(SYS_lgetxattr, number(path), number($0), Int(bitPattern: buffer.baseAddress), room)
      }
      used = room == 0 ? 0 : max(0, got)
    }
    return got < 0 ? nil : bytes
  }
  static func listxattr(_ path: Pointer) -> [UInt8]? {
    var got = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: 70_000) { room, used in
      got = call(SYS_llistxattr, number(path), Int(bitPattern: room.baseAddress), room.count)
      used = max(0, got)
    }
    return got < 0 ? nil : bytes
  }
  static func removexattr(_ path: Pointer, _ name: String) -> Int {
    name.withCString { call(SYS_lremovexattr, number(path), number($0)) }
  }
}

/// A pointer that leads to no memory.
nonisolated(unsafe) let nowhere = UnsafePointer<CChar>(bitPattern: 1).unsafelyUnwrapped

/// What Linux has that the C library declares for `_GNU_SOURCE` only.
enum Linux {
  static let removeDirectory: Int32 = 0x200
  static let symlinkFollow: Int32 = 0x400
  static let emptyPath: Int32 = 0x1000
  static let direct: Int32 = Int32(llvs_open_direct())
  static let directory: Int32 = Int32(llvs_open_directory())
  static let noFollow: Int32 = Int32(llvs_open_no_follow())
  static let path: Int32 = 0o10000000
  static let temporary: Int32 = 0o20000000 | Int32(llvs_open_directory())
  static let seekData: Int32 = 3
  static let seekHole: Int32 = 4
  static let noReplace = 1
  static let exchange = 2
  static let keepSize = 1
  static let punchHole = 2
  static let collapseRange = 8
  static let zeroRange = 0x10
  static let getOFDLock: Int32 = 36
  static let setOFDLock: Int32 = 37
  static let setOFDLockWait: Int32 = 38
  static let now = (1 << 30) - 1
  static let omit = (1 << 30) - 2
}

extension timespec {
  static let now = timespec(tv_sec: 0, tv_nsec: Linux.now)
  static let omit = timespec(tv_sec: 0, tv_nsec: Linux.omit)
  static func seconds(_ seconds: Int, _ nanoseconds: Int = 0) -> timespec {
    timespec(tv_sec: seconds, tv_nsec: nanoseconds)
  }
}
