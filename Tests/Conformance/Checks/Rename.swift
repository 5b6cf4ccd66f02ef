import CShims
import Glibc

func addRenameChecks(_ suite: inout Suite) {
  for kind in Kind.allCases {
    suite.check("rename: moves \(kind.rawValue) with its inode number") { place in
      try place.node(kind, "a")
      let before = try place.status("a")
      try ok(Sys.rename(place("a"), place("b")))
      try require(!place.exists("a"), "the old name stays")
      let after = try place.status("b")
      try equal(after.st_ino, before.st_ino)
      try equal(after.st_mode, before.st_mode)
    }
    suite.check("rename: of \(kind.rawValue) leaves its mtime and moves both directories' times") {
      place in
      try place.directory("one")
      try place.directory("two")
      try place.node(kind, "one/a")
      let before = try place.stamps("one/a")
      try place.moves(mtime: true, ctime: true, of: "one") {
        try place.moves(mtime: true, ctime: true, of: "two") {
          try ok(Sys.rename(place("one/a"), place("two/b")))
        }
      }
      try equal(try place.stamps("two/b").mtime, before.mtime)
    }
    for other in Kind.allCases {
      suite.check("rename: \(kind.rawValue) over \(other.rawValue)") { place in
        try place.node(kind, "a")
        try place.node(other, "b")
        let inode = try place.status("a").st_ino
        switch (kind == .directory, other == .directory) {
        case (true, false): try fails(ENOTDIR, Sys.rename(place("a"), place("b")))
        case (false, true): try fails(EISDIR, Sys.rename(place("a"), place("b")))
        default:
          try ok(Sys.rename(place("a"), place("b")))
          try equal(try place.status("b").st_ino, inode)
          try require(!place.exists("a"), "the old name stays")
        }
      }
    }
    suite.check("rename: RENAME_NOREPLACE over \(kind.rawValue) is EEXIST") { place in
      try place.file("a")
      try place.node(kind, "b")
      try fails(EEXIST, Sys.rename(place("a"), place("b"), Linux.noReplace))
      try ok(Sys.rename(place("a"), place("c"), Linux.noReplace))
    }
    suite.check("rename: RENAME_EXCHANGE of a file and \(kind.rawValue)") { place in
      try place.file("a")
      try place.node(kind, "b")
      let (a, b) = (try place.status("a").st_ino, try place.status("b").st_ino)
      try ok(Sys.rename(place("a"), place("b"), Linux.exchange))
      try equal(try place.status("a").st_ino, b)
      try equal(try place.status("b").st_ino, a)
    }
  }
  suite.check("rename: RENAME_EXCHANGE with a missing name is ENOENT") { place in
    try place.file("a")
    try fails(ENOENT, Sys.rename(place("a"), place("b"), Linux.exchange))
  }
  suite.check("rename: RENAME_EXCHANGE of a directory with what is in it is EINVAL") { place in
    try place.directory("d")
    try place.directory("d/e")
    try fails(EINVAL, Sys.rename(place("d"), place("d/e"), Linux.exchange))
  }
  suite.check("rename: unknown flags, and flags that exclude each other, are EINVAL") { place in
    try place.file("a")
    try fails(EINVAL, Sys.rename(place("a"), place("b"), 1 << 10))
    try fails(EINVAL, Sys.rename(place("a"), place("b"), Linux.noReplace | Linux.exchange))
  }
  suite.check("rename: a missing source is ENOENT") { place in
    try fails(ENOENT, Sys.rename(place("a"), place("b")))
    try place.file("b")
    try fails(ENOENT, Sys.rename(place("a"), place("b")))
  }
  suite.check("rename: a directory into itself is EINVAL") { place in
    try place.directory("d")
    try place.directory("d/e")
    try fails(EINVAL, Sys.rename(place("d"), place("d/new")))
    try fails(EINVAL, Sys.rename(place("d"), place("d/e/new")))
  }
  suite.check("rename: over a directory that is not empty is ENOTEMPTY") { place in
    try place.directory("a")
    try place.directory("b")
    try place.file("b/f")
    try fails([ENOTEMPTY, EEXIST], Sys.rename(place("a"), place("b")))
    try ok(Sys.unlink(place("b/f")))
    try ok(Sys.rename(place("a"), place("b")))
  }
  suite.check("rename: a directory over the one that holds it is ENOTEMPTY") { place in
    try place.directory("a")
    try place.directory("a/b")
    try fails([ENOTEMPTY, EEXIST], Sys.rename(place("a/b"), place("a")))
  }
  suite.check("rename: onto itself does nothing") { place in
    try place.file("a", "text")
    try place.moves(mtime: false, ctime: false, of: "a") {
      try ok(Sys.rename(place("a"), place("a")))
    }
    try equal(try place.text("a"), "text")
  }
  suite.check("rename: '.' and '..' are EBUSY or EINVAL") { place in
    try place.directory("d")
    try fails([EBUSY, EINVAL], Sys.rename(place("d/."), place("e")))
    try fails([EBUSY, EINVAL, ENOTEMPTY], Sys.rename(place("d/.."), place("e")))
  }
  suite.check("rename: a file to a name with a trailing slash is ENOTDIR") { place in
    try place.file("a")
    try fails(ENOTDIR, Sys.rename(place("a"), place("b/")))
    try fails(ENOTDIR, Sys.rename(place("a/"), place("b")))
  }
  suite.check("rename: a directory to a new name with a trailing slash works") { place in
    try place.directory("a")
    try ok(Sys.rename(place("a"), place("b/")))
    try require(place.exists("b"), "it is gone")
  }
  suite.check("rename: moves the ctime of what is renamed") { place in
    try place.file("a")
    let before = try place.stamps("a")
    place.tick()
    try ok(Sys.rename(place("a"), place("b")))
    try require(try place.stamps("b").ctime > before.ctime, "ctime stays")
  }
  suite.check("rename: a replaced file goes on for its handle") { place in
    try place.file("a", "old")
    try place.file("b", "new")
    let fd = try place.open("a", O_RDWR)
    try ok(Sys.rename(place("b"), place("a")))
    try equal(try place.text(fd), "old")
    try equal(try place.status(fd).st_nlink, 0)
    try equal(try place.text("a"), "new")
  }
  suite.check("rename: an open file is the same under its new name") { place in
    try place.file("a", "one")
    let fd = try place.open("a", O_RDWR)
    try ok(Sys.rename(place("a"), place("b")))
    try equal(Sys.pwrite(fd, Array("two".utf8), at: 0), 3)
    try equal(try place.text("b"), "two")
  }
  suite.check("rename: what is below a directory moves with it") { place in
    try place.directory("a")
    try place.directory("a/b")
    try place.file("a/b/f", "text")
    try ok(Sys.rename(place("a"), place("c")))
    try equal(try place.text("c/b/f"), "text")
    try require(!place.exists("a"), "the old name stays")
  }
  suite.check("rename: '..' follows a directory to its new place") { place in
    try place.directory("one")
    try place.directory("two")
    try place.directory("one/d")
    let fd = try place.open("one/d", O_RDONLY)
    try ok(Sys.rename(place("one/d"), place("two/d")))
    var up = stat()
    try ok(Int(fstatat(Int32(fd), "..", &up, 0)))
    try equal(up.st_ino, try place.status("two").st_ino)
  }
  suite.check("rename: a directory changes the link counts of those that hold it") { place in
    try place.directory("one")
    try place.directory("two")
    try place.directory("one/d")
    let before = (try place.status("one").st_nlink, try place.status("two").st_nlink)
    try ok(Sys.rename(place("one/d"), place("two/d")))
    let after = (try place.status("one").st_nlink, try place.status("two").st_nlink)
    // A file system that counts no directories says 1 always.
    if before.0 > 1 { try equal(before.0 - 1, after.0) }
    if before.0 > 1 { try equal(before.1 + 1, after.1) }
  }
  suite.check("rename: who opens, stats or maps finds the old file or the new one, never none") {
    place in
    try place.file("f", "0000")
    let path = place("f")
    /// What one look at the name finds wrong.
    func look(_ kind: Int) throws {
      var status = stat()
      if kind == 0 {
        try ok(Sys.stat(path, &status))
        return try equal(status.st_size, 4)
      }
      let fd = try ok(Sys.open(path, O_RDONLY))
      defer { Sys.close(fd) }
      try ok(Int(fstat(Int32(fd), &status)))
      try equal(status.st_size, 4)
      if kind == 1 { return try equal(Sys.read(fd, 10)?.count, 4) }
      let map = mmap(nil, 4096, PROT_READ, MAP_SHARED, Int32(fd), 0)
      guard map != MAP_FAILED, let map else { throw failure("mmap") }
      defer { munmap(map, 4096) }
      let bytes = UnsafeRawBufferPointer(start: map, count: 5)
      try require(bytes.prefix(4).allSatisfy { 0x30...0x39 ~= $0 } && bytes[4] == 0, "torn")
    }
    let done = try place.bell()
    let readers = try (0..<3).map { kind in
      try Child {
        // At least some looks are made, and looking goes on until the last rename.
        for _ in 0..<50 { try look(kind) }
        while !done.rings(within: 0) { try look(kind) }
      }
    }
    for index in 0..<400 {
      try place.file("new", String(1000 + index))
      try ok(Sys.rename(place("new"), path))
    }
    for _ in readers { done.ring() }
    for reader in readers { try reader.finish() }
  }
  suite.check("rename: needs both directories writable: EACCES") { place in
    try place.directory("open", mode: 0o777)
    try place.directory("closed", mode: 0o755)
    try place.file("open/a", mode: 0o666)
    try place.file("closed/a", mode: 0o666)
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.rename(place("open/a"), place("closed/b")))
      try fails(EACCES, Sys.rename(place("closed/a"), place("open/b")))
      try ok(Sys.rename(place("open/a"), place("open/b")))
    }
  }
  suite.check(
    "rename: a directory that is not one's own needs to be writable to get another parent"
  ) { place in
    try place.directory("one", mode: 0o777)
    try place.directory("two", mode: 0o777)
    try place.directory("one/d", mode: 0o755)
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.rename(place("one/d"), place("two/d")))
    }
  }
}
