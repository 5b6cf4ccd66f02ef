import CShims
import Glibc

func addLinkChecks(_ suite: inout Suite) {
  for kind in Kind.allCases where kind != .directory {
    suite.check("link: another name of \(kind.rawValue) is the same node, with two links") {
      place in
      try place.node(kind, "a")
      try ok(Sys.link(place("a"), place("b")))
      let (a, b) = (try place.status("a"), try place.status("b"))
      try equal(a.st_ino, b.st_ino)
      try equal(a.st_nlink, 2)
      try equal(b.st_nlink, 2)
      try equal(b.st_mode, a.st_mode)
      try ok(Sys.unlink(place("a")))
      try equal(try place.status("b").st_nlink, 1)
      try equal(try place.status("b").st_ino, b.st_ino)
    }
    suite.check("link: to an existing name is EEXIST, whatever stands there (\(kind.rawValue))") {
      place in
      try place.file("a")
      try place.node(kind, "b")
      try fails(EEXIST, Sys.link(place("a"), place("b")))
    }
    suite.check("link: moves the ctime of \(kind.rawValue), not its mtime") { place in
      try place.node(kind, "a")
      try place.moves(mtime: false, ctime: true, of: "a") {
        try ok(Sys.link(place("a"), place("b")))
      }
    }
    suite.check("unlink: moves the ctime of the other name of \(kind.rawValue)") { place in
      try place.node(kind, "a")
      try ok(Sys.link(place("a"), place("b")))
      try place.moves(mtime: false, ctime: true, of: "b") { try ok(Sys.unlink(place("a"))) }
    }
  }
  suite.check("link: bytes written through one name are read through the other") { place in
    try place.file("a", "one")
    try ok(Sys.link(place("a"), place("b")))
    try place.file("b", "two!")
    try equal(try place.text("a"), "two!")
    try equal(try place.status("a").st_size, 4)
  }
  suite.check("link: mode, owner and times set through one name show in the other") { place in
    try place.file("a", "one")
    try ok(Sys.link(place("a"), place("b")))
    try ok(Sys.chmod(place("b"), 0o611))
    try ok(Sys.utimes(place("b"), .seconds(5), .seconds(77, 5)))
    let a = try place.status("a")
    try equal(a.st_mode & 0o7777, 0o611)
    try equal(Stamps(a).mtime, 77_000_000_005)
    try equal(Stamps(a), try place.stamps("b"))
  }
  suite.check("link: moves the mtime and ctime of the directory") { place in
    try place.file("a")
    try place.directory("d")
    try place.moves(mtime: true, ctime: true, of: "d") {
      try ok(Sys.link(place("a"), place("d/b")))
    }
  }
  suite.check("link: a directory is EPERM") { place in
    try place.directory("d")
    try fails(EPERM, Sys.link(place("d"), place("e")))
  }
  suite.check("link: a missing source is ENOENT before an existing target is EEXIST") { place in
    try place.file("b")
    try fails(ENOENT, Sys.link(place("missing"), place("b")))
  }
  suite.check("link: does not follow a symbolic link unless asked to") { place in
    try place.file("f")
    try ok(Sys.symlink("f", place("l")))
    try ok(Sys.link(place("l"), place("same")))
    try equal(try place.status("same").st_mode & 0o170000, 0o120000)
    try ok(Sys.link(place("l"), place("file"), flags: Linux.symlinkFollow))
    try equal(try place.status("file").st_ino, try place.status("f").st_ino)
    try equal(try place.status("f").st_nlink, 2)
  }
  suite.check("link: a failing link changes no link count and no time") { place in
    try place.file("a")
    try place.file("b")
    try place.moves(mtime: false, ctime: false, of: "a") {
      try fails(EEXIST, Sys.link(place("a"), place("b")))
    }
    try equal(try place.status("a").st_nlink, 1)
  }
  suite.check("link: 100 names of one file count 100, and go one by one") { place in
    try place.file("0", "text")
    for index in 1..<100 { try ok(Sys.link(place("0"), place("\(index)"))) }
    try equal(try place.status("50").st_nlink, 100)
    for index in 0..<99 { try ok(Sys.unlink(place("\(index)"))) }
    try equal(try place.status("99").st_nlink, 1)
    try equal(try place.text("99"), "text")
  }
  suite.check("link: more names than a file can have are EMLINK, and one less lets one more in") {
    place in
    try place.directory("d")
    let directory = try place.open("d", O_RDONLY | Linux.directory)
    try place.file("d/0", "text")
    func link(_ name: String) -> Int {
      name.withCString { name in
        "0".withCString {
          call(
            SYS_linkat, directory, Int(bitPattern: $0), directory, Int(bitPattern: name), 0)
        }
      }
    }
    var count = 1
    let begun = time(nil)
    while count <= 65_000, link("\(count)") == 0 {
      count += 1
      // Half a second on a local disk: where it takes much longer it says nothing more.
      if time(nil) - begun > 8 { throw Skipped(reason: "65,000 names of a file take too long") }
    }
    if count > 65_000 { throw Skipped(reason: "a file may have more than 65,000 names") }
    try fails(EMLINK, link("more"))
    try equal(Int(try place.status("d/0").st_nlink), count)
    try require(!place.exists("d/more"), "it was made")
    try ok(Sys.unlink(place("d/1")))
    try ok(link("more"))
    try fails(EMLINK, link("1"))
    try fails(EEXIST, link("2"))
    try equal(Int(try place.status("d/more").st_nlink), count)
  }
  suite.check("link: names in several directories are one file, also after those move") { place in
    try place.directory("one")
    try place.directory("two")
    try place.file("one/a", "text")
    try ok(Sys.link(place("one/a"), place("two/b")))
    try ok(Sys.rename(place("one"), place("three")))
    try place.file("three/a", "other")
    try equal(try place.text("two/b"), "other")
    try equal(try place.status("two/b").st_ino, try place.status("three/a").st_ino)
  }
  suite.check("link: a file without a name cannot be linked again: ENOENT") { place in
    try place.file("a", "text")
    let fd = try place.open("a", O_RDWR)
    try ok(Sys.unlink(place("a")))
    try fails(ENOENT, Sys.link("/proc/self/fd/\(fd)", place("b"), flags: Linux.symlinkFollow))
  }
  suite.check("link: an open file that has a name is linked through /proc/self/fd") { place in
    try place.file("a", "text")
    let fd = try place.open("a", O_RDWR)
    try ok(Sys.link("/proc/self/fd/\(fd)", place("b"), flags: Linux.symlinkFollow))
    try equal(try place.text("b"), "text")
  }
  suite.check("link: needs a directory that may be written: EACCES") { place in
    try place.needRoot()
    try place.file("a", mode: 0o666)
    try ok(Sys.lchown(place("a"), Place.stranger, Place.stranger))
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.link(place("a"), place("b")))
    }
  }
  suite.check("rename: between two names of one file does nothing") { place in
    try place.file("a")
    try ok(Sys.link(place("a"), place("b")))
    try ok(Sys.rename(place("a"), place("b")))
    try equal(try place.status("a").st_nlink, 2)
    try require(place.exists("b"), "the target is gone")
  }
  suite.check("rename: over one of two names leaves the other with one link") { place in
    try place.file("a", "old")
    try ok(Sys.link(place("a"), place("b")))
    try place.file("new", "new")
    try ok(Sys.rename(place("new"), place("a")))
    try equal(try place.text("a"), "new")
    try equal(try place.text("b"), "old")
    try equal(try place.status("b").st_nlink, 1)
  }
  suite.check("rename: one of two names keeps both") { place in
    try place.file("a", "text")
    try ok(Sys.link(place("a"), place("b")))
    try ok(Sys.rename(place("b"), place("c")))
    try equal(try place.status("a").st_ino, try place.status("c").st_ino)
    try equal(try place.status("c").st_nlink, 2)
    try require(!place.exists("b"), "the old name stays")
  }
}

