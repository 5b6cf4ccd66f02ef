import CShims
import Foundation
import Glibc
import TestSupport

/// Makes the calls of one worker in the mount.
///
/// A name is reached from the top, from the working directory, or from a directory that is open, as it comes.
final class Kernel {
  private let mount: String
  /// Nil if the directory may be of any file system.
  private let type: UInt64?
  private var top: Int32 = -1
  private var files: [Int: Int32] = [:]
  private var dice: SeededRandom

  /// Creates the calls of the thread that creates this.
  init(mount: String, isLocal: Bool, dice: SeededRandom) {
    self.mount = mount
    type = isLocal ? nil : 0x6573_5546
    self.dice = dice
    // The thread has a working directory of its own from here on.
    _ = llvs_syscall(Int(SYS_unshare), 0x200, 0, 0, 0, 0, 0)
  }

  deinit { closeAll() }

  private func closeAll() {
    for file in files.values { _ = Glibc.close(file) }
    files = [:]
    if top >= 0 { _ = Glibc.close(top) }
    top = -1
  }

  /// Closes everything, waits for a mount, and goes to its top.
  func start(seconds: Double = 60) -> Bool {
    _ = chdir("/")
    closeAll()
    let end = Date().addingTimeInterval(seconds)
    while Date() < end {
      top = llvs_openat(AT_FDCWD, mount, O_DIRECTORY | O_RDONLY | O_CLOEXEC, 0)
      var place = llvs_statfs()
      if top >= 0, llvs_fstatfs(top, &place) == 0, type ?? place.type == place.type,
        fchdir(top) == 0
      {
        return true
      }
      if top >= 0 { _ = Glibc.close(top) }
      usleep(20_000)
    }
    return false
  }

  /// True if the daemon of the mount died.
  var isLost: Bool {
    var status = stat()
    // A name that the kernel cannot know.
    let name = "nothing-\(UInt32.random(in: 0 ... .max))"
    return fstatat(top, name, &status, 0) < 0 && Answer.lossCodes.contains(errno)
  }

