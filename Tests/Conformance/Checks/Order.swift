import CShims
import Glibc

// Which of several errors is said. The manual leaves most of this open; programs know what local disks of
// Linux say, so that is what is held here.

func addOrderChecks(_ suite: inout Suite) {
  addPathOrderChecks(&suite)
  addMakingOrderChecks(&suite)
  addRenameOrderChecks(&suite)
  addStrangerOrderChecks(&suite)
  addArgumentOrderChecks(&suite)
}

private let long = String(repeating: "n", count: 256)

private func addPathOrderChecks(_ suite: inout Suite) {
  suite.check("order: on a path the first component that is wrong counts") { place in
    try place.file("file")
    try ok(Sys.symlink("circle", place("circle")))
    try fails(ENOTDIR, Sys.open(place("file/\(long)"), O_RDONLY))
    try fails(ENOENT, Sys.open(place("missing/\(long)"), O_RDONLY))
    try fails(ENAMETOOLONG, Sys.open(place("\(long)/missing"), O_RDONLY))
    try fails(ELOOP, Sys.open(place("circle/\(long)"), O_RDONLY))
    try fails(ENOENT, Sys.open(place("missing/../file"), O_RDONLY))
    try fails(ENOTDIR, Sys.open(place("file/../file"), O_RDONLY))
    try fails(ENOTDIR, Sys.open(place("file/."), O_RDONLY))
  }
  suite.check("order: a path that is too long is ENAMETOOLONG before what is wrong with it") {
    place in
    let text = place("missing/") + String(repeating: "x/", count: 2100)
    try fails(ENAMETOOLONG, Sys.open(text, O_RDONLY))
    try fails(ENAMETOOLONG, Sys.mkdir(text))
  }
  suite.check("order: EACCES of a directory on the way before ENOENT and ENAMETOOLONG below") {
    place in
    try place.directory("closed", mode: 0o700)
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.open(place("closed/missing"), O_RDONLY))
      try fails(EACCES, Sys.open(place("closed/\(long)"), O_RDONLY))
      try fails(EACCES, Sys.mkdir(place("closed/missing")))
      try fails(EACCES, Sys.unlink(place("closed/missing")))
    }
  }
}

