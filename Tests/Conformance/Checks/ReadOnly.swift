import CShims
import Glibc

// What cannot be written (EROFS), and what is mounted upon (EBUSY).

/// A call in a directory that cannot be written, with `file`, `directory/inner`, `link` (to `file`) and
/// `fifo` in it, and what it says: nil where it works.
struct ReadOnlyCall {
  var name: String
  var error: Int32?
  var perform: (_ path: (String) -> String) -> Int
}

private func opened(_ path: String, _ flags: Int32) -> Int {
  let fd = Sys.open(path, flags)
  if fd >= 0 { Sys.close(fd) }
  return fd
}

nonisolated(unsafe) let readOnlyCalls: [ReadOnlyCall] = [
  ReadOnlyCall(name: "open for writing", error: EROFS) { opened($0("file"), O_WRONLY) },
  ReadOnlyCall(name: "open for both", error: EROFS) { opened($0("file"), O_RDWR) },
  ReadOnlyCall(name: "open for appending", error: EROFS) {
    opened($0("file"), O_WRONLY | O_APPEND)
  },
  ReadOnlyCall(name: "open for writing through a link", error: EROFS) {
    opened($0("link"), O_RDWR)
  },
  ReadOnlyCall(name: "open with O_TRUNC", error: EROFS) { opened($0("file"), O_RDONLY | O_TRUNC) },
  ReadOnlyCall(name: "open of a new name", error: EROFS) { opened($0("new"), O_RDONLY | O_CREAT) },
  ReadOnlyCall(name: "O_TMPFILE", error: EROFS) { opened($0(""), O_RDWR | Linux.temporary) },
  ReadOnlyCall(name: "mkdir", error: EROFS) { Sys.mkdir($0("new")) },
  ReadOnlyCall(name: "mknod of a file", error: EROFS) { Sys.mknod($0("new"), 0o100644) },
  ReadOnlyCall(name: "mknod of a FIFO", error: EROFS) { Sys.mknod($0("new"), 0o010644) },
  ReadOnlyCall(name: "symlink", error: EROFS) { Sys.symlink("target", $0("new")) },
  ReadOnlyCall(name: "link", error: EROFS) { Sys.link($0("file"), $0("new")) },
  ReadOnlyCall(name: "unlink", error: EROFS) { Sys.unlink($0("file")) },
  ReadOnlyCall(name: "rmdir", error: EROFS) { Sys.rmdir($0("directory")) },
  ReadOnlyCall(name: "rename", error: EROFS) { Sys.rename($0("file"), $0("new")) },
  ReadOnlyCall(name: "rename of a directory", error: EROFS) {
    Sys.rename($0("directory"), $0("new"))
  },
  ReadOnlyCall(name: "rename over a file", error: EROFS) { Sys.rename($0("link"), $0("file")) },
  ReadOnlyCall(name: "RENAME_EXCHANGE", error: EROFS) {
    Sys.rename($0("link"), $0("file"), Linux.exchange)
  },
  ReadOnlyCall(name: "chmod", error: EROFS) { Sys.chmod($0("file"), 0o600) },
  ReadOnlyCall(name: "fchmod", error: EROFS) { path in
    let fd = Sys.open(path("file"), O_RDONLY)
    defer { if fd >= 0 { Sys.close(fd) } }
    return Sys.fchmod(fd, 0o600)
  },
  ReadOnlyCall(name: "chown", error: EROFS) { Sys.chown($0("file"), 1, 1) },
  ReadOnlyCall(name: "lchown", error: EROFS) { Sys.lchown($0("link"), 1, 1) },
  ReadOnlyCall(name: "truncate", error: EROFS) { Sys.truncate($0("file"), 0) },
  ReadOnlyCall(name: "utimensat", error: EROFS) {
    Sys.utimes($0("file"), .seconds(1), .seconds(2))
  },
  ReadOnlyCall(name: "utimensat to now", error: EROFS) { Sys.touch($0("file")) },
  ReadOnlyCall(name: "setxattr", error: EROFS) { Sys.setxattr($0("file"), "user.b", [1]) },
  ReadOnlyCall(name: "removexattr", error: EROFS) { Sys.removexattr($0("file"), "user.a") },
  ReadOnlyCall(name: "access for writing", error: EROFS) { Sys.access($0("file"), W_OK) },
  ReadOnlyCall(name: "access for writing to a directory", error: EROFS) {
    Sys.access($0(""), W_OK)
  },
  // Other errors that come first.
  ReadOnlyCall(name: "open with O_EXCL of what is there", error: EEXIST) {
    opened($0("file"), O_RDONLY | O_CREAT | O_EXCL)
  },
  ReadOnlyCall(name: "mkdir of what is there", error: EEXIST) { Sys.mkdir($0("directory")) },
  ReadOnlyCall(name: "mknod of what is there", error: EEXIST) { Sys.mknod($0("file"), 0o100644) },
  ReadOnlyCall(name: "symlink of what is there", error: EEXIST) { Sys.symlink("t", $0("file")) },
  ReadOnlyCall(name: "link to what is there", error: EEXIST) { Sys.link($0("file"), $0("link")) },
  ReadOnlyCall(name: "mkdir in a missing directory", error: ENOENT) { Sys.mkdir($0("x/new")) },
  ReadOnlyCall(name: "chmod of a missing name", error: ENOENT) { Sys.chmod($0("new"), 0o600) },
  ReadOnlyCall(name: "truncate of a directory", error: EISDIR) { Sys.truncate($0("directory"), 0) },
  ReadOnlyCall(name: "open of a directory for writing", error: EISDIR) {
    opened($0("directory"), O_WRONLY)
  },
  // And those that do not: nothing is looked up for what could not go.
  ReadOnlyCall(name: "unlink of a missing name", error: EROFS) { Sys.unlink($0("new")) },
  ReadOnlyCall(name: "unlink of a directory", error: EROFS) { Sys.unlink($0("directory")) },
  ReadOnlyCall(name: "rmdir of a file", error: EROFS) { Sys.rmdir($0("file")) },
  ReadOnlyCall(name: "rename of a missing name", error: EROFS) {
    Sys.rename($0("new"), $0("file"))
  },
  // What changes nothing works.
  ReadOnlyCall(name: "read") { path in
    let fd = Sys.open(path("file"), O_RDONLY)
    defer { if fd >= 0 { Sys.close(fd) } }
    return Sys.read(fd, 100) == Array("text".utf8) ? 0 : -1
  },
  ReadOnlyCall(name: "O_CREAT of what is there") { opened($0("file"), O_RDONLY | O_CREAT) },
  ReadOnlyCall(name: "readlink") { Sys.readlink($0("link")) },
  ReadOnlyCall(name: "readdir") { Place.names(Path($0("directory")))?.count == 3 ? 0 : -1 },
  ReadOnlyCall(name: "getxattr") { Sys.getxattr($0("file"), "user.a") == [1] ? 0 : -1 },
  ReadOnlyCall(name: "access for reading") { Sys.access($0("file"), R_OK) },
  ReadOnlyCall(name: "a FIFO for writing") { opened($0("fifo"), O_RDWR) },
]

