import CShims
import Glibc

/// What stands at a name.
enum Kind: String, CaseIterable {
  case regular = "a file"
  case directory = "a directory"
  case symlink = "a symbolic link"
  case fifo = "a FIFO"
  case socket = "a socket"
  case character = "a character device"
  case block = "a block device"

  var typeBits: UInt32 {
    switch self {
    case .regular: 0o100000
    case .directory: 0o040000
    case .symlink: 0o120000
    case .fifo: 0o010000
    case .socket: 0o140000
    case .character: 0o020000
    case .block: 0o060000
    }
  }

  var needsRoot: Bool { self == .character || self == .block }
}

/// The directory of one check.
final class Place {
  let path: String
  private var descriptors: [Int] = []

  init(path: String) { self.path = path }

  func make() throws {
    try ok(Sys.mkdir(path, 0o755))
    // A directory that a set-group-ID one holds would inherit that.
    try ok(Sys.chmod(path, 0o755))
  }

  /// Takes everything away, whatever its modes.
  func clear() {
    become(0, 0, [])
    for descriptor in descriptors { Sys.close(descriptor) }
    descriptors = []
    Self.remove(Path(path))
  }

  static func remove(_ path: Path) { remove(path, in: here) }

  /// Through descriptors: what is below may be deeper than a path is long.
  private static func remove(_ name: Path, in directory: Int) {
    let bytes = name.bytes
    bytes.withUnsafeBufferPointer { raw in
      remove(Int(bitPattern: raw.baseAddress), in: directory)
    }
  }

  private static func remove(_ number: Int, in directory: Int) {
    if call(SYS_unlinkat, directory, number, 0) == 0 || errno != EISDIR { return }
    _ = call(SYS_fchmodat, directory, number, 0o700)
    let flags = Int(O_RDONLY | Linux.directory | Linux.noFollow)
    let fd = call(SYS_openat, directory, number, flags, 0)
    guard fd >= 0 else { return }
    for inner in listed(fd) ?? [] { remove(Path(raw: inner), in: fd) }
    Sys.close(fd)
    _ = call(SYS_unlinkat, directory, number, Int(Linux.removeDirectory))
  }

  /// The path of a name here.
  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// The names that a directory lists, `.` and `..` included.
  static func names(_ path: Path) -> [[UInt8]]? {
    guard let stream = opendir(path.bytes) else { return nil }
    defer { closedir(stream) }
    var found: [[UInt8]] = []
    while let item = readdir(stream) {
      found.append(name(of: item))
    }
    return found
  }

  static func name(of item: UnsafeMutablePointer<dirent>) -> [UInt8] {
    withUnsafeBytes(of: &item.pointee.d_name) { raw in Array(raw.prefix { $0 != 0 }) }
  }

  // MARK: - Making things

  /// A file of these bytes.
  @discardableResult
  func file(_ name: String, _ text: String = "", mode: Int = 0o644) throws -> String {
    let fd = try ok(Sys.open(self(name), O_WRONLY | O_CREAT | O_TRUNC, mode))
    defer { Sys.close(fd) }
    if !text.isEmpty { try equal(Sys.write(fd, Array(text.utf8)), text.utf8.count) }
    return self(name)
  }

  @discardableResult
  func directory(_ name: String, mode: Int = 0o755) throws -> String {
    try ok(Sys.mkdir(self(name), mode))
    return self(name)
  }

  /// A node of a kind.
  @discardableResult
  func node(_ kind: Kind, _ name: String, mode: Int = 0o644) throws -> String {
    switch kind {
    case .regular: return try file(name, mode: mode)
    case .directory: return try directory(name, mode: mode)
    case .symlink: try ok(Sys.symlink("target", self(name)))
    case .fifo, .socket: try ok(Sys.mknod(self(name), Int(kind.typeBits) | mode))
    case .character, .block:
      try needRoot()
      try ok(Sys.mknod(self(name), Int(kind.typeBits) | mode, 1 << 8 | 3))
    }
    return self(name)
  }

  /// Opens a file until the check ends.
  func open(_ name: String, _ flags: Int32, _ mode: Int = 0o644) throws -> Int {
    keep(try ok(Sys.open(self(name), flags, mode), "open \(name)"))
  }

  /// Closes a descriptor when the check ends.
  @discardableResult
  func keep(_ fd: Int) -> Int {
    descriptors.append(fd)
    return fd
  }

  func text(_ name: String) throws -> String {
    let fd = try ok(Sys.open(self(name), O_RDONLY))
    defer { Sys.close(fd) }
    return try text(fd)
  }

  func text(_ fd: Int) throws -> String {
    guard let bytes = Sys.pread(fd, 1 << 16, at: 0) else { throw failure("read") }
    return String(decoding: bytes, as: UTF8.self)
  }

  func status(_ name: String, follow: Bool = false) throws -> stat {
    var result = stat()
    try ok(Sys.stat(self(name), &result, follow: follow), "stat \(name)")
    return result
  }

  func status(_ fd: Int) throws -> stat {
    var result = stat()
    try ok(Int(fstat(Int32(fd), &result)), "fstat")
    return result
  }

  func mode(_ name: String) throws -> UInt32 { try status(name).st_mode & 0o7777 }

  func exists(_ name: String) -> Bool {
    var result = stat()
    return Sys.stat(self(name), &result, follow: false) == 0
  }

  // MARK: - Users