private func addMakingOrderChecks(_ suite: inout Suite) {
  suite.check("order: a link in a circle is EEXIST for what makes names, not ELOOP") { place in
    try ok(Sys.symlink("circle", place("circle")))
    try place.file("file")
    let target = place("circle")
    try fails(EEXIST, Sys.mkdir(target))
    try fails(EEXIST, Sys.symlink("t", target))
    try fails(EEXIST, Sys.mknod(target, 0o100644))
    try fails(EEXIST, Sys.link(place("file"), target))
    try fails(EEXIST, Sys.open(target, O_RDWR | O_CREAT | O_EXCL))
    try fails(EEXIST, Sys.rename(place("file"), target, Linux.noReplace))
    try fails(ELOOP, Sys.open(target, O_RDWR | O_CREAT))
  }
  suite.check("order: O_EXCL is EEXIST before EISDIR, ELOOP and ENOTDIR") { place in
    try place.directory("d")
    try ok(Sys.symlink("nothing", place("dangling")))
    try fails(EEXIST, Sys.open(place("d"), O_RDWR | O_CREAT | O_EXCL))
    let flags = O_RDWR | O_CREAT | O_EXCL | Linux.noFollow
    try fails(EEXIST, Sys.open(place("dangling"), flags))
    try fails(ELOOP, Sys.open(place("dangling"), O_RDWR | O_CREAT | Linux.noFollow))
  }
  suite.check("order: O_CREAT with O_DIRECTORY is EINVAL and makes nothing") { place in
    try place.directory("d")
    try fails(EINVAL, Sys.open(place("new"), O_RDONLY | O_CREAT | Linux.directory))
    try fails(EINVAL, Sys.open(place("d"), O_RDONLY | O_CREAT | Linux.directory))
    try require(!place.exists("new"), "it was made")
  }
  suite.check("order: a slash at the end of a new name") { place in
    try place.file("file")
    try ok(Sys.symlink("nothing", place("dangling")))
    try fails(EISDIR, Sys.open(place("new/"), O_RDWR | O_CREAT))
    try fails(ENOENT, Sys.open(place("new/"), O_RDWR))
    try fails(ENOTDIR, Sys.open(place("file/"), O_RDONLY))
    try fails(ENOENT, Sys.symlink("t", place("new/")))
    try fails(ENOENT, Sys.mknod(place("new/"), 0o100644))
    try fails(ENOENT, Sys.link(place("file"), place("new/")))
    try fails(EEXIST, Sys.mkdir(place("dangling/")))
    try fails(EEXIST, Sys.mkdir(place("file/")))
    try fails(ENOENT, Sys.unlink(place("new/")))
    try fails(ENOENT, Sys.rmdir(place("new/")))
    try fails(ENOTDIR, Sys.rmdir(place("file/")))
  }
  suite.check("order: unlink with a slash says what stands there") { place in
    try place.directory("d")
    try ok(Sys.symlink("d", place("l")))
    try fails(EISDIR, Sys.unlink(place("d/")))
    try fails(ENOTDIR, Sys.unlink(place("l/")))
    try fails(ENOTDIR, Sys.rmdir(place("l/")))
    try fails(EISDIR, Sys.unlink(place("d/.")))
    try fails(EISDIR, Sys.unlink(place("d/..")))
  }
  suite.check("order: '.' and '..' are EEXIST for what makes names") { place in
    try place.directory("d")
    for name in ["d/.", "d/.."] {
      try fails(EEXIST, Sys.mkdir(place(name)))
      try fails(EEXIST, Sys.symlink("t", place(name)))
      try fails(EEXIST, Sys.mknod(place(name), 0o100644))
    }
  }
  suite.check("order: link is EEXIST before EPERM of a directory, ENOENT before both") { place in
    try place.directory("d")
    try place.file("file")
    try fails(EEXIST, Sys.link(place("d"), place("file")))
    try fails(ENOENT, Sys.link(place("missing"), place("file")))
    try fails(ENOENT, Sys.link(place("missing"), place("also/missing")))
    try fails(EPERM, Sys.link(place("d"), place("new")))
    try fails(ENOENT, Sys.link(place("d"), place("missing/new")))
  }
  suite.check("order: an empty target of a link is ENOENT before EEXIST") { place in
    try place.file("file")
    try fails(ENOENT, Sys.symlink("", place("file")))
    try fails(EPERM, Sys.mknod(place("file"), 0o040755))
  }
}

private func addRenameOrderChecks(_ suite: inout Suite) {
  suite.check("order: rename, a missing source is ENOENT before what is wrong with the target") {
    place in
    try place.directory("d")
    try place.file("d/f")
    try fails(ENOENT, Sys.rename(place("missing"), place("d")))
    try fails(ENOENT, Sys.rename(place("missing"), place("d"), Linux.noReplace))
    try fails(ENOENT, Sys.rename(place("missing"), place("d"), Linux.exchange))
    try fails(ENOENT, Sys.rename(place("missing"), place("new/")))
    try fails(ENOENT, Sys.rename(place("missing/x"), place(long + "/x")))
    try fails(ENAMETOOLONG, Sys.rename(place(long + "/x"), place("missing/x")))
  }
  suite.check("order: rename over a file and a directory that is full") { place in
    try place.file("file")
    try place.directory("empty")
    try place.directory("full")
    try place.file("full/f")
    try fails(EISDIR, Sys.rename(place("file"), place("full")))
    try fails(EISDIR, Sys.rename(place("file"), place("empty")))
    try fails(ENOTDIR, Sys.rename(place("full"), place("file")))
    try fails(ENOTEMPTY, Sys.rename(place("empty"), place("full")))
    try fails(EEXIST, Sys.rename(place("file"), place("full"), Linux.noReplace))
    try fails(EEXIST, Sys.rename(place("empty"), place("full"), Linux.noReplace))
    try require(place.exists("full/f") && place.exists("file"), "something is gone")
  }
  suite.check("order: rename into itself is EINVAL before what stands there") { place in
    try place.directory("d")
    try place.directory("d/e")
    try place.file("d/e/f")
    try place.file("d/g")
    try fails(EINVAL, Sys.rename(place("d"), place("d/e")))
    try fails(EINVAL, Sys.rename(place("d"), place("d/g")))
    try fails(EINVAL, Sys.rename(place("d"), place("d/new")))
    try fails(ENOENT, Sys.rename(place("d"), place("d/missing/new")))
    try fails(ENOTDIR, Sys.rename(place("d"), place("d/g/new")))
    try fails(EINVAL, Sys.rename(place("d"), place("d/e"), Linux.exchange))
    try fails(EEXIST, Sys.rename(place("d"), place("d/e"), Linux.noReplace))
    // What holds the source is never empty, whatever the source is.
    try fails(ENOTEMPTY, Sys.rename(place("d/e"), place("d")))
    try fails(ENOTEMPTY, Sys.rename(place("d/g"), place("d")))
    try fails(ENOTEMPTY, Sys.rename(place("d/e/f"), place("d")))
    try fails(EINVAL, Sys.rename(place("d/e"), place("d"), Linux.exchange))
  }
  suite.check("order: rename, '.' and '..' are EBUSY before ENOENT, or EEXIST") { place in
    try place.directory("d")
    try fails(EBUSY, Sys.rename(place("missing"), place("d/.")))
    try fails(EBUSY, Sys.rename(place("d/.."), place("missing")))
    try fails(EEXIST, Sys.rename(place("missing"), place("d/."), Linux.noReplace))
  }
  suite.check("order: rename to another file system is EXDEV before ENOENT of either name") {
    place in
    try place.file("file")
    try fails(EXDEV, Sys.rename(place("missing"), "/proc/missing"))
    try fails(EXDEV, Sys.rename(place("file"), "/proc/missing"))
    try fails(EXDEV, Sys.rename("/proc/version", place("file")))
    try fails(ENOENT, Sys.link(place("missing"), "/proc/version"))
    try fails(EEXIST, Sys.link(place("file"), "/proc/version"))
    try fails(EXDEV, Sys.link("/proc/version", place("new")))
    try fails(EEXIST, Sys.link("/proc/version", place("file")))
    try require(!place.exists("new"), "it was made")
  }
}