  /// Lets the kernel forget what nobody uses; false if the caller may not.
  static func dropCaches() -> Bool {
    let file = llvs_openat(AT_FDCWD, "/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC, 0)
    guard file >= 0 else { return false }
    defer { _ = Glibc.close(file) }
    return Glibc.write(file, "3", 1) == 1
  }

  // MARK: - Paths

  private struct Reach {
    var base: Int32
    var path: String
    /// The path for calls that take no base.
    var whole: String { base == AT_FDCWD ? path : "/proc/thread-self/fd/\(base)/\(path)" }
  }

  private func reach(_ place: Place, _ model: Model) -> Reach {
    var ways: [(base: Int32, directory: Int)] = [(AT_FDCWD, model.current)]
    for (handle, open) in model.handles.sorted(by: { $0.key < $1.key }) {
      guard open.flags.contains(.directory), let file = files[handle] else { continue }
      ways.append((file, open.node))
    }
    ways = ways.filter { model.names(from: $0.directory, to: place.directory) != nil }
    // The top is most of them.
    if model.isReachable(place.directory) { ways += Array(repeating: (top, 0), count: 3) }
    let way = ways[dice.below(ways.count)]
    let names = model.names(from: way.directory, to: place.directory) ?? []
    return Reach(base: way.base, path: (names + [place.name]).joined(separator: "/"))
  }

  // MARK: - Calls

  /// Makes a call.
  func make(_ call: Call, _ model: Model) -> Answer {
    if let handle = call.handle { return make(call, handle, files[handle] ?? -1) }
    switch call {
    case .workingDirectory:
      guard let path = getcwd(nil, 0) else { return .failed(errno) }
      defer { free(path) }
      let text = String(cString: path)
      guard text == mount || text.hasPrefix(mount + "/") else { return .text(text) }
      return .text("/" + text.dropFirst(mount.count).drop { $0 == "/" })
    case .workingDirectoryStatus:
      var status = stat()
      return answer(fstatat(AT_FDCWD, ".", &status, 0)) { .status(Status(status)) }
    default:
      guard let place = call.place else { return .done }
      return make(call, reach(place, model), model)
    }
  }

  private func answer(_ result: some BinaryInteger, _ body: () -> Answer = { .done }) -> Answer {
    result < 0 ? .failed(errno) : body()
  }

  private func make(_ call: Call, _ handle: Int, _ file: Int32) -> Answer {
    switch call {
    case .close:
      files[handle] = nil
      return answer(Glibc.close(file))
    case .read(_, let place, let count):
      var bytes = Data(count: count)
      let got = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, count, place) }
      return answer(got) { .bytes(Data(bytes.prefix(got))) }
    case .write(_, let place, let bytes):
      let put = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, place) }
      return answer(put) { put == bytes.count ? .done : .text("\(put) written") }
    case .resize(_, let size): return answer(ftruncate(file, size))
    case .punch(_, let place, let count):
      return answer(llvs_fallocate(file, 1, 1, Int64(place), Int64(count)))
    case .sync(_, let dataOnly): return answer(dataOnly ? fdatasync(file) : fsync(file))
    case .mapRead(_, let place, let count):
      return map(file, place, count, PROT_READ) { .bytes(Data($0)) }
    case .mapWrite(_, let place, let bytes):
      return map(file, place, bytes.count, PROT_READ | PROT_WRITE) { room in
        bytes.copyBytes(to: room)
        let page = UInt(bitPattern: room.baseAddress) & ~4095
        let start = UnsafeMutableRawPointer(bitPattern: page)
        return answer(msync(start, 4096, MS_SYNC))
      }
    case .fileStatus:
      var status = stat()
      return answer(fstat(file, &status)) { .status(Status(status)) }
    default: return list(file)
    }
  }

  private func map(
    _ file: Int32, _ place: Int, _ count: Int, _ access: Int32,
    _ body: (UnsafeMutableRawBufferPointer) -> Answer
  ) -> Answer {
    let start = place & ~4095
    let length = place + count - start
    guard let room = mmap(nil, length, access, MAP_SHARED, file, start), room != MAP_FAILED else {
      return .failed(errno)
    }
    defer { munmap(room, length) }
    return body(UnsafeMutableRawBufferPointer(start: room + (place - start), count: count))
  }

  private func list(_ file: Int32) -> Answer {
    var names: [String: ListedName] = [:]
    lseek(file, 0, SEEK_SET)
    var room = [UInt8](repeating: 0, count: 4096)
    while true {
      let got = room.withUnsafeMutableBytes {
        llvs_syscall(
          Int(SYS_getdents64), Int(file), Int(bitPattern: $0.baseAddress), $0.count, 0, 0, 0)
      }
      guard got >= 0 else { return .failed(errno) }
      if got == 0 { return .names(names) }
      var at = 0
      while at < got {
        // struct linux_dirent64: inode, offset, length, type, name.
        let (number, length, type) = room.withUnsafeBytes {
          (
            $0.loadUnaligned(fromByteOffset: at, as: UInt64.self),
            $0.loadUnaligned(fromByteOffset: at + 16, as: UInt16.self), $0[at + 18]
          )
        }
        let name = String(
          decoding: room[(at + 19)..<(at + Int(length))].prefix { $0 != 0 }, as: UTF8.self)
        at += Int(length)
        if name == "." || name == ".." { continue }
        if names[name] != nil { return .text("\(name) twice") }
        let kind: NodeKind =
          type == 4 ? .directory : type == 10 ? .symlink : .file
        names[name] = ListedName(kind: kind, number: number)
      }
    }
  }

  private func make(_ call: Call, _ reach: Reach, _ model: Model) -> Answer {
    switch call {
    case .open(_, let flags, let handle):
      let file = llvs_openat(reach.base, reach.path, flags.system, 0o644)
      return answer(file) {
        files[handle] = file
        return .done
      }
    case .status:
      var status = stat()
      return answer(fstatat(reach.base, reach.path, &status, AT_SYMLINK_NOFOLLOW)) {
        .status(Status(status))
      }
    case .truncate(_, let size): return answer(Glibc.truncate(reach.whole, size))
    case .unlink: return answer(unlinkat(reach.base, reach.path, 0))
    case .makeDirectory: return answer(mkdirat(reach.base, reach.path, 0o755))
    case .removeDirectory: return answer(unlinkat(reach.base, reach.path, 0x200))
    case .rename(_, let place, let flag):
      let to = self.reach(place, model)
      return answer(
        llvs_rename(reach.base, reach.path, to.base, to.path, UInt32(flag?.rawValue ?? 0)))
    case .link(_, let place):
      let to = self.reach(place, model)
      return answer(linkat(reach.base, reach.path, to.base, to.path, 0))
    case .symlink(let target, _): return answer(symlinkat(target, reach.base, reach.path))
    case .readlink:
      var room = [UInt8](repeating: 0, count: 4096)
      let got = room.withUnsafeMutableBytes { room in
        reach.path.withCString { path in
          llvs_syscall(
            Int(SYS_readlinkat), Int(reach.base), Int(bitPattern: path),
            Int(bitPattern: room.baseAddress), room.count, 0, 0)
        }
      }
      return answer(got) { .text(String(decoding: room.prefix(got), as: UTF8.self)) }
    case .setMode(_, let mode): return answer(fchmodat(reach.base, reach.path, mode, 0))
    case .setModified(_, let time):
      var times = [
        timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2),
        timespec(tv_sec: time.seconds, tv_nsec: time.nanoseconds),
      ]
      return answer(utimensat(reach.base, reach.path, &times, AT_SYMLINK_NOFOLLOW))
    case .enter: return answer(chdir(reach.whole))
    default: return makeExtended(call, reach.whole)
    }
  }

  private func makeExtended(_ call: Call, _ path: String) -> Answer {
    func room(_ number: some BinaryInteger, _ name: String?, _ body: (Data) -> Answer) -> Answer {
      var room = Data(count: 70_000)
      let got = room.withUnsafeMutableBytes { room in
        path.withCString { path in
          (name ?? "").withCString { name in
            let place = Int(bitPattern: room.baseAddress)
            return number == SYS_lgetxattr
              ? llvs_syscall(
                Int(number), Int(bitPattern: path), Int(bitPattern: name), place, room.count, 0, 0)
              : llvs_syscall(Int(number), Int(bitPattern: path), place, room.count, 0, 0, 0)
          }
        }
      }
      return answer(got) { body(Data(room.prefix(got))) }
    }
    switch call {
    case .extended(_, let name): return room(SYS_lgetxattr, name) { .bytes($0) }
    case .extendedNames:
      return room(SYS_llistxattr, nil) { bytes in
        let names = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        return .text(names.sorted().joined(separator: " "))
      }
    case .setExtended(_, let name, let value):
      return value.withUnsafeBytes { value in
        path.withCString { path in
          name.withCString { name in
            answer(
              llvs_syscall(
                Int(SYS_lsetxattr), Int(bitPattern: path), Int(bitPattern: name),
                Int(bitPattern: value.baseAddress), value.count, 0, 0))
          }
        }
      }
    case .removeExtended(_, let name):
      return path.withCString { path in
        name.withCString { name in
          answer(
            llvs_syscall(
              Int(SYS_lremovexattr), Int(bitPattern: path), Int(bitPattern: name), 0, 0, 0, 0))
        }
      }
    default: return .done
    }
  }
}

extension OpenFlags {
  /// Symbolic links are not followed.
  fileprivate var system: Int32 {
    var flags = O_CLOEXEC | O_NOFOLLOW
    if contains(.write) { flags |= contains(.read) ? O_RDWR : O_WRONLY }
    if contains(.append) { flags |= O_APPEND }
    if contains(.create) { flags |= O_CREAT }
    if contains(.exclusive) { flags |= O_EXCL }
    if contains(.truncate) { flags |= O_TRUNC }
    if contains(.directory) { flags |= O_DIRECTORY }
    return flags
  }
}

extension Status {
  fileprivate init(_ status: stat) {
    let type = status.st_mode & S_IFMT
    kind = type == S_IFDIR ? .directory : type == S_IFLNK ? .symlink : .file
    mode = status.st_mode & 0o7777
    links = Int(status.st_nlink)
    size = kind == .directory ? nil : Int(status.st_size)
    number = UInt64(status.st_ino)
    modified = Time(
      seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    changed = Time(
      seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec)
  }
}
