import CShims
import Glibc

// Handles that stand for a node alone (O_PATH), and what goes through them.

private func bare(_ place: Place, _ name: String, _ flags: Int32 = 0) throws -> Int {
  try place.open(name, Linux.path | flags)
}

/// fchmodat2(2), which the C library's fchmodat takes for its flags.
private let fchmodat2 = 452

private func chmodNoFollow(_ path: Pointer, _ mode: Int) -> Int {
  call(fchmodat2, here, Int(bitPattern: path), mode, Int(AT_SYMLINK_NOFOLLOW))
}

func addHandleChecks(_ suite: inout Suite) {
  suite.check("O_PATH: what needs the bytes or changes the node is EBADF") { place in
    try place.file("f", "text")
    try ok(Sys.setxattr(place("f"), "user.a", [1]))
    let fd = try bare(place, "f")
    try require(Sys.read(fd, 1) == nil && errno == EBADF, "read")
    try require(Sys.pread(fd, 1, at: 0) == nil && errno == EBADF, "pread")
    try fails(EBADF, Sys.write(fd, [1]))
    try fails(EBADF, Sys.seek(fd, 0, SEEK_SET))
    try fails(EBADF, Sys.ftruncate(fd, 0))
    try fails(EBADF, Sys.fallocate(fd, 0, 0, 1))
    try fails(EBADF, Sys.fchmod(fd, 0o600))
    try fails(EBADF, call(SYS_fchown, fd, 0, 0))
    try fails(EBADF, call(SYS_fsync, fd))
    try fails(EBADF, call(SYS_flock, fd, Int(LOCK_EX)))
    try fails(EBADF, call(SYS_utimensat, fd, 0, 0, 0))
    try fails(EBADF, "user.a".withCString { call(SYS_fgetxattr, fd, Int(bitPattern: $0), 0, 0) })
    try fails(EBADF, Sys.copyRange(fd, at: 0, fd, at: 10, 1))
    let map = mmap(nil, 4096, PROT_READ, MAP_SHARED, Int32(fd), 0)
    try require(map == MAP_FAILED && errno == EBADF, "mmap")
    try equal(try place.text("f"), "text")
  }
  suite.check("O_PATH: fstat works, also of what has no name any more") { place in
    for kind in Kind.allCases where !kind.needsRoot {
      try place.node(kind, "n")
      let fd = try bare(place, "n", Linux.noFollow)
      try equal(try place.status(fd).st_ino, try place.status("n").st_ino)
      try equal(try place.status(fd).st_mode & 0o170000, kind.typeBits)
      try ok(kind == .directory ? Sys.rmdir(place("n")) : Sys.unlink(place("n")))
      try equal(try place.status(fd).st_nlink, 0)
    }
  }
  suite.check("O_PATH: a FIFO does not wait and a socket is no error") { place in
    try place.node(.fifo, "fifo")
    try place.node(.socket, "socket")
    _ = try bare(place, "fifo")
    _ = try bare(place, "socket")
  }
  suite.check("O_PATH: names below a directory are found, made and taken through it") { place in
    try place.directory("d")
    try place.file("d/f", "text")
    let fd = try bare(place, "d", Linux.directory)
    let inner = place.keep(try ok(openAt(fd, "f", O_RDONLY)))
    try equal(try place.text(inner), "text")
    place.keep(try ok(openAt(fd, "new", O_CREAT | O_EXCL | O_WRONLY)))
    try require(place.exists("d/new"), "it was not made")
    try ok("new".withCString { call(SYS_unlinkat, fd, Int(bitPattern: $0), 0) })
    try ok(Sys.rename(place("d"), place("e")))
    place.keep(try ok(openAt(fd, "f", O_RDONLY)))
    try fails(ENOENT, openAt(fd, "new", O_RDONLY))
    let file = try bare(place, "e/f")
    try fails(ENOTDIR, openAt(file, "x", O_RDONLY))
    let back = try place.open("", O_RDONLY | Linux.directory)
    try equal(fchdir(Int32(fd)), 0)
    defer { fchdir(Int32(back)) }
    place.keep(try ok(Sys.open("f", O_RDONLY)))
    try require(getdents(fd) < 0 && errno == EBADF, "it is listed")
  }
  suite.check("O_PATH: /proc/self/fd opens the node itself, whatever its name is now") { place in
    try place.file("f", "text")
    let fd = try bare(place, "f")
    try ok(Sys.rename(place("f"), place("g")))
    try place.file("f", "other")
    let again = place.keep(try ok(Sys.open("/proc/self/fd/\(fd)", O_RDWR)))
    try equal(try place.text(again), "text")
    try equal(Sys.pwrite(again, Array("T".utf8), at: 0), 1)
    try equal(try place.text("g"), "Text")
    try ok(Sys.chmod("/proc/self/fd/\(fd)", 0o600))
    try equal(try place.mode("g"), 0o600)
    try ok(Sys.link("/proc/self/fd/\(fd)", place("h"), flags: Linux.symlinkFollow))
    try equal(try place.status("g").st_nlink, 2)
    try ok(Sys.symlink("g", place("l")))
    let itself = try bare(place, "l", Linux.noFollow)
    try fails(ELOOP, Sys.open("/proc/self/fd/\(itself)", O_RDONLY))
  }
  suite.check("O_PATH: an empty name is the node itself") { place in
    try place.file("f")
    try ok(Sys.symlink("target", place("l")))
    let link = try bare(place, "l", Linux.noFollow)
    var room = [UInt8](repeating: 0, count: 100)
    let got = room.withUnsafeMutableBytes { room in
      "".withCString {
        call(
          SYS_readlinkat, link, Int(bitPattern: $0), Int(bitPattern: room.baseAddress), room.count)
      }
    }
    try equal(room.prefix(max(0, got)), Array("target".utf8)[...])
    let fd = try bare(place, "f")
    try place.asUser(0) {
      try ok(
        "".withCString {
          call(SYS_fchownat, fd, Int(bitPattern: $0), 5, 6, Int(Linux.emptyPath))
        })
    }
    try equal(try place.status("f").st_uid, 5)
  }
  suite.check("O_PATH: needs no permission to the node, to open it again does") { place in
    try place.file("f", "text", mode: 0)
    try place.asUser(Place.stranger) {
      let fd = try bare(place, "f")
      try equal(try place.status(fd).st_size, 4)
      try fails(EACCES, Sys.open("/proc/self/fd/\(fd)", O_RDONLY))
    }
  }
  suite.check("O_PATH: a missing name is ENOENT, O_CREAT is not heard") { place in
    try fails(ENOENT, Sys.open(place("new"), Linux.path | O_CREAT))
    try require(!place.exists("new"), "it was made")
  }
  suite.check("chmod: AT_SYMLINK_NOFOLLOW of a link is EOPNOTSUPP, of all else it works") { place in
    try place.file("f")
    if chmodNoFollow(place("f"), 0o600) < 0, errno == ENOSYS {
      throw Skipped(reason: "the kernel has no fchmodat2")
    }
    try equal(try place.mode("f"), 0o600)
    try ok(Sys.symlink("f", place("l")))
    let before = try place.stamps("l")
    place.tick()
    try fails(EOPNOTSUPP, chmodNoFollow(place("l"), 0o644))
    try equal(try place.mode("f"), 0o600)
    try equal(try place.mode("l"), 0o777)
    try equal(try place.stamps("l"), before)
    try place.directory("d")
    try ok(chmodNoFollow(place("d"), 0o711))
    try equal(try place.mode("d"), 0o711)
  }
}

private func getdents(_ fd: Int) -> Int {
  withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) {
    call(SYS_getdents64, fd, Int(bitPattern: $0.baseAddress), $0.count)
  }
}
