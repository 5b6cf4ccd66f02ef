import CShims
import Glibc

// When reading moves the access time: `relatime`, which every mount has unless told otherwise, or `strictatime`.

extension Place {
  /// statvfs(3)'s flags of the mount.
  private func flags() throws -> UInt {
    var numbers = statvfs()
    try ok(Int(statvfs(path, &numbers)), "statvfs")
    return numbers.f_flag
  }

  /// Skips the check where reading moves nothing.
  fileprivate func needAccessTimes(ofDirectories: Bool = false) throws {
    let flags = try flags()
    if flags & 1024 != 0 || ofDirectories && flags & 2048 != 0 {
      throw Skipped(reason: "access times do not move (mounted with noatime)")
    }
  }

  fileprivate var isRelative: Bool { get throws { try flags() & 4096 != 0 } }

  /// Returns true if a body updates the access time of a file; throws if it changes another time.
  fileprivate func movesAccess(of name: String, _ body: () throws -> Void) throws -> Bool {
    let before = try stamps(name)
    tick()
    try body()
    let after = try stamps(name)
    try require(after.mtime == before.mtime && after.ctime == before.ctime, "other times move")
    return after.atime != before.atime
  }
}

func addAccessTimeChecks(_ suite: inout Suite) {
  suite.check("atime: reading moves it, and again only after the file has changed") { place in
    try place.needAccessTimes()
    try place.file("f", "text")
    try require(try place.movesAccess(of: "f") { _ = try place.text("f") }, "it stays")
    if try place.isRelative {
      try require(try !place.movesAccess(of: "f") { _ = try place.text("f") }, "it moves again")
    }
    for change in ["chmod", "write"] {
      place.tick()
      if change == "chmod" {
        try ok(Sys.chmod(place("f"), 0o600))
      } else {
        try equal(Sys.write(try place.open("f", O_WRONLY), [1, 2]), 2)
      }
      try require(
        try place.movesAccess(of: "f") { _ = try place.text("f") }, "it stays after \(change)")
    }
  }
  suite.check("atime: reading moves it also where the page cache has every byte") { place in
    try place.needAccessTimes()
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try equal(Sys.write(fd, [UInt8](repeating: 7, count: 65_536)), 65_536)
    try require(try place.movesAccess(of: "f") { _ = try place.text("f") }, "it stays")
    place.tick()
    try ok(Sys.rename(place("f"), place("g")))
    try require(try place.movesAccess(of: "g") { _ = try place.text("g") }, "it stays")
  }
  suite.check("atime: reading through a descriptor for both moves it") { place in
    try place.needAccessTimes()
    try place.file("f", "text")
    let fd = try place.open("f", O_RDWR)
    try require(try place.movesAccess(of: "f") { _ = try place.text(fd) }, "it stays")
  }
  suite.check("atime: writing, truncating and setting the mtime leave it") { place in
    try place.file("f", "text")
    let before = try place.stamps("f").atime
    place.tick()
    let fd = try place.open("f", O_WRONLY)
    try equal(Sys.write(fd, [1]), 1)
    try ok(Sys.ftruncate(fd, 2))
    try ok(Sys.utimes(place("f"), .omit, .seconds(5)))
    try equal(try place.stamps("f").atime, before)
    try place.directory("d")
    let made = try place.stamps("d").atime
    place.tick()
    try place.file("d/f")
    try equal(try place.stamps("d").atime, made)
  }
  suite.check("atime: O_NOATIME, stat, and opening for writing leave it") { place in
    try place.file("f", "text")
    try require(
      try !place.movesAccess(of: "f") {
        _ = try place.text(try place.open("f", O_RDONLY | 0o1000000))
        _ = try place.open("f", O_WRONLY)
        _ = try place.open("f", Linux.path)
      }, "it moves")
  }
  suite.check("atime: listing a directory whose names have changed moves it") { place in
    try place.needAccessTimes(ofDirectories: true)
    try place.directory("d")
    for name in ["a", "b"] {
      place.tick()
      try place.file("d/\(name)")
      try require(
        try place.movesAccess(of: "d") { _ = Place.names(Path(place("d"))) }, "it stays")
    }
  }
  suite.check("atime: reading a symbolic link moves it") { place in
    try place.needAccessTimes()
    try ok(Sys.symlink("target", place("l")))
    try require(
      try place.movesAccess(of: "l") { try ok(Sys.readlink(place("l"))) }, "it stays")
  }
}