func addUnlinkChecks(_ suite: inout Suite) {
  for kind in Kind.allCases where kind != .directory {
    suite.check("unlink: takes the name of \(kind.rawValue)") { place in
      try place.node(kind, "n")
      try ok(Sys.unlink(place("n")))
      try require(!place.exists("n"), "it stays")
      try fails(ENOENT, Sys.unlink(place("n")))
    }
    suite.check("unlink: of \(kind.rawValue) moves its directory's mtime and ctime") { place in
      try place.directory("d")
      try place.node(kind, "d/n")
      try place.moves(mtime: true, ctime: true, of: "d") { try ok(Sys.unlink(place("d/n"))) }
    }
  }
  suite.check("unlink: a directory is EISDIR") { place in
    try place.directory("d")
    try fails(EISDIR, Sys.unlink(place("d")))
    try require(place.exists("d"), "it is gone")
  }
  suite.check("unlink: a symbolic link goes, its target stays") { place in
    try place.file("f")
    try ok(Sys.symlink("f", place("l")))
    try ok(Sys.unlink(place("l")))
    try require(place.exists("f"), "the target is gone")
  }
  suite.check("unlink: a trailing slash is ENOTDIR") { place in
    try place.file("f")
    try fails(ENOTDIR, Sys.unlink(place("f/")))
  }
  suite.check("unlink: an open file goes on without a name") { place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDWR)
    try ok(Sys.unlink(place("f")))
    try equal(try place.status(fd).st_nlink, 0)
    try equal(try place.text(fd), "text")
    try equal(Sys.pwrite(fd, Array("more".utf8), at: 4), 4)
    try equal(try place.text(fd), "textmore")
    try equal(try place.status(fd).st_size, 8)
    try ok(Sys.ftruncate(fd, 2))
    try equal(try place.text(fd), "te")
    try ok(Sys.fchmod(fd, 0o600))
    try equal(try place.status(fd).st_mode & 0o7777, 0o600)
  }
  suite.check("unlink: a new file under the name of an open one is another") { place in
    try place.file("f", "old")
    let fd = try place.open("f", O_RDWR)
    try ok(Sys.unlink(place("f")))
    try place.file("f", "new")
    try equal(try place.text(fd), "old")
    try equal(try place.text("f"), "new")
    try require(try place.status(fd).st_ino != place.status("f").st_ino, "one inode number")
  }
  suite.check("unlink: nothing shows of an open file without a name") { place in
    try place.directory("d")
    try place.file("d/f", "text")
    let fd = try place.open("d/f", O_RDWR)
    try ok(Sys.unlink(place("d/f")))
    try equal(Place.names(Path(place("d")))?.count, 2)
    try ok(Sys.rmdir(place("d")))
    try equal(try place.text(fd), "text")
  }
  suite.check("unlink: moves the ctime of an open file") { place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDWR)
    let before = Stamps(try place.status(fd))
    place.tick()
    try ok(Sys.unlink(place("f")))
    let after = Stamps(try place.status(fd))
    try require(after.ctime > before.ctime, "ctime stays")
    try equal(after.mtime, before.mtime)
  }
  suite.check("unlink: a directory that may not be written is EACCES") { place in
    try place.file("f", mode: 0o666)
    try place.asUser(Place.stranger) { try fails(EACCES, Sys.unlink(place("f"))) }
  }
}
