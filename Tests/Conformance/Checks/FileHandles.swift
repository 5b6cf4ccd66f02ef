import CShims
import Glibc

// name_to_handle_at(2) and open_by_handle_at(2): files by their numbers, as NFS servers and backups open them.

/// A file's handle, as struct file_handle has it.
private struct FileHandle {
  private static let size = 136
  var bytes: [UInt8]

  init(_ path: Pointer, flags: Int32 = 0) throws {
    var bytes = [UInt8](repeating: 0, count: Self.size)
    bytes[0] = 128
    var mount: Int32 = 0
    let result = bytes.withUnsafeMutableBytes { room in
      withUnsafeMutablePointer(to: &mount) {
        call(
          SYS_name_to_handle_at, here, Int(bitPattern: path), Int(bitPattern: room.baseAddress),
          Int(bitPattern: $0), Int(flags))
      }
    }
    try Feature.handles.needed(EOPNOTSUPP, result)
    self.bytes = bytes
  }

  func open(_ place: Place, _ flags: Int32) throws -> Int {
    let mount = try ok(Sys.open(place.path, O_RDONLY | Linux.directory))
    defer { Sys.close(mount) }
    var bytes = bytes
    let fd = bytes.withUnsafeMutableBytes {
      call(SYS_open_by_handle_at, mount, Int(bitPattern: $0.baseAddress), Int(flags))
    }
    if fd < 0, errno == EPERM, geteuid() == 0 {
      throw Skipped(reason: "root may not open files by handles here")
    }
    return fd
  }
}

extension Place {
  fileprivate func handle(_ name: String) throws -> FileHandle {
    try needRoot()
    return try FileHandle(self(name))
  }

  /// Has the kernel forget files and names that nobody uses.
  fileprivate func dropCaches() throws {
    let fd = Sys.open("/proc/sys/vm/drop_caches", O_WRONLY)
    guard fd >= 0 else { throw Skipped(reason: "the kernel's caches cannot be dropped") }
    defer { Sys.close(fd) }
    // Twice: names go first, and with them the last uses of files.
    for _ in 0..<2 { try equal(Sys.write(fd, Array("2\n".utf8)), 2) }
  }

  fileprivate func text(of handle: FileHandle) throws -> String {
    let fd = try Feature.handles.needed(ESTALE, try handle.open(self, O_RDONLY))
    defer { Sys.close(fd) }
    return try text(fd)
  }
}

func addFileHandleChecks(_ suite: inout Suite) {
  suite.check("open_by_handle_at: opens the file, under whatever name it is now") { place in
    try place.directory("d")
    try place.file("d/f", "text")
    let handle = try place.handle("d/f")
    try equal(try place.text(of: handle), "text")
    try ok(Sys.rename(place("d/f"), place("g")))
    try place.file("d/f", "another")
    try equal(try place.text(of: handle), "text")
    try ok(Sys.rename(place("d"), place("e")))
    try equal(try place.text(of: handle), "text")
  }
  suite.check(
    "open_by_handle_at: opens what the kernel has forgotten, also moved with its directory"
  ) {
    place in
    try place.directory("d")
    try place.directory("d/e")
    for index in 0..<20 { try place.file("d/e/\(index)", "text \(index)") }
    let handles = try (0..<20).map { try place.handle("d/e/\($0)") }
    let directory = try place.handle("d/e")
    try place.dropCaches()
    for index in 0..<20 { try equal(try place.text(of: handles[index]), "text \(index)") }
    try ok(Sys.rename(place("d"), place("moved")))
    try place.dropCaches()
    for index in 0..<20 { try equal(try place.text(of: handles[index]), "text \(index)") }
    try place.dropCaches()
    let fd = place.keep(try ok(try directory.open(place, O_RDONLY | Linux.directory)))
    let names = listed(fd)?.map { String(decoding: $0, as: UTF8.self) } ?? []
    try equal(Set(names), Set((0..<20).map(String.init)))
  }
  suite.check("open_by_handle_at: a directory's handle leads to the one above it") { place in
    try place.directory("d")
    try place.directory("d/e")
    let inode = try place.status("d").st_ino
    let handle = try place.handle("d/e")
    try place.dropCaches()
    let fd = place.keep(
      try Feature.handles.needed(ESTALE, try handle.open(place, O_RDONLY | Linux.directory)))
    var status = stat()
    try ok(Int(fstatat(Int32(fd), "..", &status, 0)))
    try equal(status.st_ino, inode)
  }
  suite.check("open_by_handle_at: what was removed is ESTALE, unless it is open") { place in
    try place.file("f", "text")
    try place.file("g", "text")
    let handles = try ["f", "g"].map { try place.handle($0) }
    let open = try ok(Sys.open(place("g"), O_RDONLY))
    try ok(Sys.unlink(place("f")))
    try ok(Sys.unlink(place("g")))
    try fails(ESTALE, try handles[0].open(place, O_RDONLY))
    try equal(try place.text(of: handles[1]), "text")
    Sys.close(open)
    // A file system may take a moment to learn that it was closed.
    for _ in 0..<200 {
      let fd = try handles[1].open(place, O_RDONLY)
      if fd < 0 { break }
      Sys.close(fd)
      usleep(10_000)
    }
    try fails(ESTALE, try handles[1].open(place, O_RDONLY))
    try place.file("f", "another")
    try fails(ESTALE, try handles[0].open(place, O_RDONLY))
  }
  suite.check("open_by_handle_at: opens for writing, a link only as a path, and is for root") {
    place in
    try place.file("f", "text")
    try ok(Sys.symlink("f", place("l")))
    let handle = try place.handle("f")
    let fd = place.keep(try Feature.handles.needed(ESTALE, try handle.open(place, O_WRONLY)))
    try equal(Sys.write(fd, Array("TEXT".utf8)), 4)
    try equal(try place.text("f"), "TEXT")
    let link = try place.handle("l")
    try fails(ELOOP, try link.open(place, O_RDONLY))
    place.keep(try ok(try link.open(place, Linux.path)))
    try place.asUser(Place.stranger) { try fails(EPERM, try handle.open(place, O_RDONLY)) }
  }
}