  /// Another user, who is in no group of ours.
  static let stranger = 65_533

  func needRoot() throws {
    guard geteuid() == 0 else { throw Skipped(reason: "needs root") }
  }

  /// Runs a body as another user, whom the file system must let in.
  func asUser(_ uid: Int, group: Int? = nil, groups: [Int] = [], _ body: () throws -> Void) throws {
    try needRoot()
    become(uid, group ?? uid, groups)
    defer { become(0, 0, []) }
    var status = stat()
    if Sys.stat(path, &status) != 0 {
      throw Skipped(reason: "other users are not let in (mount with allow_other)")
    }
    try body()
  }

  /// Gives this thread other ids; root stays the saved one, so that it can go back.
  private func become(_ uid: Int, _ gid: Int, _ groups: [Int]) {
    guard getuid() == 0 || geteuid() == 0 || uid == 0 else { return }
    _ = call(SYS_setresuid, -1, 0, -1)
    let list = groups.map { gid_t($0) }
    _ = list.withUnsafeBufferPointer {
      call(SYS_setgroups, list.count, Int(bitPattern: $0.baseAddress))
    }
    _ = call(SYS_setresgid, gid, gid, 0)
    _ = call(SYS_setresuid, uid, uid, 0)
  }

  // MARK: - Times

  /// Waits until a time stamp that is set now differs from those set before.
  func tick() { usleep(12_000) }
}

/// The three times of a node.
struct Stamps: Equatable {
  var atime: Int64
  var mtime: Int64
  var ctime: Int64

  init(_ status: stat) {
    func nanoseconds(_ time: timespec) -> Int64 {
      Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
    atime = nanoseconds(status.st_atim)
    mtime = nanoseconds(status.st_mtim)
    ctime = nanoseconds(status.st_ctim)
  }
}

extension Place {
  func stamps(_ name: String) throws -> Stamps { Stamps(try status(name)) }

  /// Expects that a body moves the named times of a node on, and leaves its other one alone.
  func moves(
    mtime: Bool, ctime: Bool, of name: String, _ body: () throws -> Void
  ) throws {
    let before = try stamps(name)
    tick()
    try body()
    let after = try stamps(name)
    try require((after.mtime > before.mtime) == mtime, mtime ? "mtime stays" : "mtime moves")
    try require((after.ctime > before.ctime) == ctime, ctime ? "ctime stays" : "ctime moves")
  }
}

// MARK: - Expecting

func failure(_ what: String) -> Failed {
  Failed(description: "\(what): \(String(cString: strerror(errno)))")
}

/// The result of a call that must succeed.
@discardableResult
func ok(_ result: Int, _ what: String = "", line: UInt = #line) throws -> Int {
  guard result >= 0 else {
    throw Failed(description: "\(what)\(what.isEmpty ? "" : ": ")\(errorName(errno)), line \(line)")
  }
  return result
}

/// Expects a call to fail with an errno.
func fails(_ expected: Int32, _ result: Int, line: UInt = #line) throws {
  let found = errno
  guard result < 0 else {
    throw Failed(description: "succeeds instead of \(errorName(expected)), line \(line)")
  }
  guard found == expected else {
    throw Failed(
      description: "\(errorName(found)) instead of \(errorName(expected)), line \(line)")
  }
}

/// Expects a call to fail with one of several errnos that the manual allows.
func fails(_ allowed: [Int32], _ result: Int, line: UInt = #line) throws {
  let found = errno
  guard result < 0 else { throw Failed(description: "succeeds, line \(line)") }
  guard allowed.contains(found) else {
    throw Failed(description: "\(errorName(found)), line \(line)")
  }
}

func equal<T: Equatable>(_ found: T, _ expected: T, line: UInt = #line) throws {
  guard found == expected else {
    throw Failed(description: "\(found) instead of \(expected), line \(line)")
  }
}

func require(_ condition: Bool, _ what: String, line: UInt = #line) throws {
  guard condition else { throw Failed(description: "\(what), line \(line)") }
}

func errorName(_ number: Int32) -> String {
  let names: [Int32: String] = [
    EPERM: "EPERM", ENOENT: "ENOENT", EINTR: "EINTR", EIO: "EIO", ENXIO: "ENXIO", E2BIG: "E2BIG",
    EBADF: "EBADF", EAGAIN: "EAGAIN", EACCES: "EACCES", EFAULT: "EFAULT", EBUSY: "EBUSY",
    EEXIST: "EEXIST", EXDEV: "EXDEV", ENODEV: "ENODEV", ENOTDIR: "ENOTDIR", EISDIR: "EISDIR",
    EINVAL: "EINVAL", ETXTBSY: "ETXTBSY", EFBIG: "EFBIG", ENOSPC: "ENOSPC", EROFS: "EROFS",
    EMLINK: "EMLINK", ERANGE: "ERANGE", ENAMETOOLONG: "ENAMETOOLONG", ENOTEMPTY: "ENOTEMPTY",
    ELOOP: "ELOOP", EOPNOTSUPP: "EOPNOTSUPP", ENODATA: "ENODATA", EOVERFLOW: "EOVERFLOW",
    ESTALE: "ESTALE", ENOSYS: "ENOSYS", ENOTTY: "ENOTTY", EDEADLK: "EDEADLK", ESPIPE: "ESPIPE",
  ]
  return names[number] ?? "errno \(number)"
}