/// What calls in a directory that cannot be written say wrongly.
func readOnlyFailures(in directory: String) -> [String] {
  readOnlyCalls.compactMap { one in
    errno = 0
    let result = one.perform { "\(directory)/\($0)" }
    let error = result < 0 ? errno : 0
    if result < 0 ? error == one.error : one.error == nil { return nil }
    let found = result < 0 ? errorName(error) : "it works"
    return "read-only: \(one.name): \(found) instead of \(one.error.map(errorName) ?? "working")"
  }
}

func addMountChecks(_ suite: inout Suite) {
  suite.check("read-only: what cannot be written says EROFS, and is read") { place in
    try place.directory("tree")
    try place.file("tree/file", "text")
    try ok(Sys.setxattr(place("tree/file"), "user.a", [1]))
    try place.directory("tree/directory")
    try place.file("tree/directory/inner")
    try ok(Sys.symlink("file", place("tree/link")))
    try place.node(.fifo, "tree/fifo")
    try withOwnMounts(place) {
      try ok(mount(place("tree"), place("tree"), Mount.bind))
      let flags = Mount.bind | Mount.remount | Mount.readOnly
      try ok(mount(nil, place("tree"), flags))
      let failures = readOnlyFailures(in: place("tree"))
      try require(failures.isEmpty, failures.joined(separator: "; "))
    }
    try equal(try place.text("tree/file"), "text")
  }
  suite.check("mount point: rmdir and rename of it and over it are EBUSY") { place in
    try place.directory("point")
    try place.directory("empty")
    try place.directory("other")
    try place.file("other/f")
    try place.file("file")
    try place.file("mounted", "text")
    try withOwnMounts(place) {
      try ok(mount(place("other"), place("point"), Mount.bind))
      try fails(EBUSY, Sys.rmdir(place("point")))
      try fails(EBUSY, Sys.rename(place("point"), place("new")))
      try fails(EBUSY, Sys.rename(place("empty"), place("point")))
      try fails(EBUSY, Sys.rename(place("point"), place("empty"), Linux.exchange))
      try fails(EISDIR, Sys.unlink(place("point")))
      try fails(EEXIST, Sys.mkdir(place("point")))
      try fails(EISDIR, Sys.rename(place("file"), place("point")))
      try ok(mount(place("file"), place("mounted"), Mount.bind))
      try fails(EBUSY, Sys.unlink(place("mounted")))
      try fails(EBUSY, Sys.rename(place("mounted"), place("new")))
      try fails(EBUSY, Sys.rename(place("file"), place("mounted")))
      try fails(ENOTDIR, Sys.rmdir(place("mounted")))
      // The same directory, mounted upon itself, is another file system's for a rename.
      try fails(EXDEV, Sys.rename(place("point/f"), place("f")))
      try fails(EXDEV, Sys.link(place("point/f"), place("f")))
      // Its directory moves with what is mounted in it.
      try place.directory("above")
      try place.directory("above/point")
      try ok(mount(place("other"), place("above/point"), Mount.bind))
      try ok(Sys.rename(place("above"), place("moved")))
      try require(place.exists("moved/point/f"), "the mount is gone")
    }
    try require(place.exists("point") && place.exists("other/f"), "something is gone")
    try equal(try place.text("mounted"), "text")
    try ok(Sys.rmdir(place("point")))
  }
}