private func addStrangerOrderChecks(_ suite: inout Suite) {
  suite.check("order: in a directory that is not to be written EEXIST and ENOENT before EACCES") {
    place in
    try place.directory("d")
    try place.file("d/f", mode: 0o666)
    try place.directory("d/e")
    try place.directory("mine", mode: 0o777)
    try place.asUser(Place.stranger) {
      try place.file("mine/f")
      try fails(EEXIST, Sys.mkdir(place("d/f")))
      try fails(EEXIST, Sys.symlink("t", place("d/f")))
      try fails(EEXIST, Sys.mknod(place("d/f"), 0o100644))
      try fails(EEXIST, Sys.link(place("mine/f"), place("d/f")))
      try fails(EEXIST, Sys.open(place("d/f"), O_RDWR | O_CREAT | O_EXCL))
      try fails(EEXIST, Sys.rename(place("mine/f"), place("d/f"), Linux.noReplace))
      try fails(ENOENT, Sys.unlink(place("d/missing")))
      try fails(ENOENT, Sys.rmdir(place("d/missing")))
      try fails(ENOENT, Sys.rename(place("d/missing"), place("mine/x")))
      try fails(EACCES, Sys.open(place("d/missing"), O_RDWR | O_CREAT))
    }
  }
  suite.check("order: in a directory that is not to be written EACCES before ENOTEMPTY, EISDIR …") {
    place in
    try place.directory("d")
    try place.file("d/f", mode: 0o666)
    try place.directory("d/full")
    try place.file("d/full/f")
    try place.directory("mine", mode: 0o777)
    try place.asUser(Place.stranger) {
      try place.file("mine/f")
      try place.directory("mine/d")
      try fails(EACCES, Sys.rmdir(place("d/full")))
      try fails(EACCES, Sys.rmdir(place("d/f")))
      try fails(EACCES, Sys.unlink(place("d/full")))
      try fails(EACCES, Sys.link(place("mine/d"), place("d/new")))
      try fails(EACCES, Sys.rename(place("mine/f"), place("d/full")))
      try fails(EACCES, Sys.rename(place("mine/d"), place("d/f")))
      try fails(EACCES, Sys.rename(place("mine/d"), place("d/full")))
      try fails(EACCES, Sys.rename(place("d/f"), place("mine/d")))
      try fails(EINVAL, Sys.rmdir(place("d/full/.")))
    }
  }
  suite.check("order: in a sticky directory EPERM before ENOTEMPTY, EISDIR and ENOTDIR") { place in
    try place.directory("d")
    try place.file("d/f", mode: 0o666)
    try place.directory("d/full", mode: 0o777)
    try place.file("d/full/f")
    try ok(Sys.chmod(place("d"), 0o1777))
    try place.asUser(Place.stranger) {
      try place.file("d/mine")
      try place.directory("d/own")
      try fails(EPERM, Sys.rmdir(place("d/full")))
      try fails(EPERM, Sys.rmdir(place("d/f")))
      try fails(EPERM, Sys.unlink(place("d/full")))
      try fails(EPERM, Sys.rename(place("d/mine"), place("d/full")))
      try fails(EPERM, Sys.rename(place("d/own"), place("d/full")))
      try fails(EPERM, Sys.rename(place("d/own"), place("d/f")))
      try fails(EPERM, Sys.rename(place("d/f"), place("d/own")))
      try fails(EPERM, Sys.rename(place("d/mine"), place("d/f"), Linux.exchange))
    }
    try ok(Sys.chmod(place("d"), 0o1755))
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.unlink(place("d/f")))
      try fails(EACCES, Sys.unlink(place("d/mine")))
    }
  }
  suite.check("order: a directory is EISDIR for writing before EACCES, a FIFO EACCES before ENXIO")
  {
    place in
    try place.directory("d", mode: 0o700)
    try place.node(.fifo, "fifo", mode: 0o600)
    try place.node(.socket, "socket", mode: 0o600)
    try place.asUser(Place.stranger) {
      try fails(EISDIR, Sys.open(place("d"), O_WRONLY))
      try fails(EACCES, Sys.open(place("d"), O_RDONLY))
      try fails(EISDIR, Sys.truncate(place("d"), 0))
      try fails(EINVAL, Sys.truncate(place("fifo"), 0))
      try fails(EACCES, Sys.open(place("fifo"), O_WRONLY | O_NONBLOCK))
      try fails(EACCES, Sys.open(place("socket"), O_RDONLY))
    }
  }
  suite.check("order: mknod of a device that exists is EEXIST, not EPERM") { place in
    try place.directory("d", mode: 0o777)
    try place.file("d/f", mode: 0o666)
    try place.asUser(Place.stranger) {
      try fails(EEXIST, Sys.mknod(place("d/f"), 0o020644, 1 << 8 | 3))
      try fails(EPERM, Sys.mknod(place("d/new"), 0o020644, 1 << 8 | 3))
    }
  }
}

