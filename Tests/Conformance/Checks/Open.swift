import CShims
import Glibc

func addOpenChecks(_ suite: inout Suite) {
  suite.check("open: a missing name is ENOENT") { place in
    try fails(ENOENT, Sys.open(place("missing"), O_RDONLY))
    try fails(ENOENT, Sys.open(place("missing"), O_RDWR))
  }
  suite.check("open: O_CREAT makes an empty file of the mode given") { place in
    let fd = try place.open("new", O_CREAT | O_WRONLY, 0o640)
    let status = try place.status(fd)
    try equal(status.st_mode, 0o100640)
    try equal(status.st_size, 0)
    try equal(status.st_nlink, 1)
  }
  suite.check("open: O_CREAT opens what is there and leaves its mode and bytes") { place in
    try place.file("f", "text", mode: 0o600)
    _ = try place.open("f", O_CREAT | O_WRONLY, 0o777)
    try equal(try place.mode("f"), 0o600)
    try equal(try place.text("f"), "text")
  }
  suite.check("open: O_CREAT with O_EXCL on any existing name is EEXIST") { place in
    for kind in Kind.allCases where !kind.needsRoot {
      try place.node(kind, "\(kind)")
      try fails(EEXIST, Sys.open(place("\(kind)"), O_CREAT | O_EXCL | O_RDWR))
    }
  }
  suite.check("open: O_CREAT with O_EXCL on a dangling link is EEXIST and makes nothing") { place in
    try ok(Sys.symlink("nothing", place("link")))
    try fails(EEXIST, Sys.open(place("link"), O_CREAT | O_EXCL | O_RDWR))
    try require(!place.exists("nothing"), "the target was made")
  }
  suite.check("open: O_CREAT through a dangling link makes its target") { place in
    try ok(Sys.symlink("target", place("link")))
    _ = try place.open("link", O_CREAT | O_WRONLY)
    try equal(try place.status("target").st_mode & 0o170000, 0o100000)
  }
  suite.check("open: a directory for writing is EISDIR") { place in
    try place.directory("d")
    try fails(EISDIR, Sys.open(place("d"), O_WRONLY))
    try fails(EISDIR, Sys.open(place("d"), O_RDWR))
    try fails(EISDIR, Sys.open(place("d"), O_RDONLY | O_TRUNC))
    try fails(EISDIR, Sys.open(place("d"), O_RDONLY | O_CREAT))
  }
  suite.check("open: reading a directory's bytes is EISDIR") { place in
    try place.directory("d")
    let fd = try place.open("d", O_RDONLY)
    try require(Sys.read(fd, 1) == nil && errno == EISDIR, "read of a directory")
  }
  suite.check("open: O_DIRECTORY on anything else is ENOTDIR") { place in
    try place.file("f")
    try ok(Sys.symlink("f", place("l")))
    try fails(ENOTDIR, Sys.open(place("f"), O_RDONLY | Linux.directory))
    try fails(ENOTDIR, Sys.open(place("l"), O_RDONLY | Linux.directory))
  }
  suite.check("open: O_DIRECTORY opens a directory, also through a link") { place in
    try place.directory("d")
    try ok(Sys.symlink("d", place("l")))
    _ = try place.open("d", O_RDONLY | Linux.directory)
    _ = try place.open("l", O_RDONLY | Linux.directory)
  }
  suite.check("open: O_NOFOLLOW on a symbolic link is ELOOP") { place in
    try place.file("f")
    try ok(Sys.symlink("f", place("l")))
    try fails(ELOOP, Sys.open(place("l"), O_RDONLY | Linux.noFollow))
    _ = try place.open("f", O_RDONLY | Linux.noFollow)
  }
  suite.check("open: O_NOFOLLOW with O_DIRECTORY on a link to a directory is ENOTDIR") { place in
    try place.directory("d")
    try ok(Sys.symlink("d", place("l")))
    try fails([ELOOP, ENOTDIR], Sys.open(place("l"), O_RDONLY | Linux.noFollow | Linux.directory))
  }
  suite.check("open: O_PATH with O_NOFOLLOW opens the link itself") { place in
    try ok(Sys.symlink("nothing", place("l")))
    let fd = try place.open("l", Linux.path | Linux.noFollow)
    try equal(try place.status(fd).st_mode & 0o170000, 0o120000)
  }
  suite.check("open: O_TRUNC empties a file and moves its mtime and ctime") { place in
    try place.file("f", "text")
    try place.moves(mtime: true, ctime: true, of: "f") {
      Sys.close(try ok(Sys.open(place("f"), O_WRONLY | O_TRUNC)))
    }
    try equal(try place.status("f").st_size, 0)
  }
  suite.check("open: O_TRUNC moves the mtime and ctime of an empty file too") { place in
    try place.file("f")
    try place.moves(mtime: true, ctime: true, of: "f") {
      Sys.close(try ok(Sys.open(place("f"), O_WRONLY | O_TRUNC)))
    }
  }
  suite.check("open: O_TRUNC empties a file that is opened for reading alone") { place in
    try place.file("f", "text")
    try place.moves(mtime: true, ctime: true, of: "f") {
      let fd = try place.open("f", O_RDONLY | O_TRUNC)
      try equal(try place.status(fd).st_size, 0)
    }
    try equal(try place.status("f").st_size, 0)
  }
  suite.check("open: a write-only handle cannot read, a read-only one cannot write") { place in
    try place.file("f", "text")
    let writer = try place.open("f", O_WRONLY)
    try require(Sys.read(writer, 1) == nil && errno == EBADF, "read")
    let reader = try place.open("f", O_RDONLY)
    try fails(EBADF, Sys.write(reader, [1]))
    try fails(EINVAL, Sys.ftruncate(reader, 0))
  }
  suite.check("open: making a file moves its directory's mtime and ctime") { place in
    try place.directory("d")
    try place.moves(mtime: true, ctime: true, of: "d") { try place.file("d/new") }
  }
  suite.check("open: opening what is there leaves its directory's times") { place in
    try place.directory("d")
    try place.file("d/f")
    try place.moves(mtime: false, ctime: false, of: "d") {
      Sys.close(try ok(Sys.open(place("d/f"), O_RDWR | O_CREAT)))
    }
  }
  suite.check("open: a new file's times are all the time of its making") { place in
    let fd = try place.open("new", O_CREAT | O_WRONLY)
    let stamps = Stamps(try place.status(fd))
    try equal(stamps.atime, stamps.mtime)
    try equal(stamps.mtime, stamps.ctime)
  }
  suite.check("open: a file of mode 0 that this open made can be written through it") { place in
    let fd = try place.open("f", O_CREAT | O_RDWR, 0)
    try equal(Sys.write(fd, [65]), 1)
    try equal(try place.mode("f"), 0)
  }
  suite.check("open: a FIFO without a reader is ENXIO for a writer that does not wait") { place in
    try place.node(.fifo, "fifo")
    try fails(ENXIO, Sys.open(place("fifo"), O_WRONLY | O_NONBLOCK))
    _ = try place.open("fifo", O_RDONLY | O_NONBLOCK)
  }
  suite.check("open: a socket is ENXIO") { place in
    try place.node(.socket, "socket")
    try fails(ENXIO, Sys.open(place("socket"), O_RDONLY))
  }
  suite.check("open: a FIFO carries bytes from a writer to a reader") { place in
    try place.node(.fifo, "fifo")
    let reader = try place.open("fifo", O_RDONLY | O_NONBLOCK)
    let writer = try place.open("fifo", O_WRONLY)
    try equal(Sys.write(writer, [1, 2, 3]), 3)
    try equal(Sys.read(reader, 10), [1, 2, 3])
  }
  suite.check("open: a program that runs is ETXTBSY for writing and truncating") { place in
    let program = try copyProgram(place, "sleep")
    let child = try start(program, "30")
    defer { stop(child) }
    try fails(ETXTBSY, Sys.open(program, O_WRONLY))
    try fails(ETXTBSY, Sys.open(program, O_RDWR))
    try fails(ETXTBSY, Sys.truncate(program, 10))
    _ = try place.open("sleep", O_RDONLY)
    try ok(Sys.unlink(program))
  }
  suite.check("open: a program that is being written cannot be started: ETXTBSY") { place in
    let program = try copyProgram(place, "sleep")
    let fd = try ok(Sys.open(program, O_WRONLY))
    let (child, error) = spawned(program, "30")
    if error == 0 { stop(child) }
    try equal(error, ETXTBSY)
    Sys.close(fd)
    stop(try start(program, "30"))
  }
  suite.check("open: O_TMPFILE makes a nameless file that link gives a name, or is EOPNOTSUPP") {
    place in
    let fd = Sys.open(place.path, Linux.temporary | O_RDWR, 0o600)
    if fd < 0 {
      try fails([EOPNOTSUPP], fd)
      return
    }
    defer { Sys.close(fd) }
    try equal(try place.status(fd).st_nlink, 0)
    try equal(Sys.write(fd, Array("text".utf8)), 4)
    try ok(Sys.link("/proc/self/fd/\(fd)", place("named"), flags: Linux.symlinkFollow))
    try equal(try place.text("named"), "text")
  }
  suite.check("open: O_APPEND writes at the end wherever the offset is") { place in
    try place.file("f", "start")
    let fd = try place.open("f", O_RDWR | O_APPEND)
    try ok(Sys.seek(fd, 0, SEEK_SET))
    try equal(Sys.write(fd, Array("end".utf8)), 3)
    try equal(Sys.seek(fd, 0, SEEK_CUR), 8)
    try equal(try place.text("f"), "startend")
  }
}

/// Copies a program into the place.
func copyProgram(_ place: Place, _ name: String) throws -> String {
  let from = try ok(Sys.open("/bin/\(name)", O_RDONLY))
  defer { Sys.close(from) }
  let to = try ok(Sys.open(place(name), O_WRONLY | O_CREAT, 0o755))
  defer { Sys.close(to) }
  while let bytes = Sys.read(from, 1 << 16), !bytes.isEmpty {
    try equal(Sys.write(to, bytes), bytes.count)
  }
  return place(name)
}

func start(_ program: String, _ argument: String) throws -> pid_t {
  let (child, error) = spawned(program, argument)
  guard error == 0 else { throw Failed(description: "spawn: \(errorName(error))") }
  usleep(50_000)
  return child
}

/// Starts a program; says which process it is, and the errno of execve(2).
func spawned(_ program: String, _ argument: String) -> (child: pid_t, error: Int32) {
  var child: pid_t = 0
  let words = [strdup(program), strdup(argument), nil]
  defer { for word in words { free(word) } }
  let error = posix_spawn(&child, program, nil, nil, words, environ)
  return (child, error)
}

func stop(_ child: pid_t) {
  kill(child, SIGKILL)
  var status: Int32 = 0
  waitpid(child, &status, 0)
}