private func addArgumentOrderChecks(_ suite: inout Suite) {
  suite.check("order: wrong arguments are EINVAL before ENOENT, but for times") { place in
    let missing = place("missing")
    try fails(EINVAL, Sys.truncate(missing, -1))
    try fails(ENOENT, Sys.utimes(missing, .seconds(1, -1), .now))
    try fails(EINVAL, Sys.rename(missing, place("x"), 1 << 10))
    try fails(EINVAL, Sys.link(missing, place("x"), flags: 1 << 20))
    try fails(EINVAL, Sys.access(missing, 64))
    try fails(EINVAL, missing.withCString { call(SYS_unlinkat, here, Int(bitPattern: $0), 0x40) })
    try fails(
      EINVAL, missing.withCString { call(SYS_readlinkat, here, Int(bitPattern: $0), 1, 0) })
    try fails(EINVAL, Sys.setxattr(missing, "user.a", [1], 77))
    try fails(ENOENT, Sys.setxattr(missing, "user.a", [1]))
  }
  suite.check("order: of a handle for reading EINVAL before EBADF") { place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDONLY)
    try fails(EINVAL, Sys.ftruncate(fd, -1))
    try fails(EINVAL, Sys.fallocate(fd, 0, 0, 0))
    try fails(EBADF, Sys.fallocate(fd, 0, 0, 1))
    try fails(EINVAL, Sys.pwrite(fd, [1], at: -1))
    try fails(EBADF, Sys.pwrite(fd, [1], at: 0))
    try fails(EBADF, Sys.write(fd, []))
  }
  suite.check("order: what has no offset is ESPIPE") { place in
    try place.node(.fifo, "fifo")
    let fd = try place.open("fifo", O_RDWR)
    try fails(ESPIPE, Sys.seek(fd, 0, SEEK_CUR))
    try fails(ESPIPE, Sys.fallocate(fd, 0, 0, 1))
    try fails(ESPIPE, Sys.pwrite(fd, [1], at: 0))
    try fails(EINVAL, Sys.ftruncate(fd, 0))
  }
}
