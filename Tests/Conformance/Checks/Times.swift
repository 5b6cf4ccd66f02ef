import CShims
import Glibc

func addTimeChecks(_ suite: inout Suite) {
  for kind in Kind.allCases {
    suite.check(
      "utimensat: sets both times of \(kind.rawValue) to the nanosecond, and moves its ctime"
    ) { place in
      try place.node(kind, "n")
      let before = try place.stamps("n")
      place.tick()
      try ok(
        Sys.utimes(
          place("n"), .seconds(1_000_000_001, 123_456_789), .seconds(1_100_000_002, 987_654_321),
          flags: AT_SYMLINK_NOFOLLOW))
      let after = try place.stamps("n")
      try equal(after.atime, 1_000_000_001_123_456_789)
      try equal(after.mtime, 1_100_000_002_987_654_321)
      try require(after.ctime > before.ctime, "ctime stays")
    }
  }
  suite.check("utimensat: UTIME_OMIT leaves a time") { place in
    try place.file("f")
    try ok(Sys.utimes(place("f"), .seconds(11), .seconds(22)))
    try ok(Sys.utimes(place("f"), .omit, .seconds(33)))
    try equal(try place.stamps("f").atime, 11_000_000_000)
    try ok(Sys.utimes(place("f"), .seconds(44), .omit))
    try equal(try place.stamps("f").mtime, 33_000_000_000)
    try equal(try place.stamps("f").atime, 44_000_000_000)
  }
  suite.check("utimensat: an access time alone moves ctime too, and not mtime") { place in
    for kind in [Kind.regular, .directory, .symlink, .fifo] {
      try place.node(kind, "\(kind)")
      try place.moves(mtime: false, ctime: true, of: "\(kind)") {
        try ok(Sys.utimes(place("\(kind)"), .seconds(7), .omit, flags: AT_SYMLINK_NOFOLLOW))
      }
      try equal(try place.stamps("\(kind)").atime, 7_000_000_000)
    }
  }
  suite.check("utimensat: both UTIME_OMIT changes nothing, not even ctime") { place in
    try place.file("f")
    try place.moves(mtime: false, ctime: false, of: "f") {
      try ok(Sys.utimes(place("f"), .omit, .omit))
    }
  }
  suite.check("utimensat: UTIME_NOW and no times at all mean the clock") { place in
    try place.file("f")
    try ok(Sys.utimes(place("f"), .seconds(1), .seconds(1)))
    try ok(Sys.utimes(place("f"), .now, .now))
    let soon = Int64(time(nil)) * 1_000_000_000
    try require(abs(try place.stamps("f").mtime - soon) < 5_000_000_000, "mtime is not now")
    try ok(Sys.utimes(place("f"), .seconds(1), .seconds(1)))
    try ok(Sys.touch(place("f")))
    try require(abs(try place.stamps("f").mtime - soon) < 5_000_000_000, "mtime is not now")
    try require(abs(try place.stamps("f").atime - soon) < 5_000_000_000, "atime is not now")
  }
  suite.check("utimensat: nanoseconds out of range are EINVAL") { place in
    try place.file("f")
    try fails(EINVAL, Sys.utimes(place("f"), .seconds(1, 1_000_000_000), .seconds(1)))
    try fails(EINVAL, Sys.utimes(place("f"), .seconds(1), .seconds(1, -1)))
  }
  suite.check("utimensat: times before 1970 and after 2038 come back") { place in
    try place.file("f")
    try ok(Sys.utimes(place("f"), .seconds(-1), .seconds(-1000, 5)))
    try equal(try place.stamps("f").mtime, -999_999_999_995)
    try ok(Sys.utimes(place("f"), .seconds(5_000_000_000), .seconds(6_000_000_000, 7)))
    try equal(try place.stamps("f").mtime, 6_000_000_000_000_000_007)
  }
  suite.check("utimensat: years from 1902 to 2446 come back to the nanosecond") { place in
    for kind in [Kind.regular, .directory, .symlink, .fifo] {
      try place.node(kind, "\(kind)")
      for seconds in [
        -2_147_483_647, -2_000_000_000, -1, 0, 2_147_483_647, 2_147_483_648, 4_294_967_295,
        4_294_967_296, 6_000_000_000, 9_223_372_036, 9_223_372_037, 12_884_901_888, 15_032_385_534,
      ] {
        for nanoseconds in [0, 1, 999_999_999] {
          let time = timespec.seconds(seconds, nanoseconds)
          try ok(Sys.utimes(place("\(kind)"), time, time, flags: AT_SYMLINK_NOFOLLOW))
          let status = try place.status("\(kind)")
          try equal([status.st_mtim.tv_sec, status.st_mtim.tv_nsec], [seconds, nanoseconds])
          try equal([status.st_atim.tv_sec, status.st_atim.tv_nsec], [seconds, nanoseconds])
        }
      }
    }
  }
  addFailingTimeChecks(&suite)
  suite.check("utimensat: follows a symbolic link") { place in
    try place.file("f")
    try ok(Sys.symlink("f", place("l")))
    try ok(Sys.utimes(place("l"), .seconds(1), .seconds(2)))
    try equal(try place.stamps("f").mtime, 2_000_000_000)
  }
  suite.check("utimensat: times of somebody else's file are EPERM to set, EACCES to make now") {
    place in
    try place.file("f", mode: 0o644)
    try place.asUser(Place.stranger) {
      try fails(EPERM, Sys.utimes(place("f"), .seconds(1), .seconds(2)))
      try fails(EACCES, Sys.utimes(place("f"), .now, .now))
      try fails(EACCES, Sys.touch(place("f")))
    }
  }
  suite.check("utimensat: who may write may make the times now, but not set them") { place in
    try place.file("f", mode: 0o666)
    try place.asUser(Place.stranger) {
      try ok(Sys.touch(place("f")))
      try ok(Sys.utimes(place("f"), .now, .now))
      try fails(EPERM, Sys.utimes(place("f"), .seconds(1), .seconds(2)))
      try fails(EPERM, Sys.utimes(place("f"), .omit, .now))
    }
  }
  suite.check("times: writing moves mtime and ctime") { place in
    try place.file("f")
    let fd = try place.open("f", O_WRONLY)
    try place.moves(mtime: true, ctime: true, of: "f") { try equal(Sys.write(fd, [1]), 1) }
  }
  suite.check("times: writing nothing moves nothing") { place in
    try place.file("f")
    let fd = try place.open("f", O_WRONLY)
    try place.moves(mtime: false, ctime: false, of: "f") { try equal(Sys.write(fd, []), 0) }
  }
  suite.check("times: reading moves neither mtime nor ctime") { place in
    try place.file("f", "text")
    try place.moves(mtime: false, ctime: false, of: "f") { _ = try place.text("f") }
  }
  suite.check("times: a store into a mapping moves mtime and ctime by the time it is synced") {
    place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDWR)
    try place.moves(mtime: true, ctime: true, of: "f") {
      let map = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, Int32(fd), 0)
      guard map != MAP_FAILED, let map else { throw failure("mmap") }
      defer { munmap(map, 4096) }
      map.storeBytes(of: 0x54, as: UInt8.self)
      try equal(msync(map, 4096, MS_SYNC), 0)
    }
    try equal(try place.text("f"), "Text")
  }
  suite.check("times: stat through a handle and by name agree after every change") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    for step in 0..<6 {
      place.tick()
      switch step {
      case 0: try equal(Sys.write(fd, [1, 2, 3]), 3)
      case 1: try ok(Sys.ftruncate(fd, 1))
      case 2: try ok(Sys.chmod(place("f"), 0o600))
      case 3: try ok(Sys.utimes(place("f"), .seconds(3), .seconds(4)))
      case 4: try ok(Sys.rename(place("f"), place("g")))
      default: try ok(Sys.link(place("g"), place("f")))
      }
      let name = step == 4 ? "g" : "f"
      try equal(Stamps(try place.status(fd)), try place.stamps(name))
    }
  }
}

/// Calls that fail move no time, neither of the node nor of the directory that it is in.
private func addFailingTimeChecks(_ suite: inout Suite) {
  // At a place with a file `n`, a directory `d` with `d/full/f` in it, and `d/n`, `d/link` -> `n`.
  let calls: [(String, Int32, (Place) throws -> Int)] = [
    ("open with O_EXCL", EEXIST, { Sys.open($0("d/n"), O_RDWR | O_CREAT | O_EXCL) }),
    ("open of a directory with O_TRUNC", EISDIR, { Sys.open($0("d/full"), O_RDWR | O_TRUNC) }),
    ("mkdir", EEXIST, { Sys.mkdir($0("d/n")) }),
    ("mknod", EEXIST, { Sys.mknod($0("d/n"), 0o100644) }),
    ("symlink", EEXIST, { Sys.symlink("t", $0("d/n")) }),
    ("link", EEXIST, { Sys.link($0("n"), $0("d/n")) }),
    ("link of a directory", EPERM, { Sys.link($0("d/full"), $0("d/new")) }),
    ("unlink of nothing", ENOENT, { Sys.unlink($0("d/missing")) }),
    ("unlink of a directory", EISDIR, { Sys.unlink($0("d/full")) }),
    ("rmdir", ENOTEMPTY, { Sys.rmdir($0("d/full")) }),
    ("rmdir of a file", ENOTDIR, { Sys.rmdir($0("d/n")) }),
    ("rename of nothing", ENOENT, { Sys.rename($0("d/missing"), $0("d/n")) }),
    ("rename over a directory", EISDIR, { Sys.rename($0("d/n"), $0("d/full")) }),
    ("rename over a file", ENOTDIR, { Sys.rename($0("d/full"), $0("d/n")) }),
    ("rename into itself", EINVAL, { Sys.rename($0("d"), $0("d/full/x")) }),
    ("RENAME_NOREPLACE", EEXIST, { Sys.rename($0("n"), $0("d/n"), Linux.noReplace) }),
    ("RENAME_EXCHANGE", ENOENT, { Sys.rename($0("d/n"), $0("d/missing"), Linux.exchange) }),
    ("truncate", EINVAL, { Sys.truncate($0("d/n"), -1) }),
    ("truncate past all limits", EFBIG, { Sys.truncate($0("d/n"), .max) }),
    ("truncate of a directory", EISDIR, { Sys.truncate($0("d/full"), 0) }),
    ("utimensat", EINVAL, { Sys.utimes($0("d/n"), .seconds(1, -1), .now) }),
    ("setxattr", EEXIST, { Sys.setxattr($0("d/n"), "user.a", [2], 1) }),
    ("setxattr of a link", EPERM, { Sys.setxattr($0("d/link"), "user.a", [2]) }),
    ("removexattr", ENODATA, { Sys.removexattr($0("d/n"), "user.b") }),
    ("write to a handle for reading", EBADF, { Sys.write(try $0.open("d/n", O_RDONLY), [1]) }),
    ("ftruncate of such a one", EINVAL, { Sys.ftruncate(try $0.open("d/n", O_RDONLY), 1) }),
    ("fallocate", EINVAL, { Sys.fallocate(try $0.open("d/n", O_RDWR), 0, 0, 0) }),
    (
      "a copy from nowhere", EBADF,
      { Sys.copyRange(-1, at: 0, try $0.open("d/n", O_RDWR), at: 0, 1) }
    ),
  ]
  /// Makes the place, and expects that nothing moves.
  func unmoved(_ place: Place, _ body: () throws -> Void) throws {
    try place.file("n", "text")
    try place.directory("d")
    try place.file("d/n", "text")
    try ok(Sys.setxattr(place("d/n"), "user.a", [1]))
    try ok(Sys.symlink("n", place("d/link")))
    try place.directory("d/full")
    try place.file("d/full/f")
    let names = ["", "n", "d", "d/n", "d/link", "d/full", "d/full/f"]
    func times() throws -> [[Int64]] {
      try names.map { [try place.stamps($0).mtime, try place.stamps($0).ctime] }
    }
    let before = try times()
    place.tick()
    try body()
    for (name, (old, new)) in zip(names, zip(before, try times())) {
      try require(old == new, "the times of '\(name)' move")
    }
  }
  for (name, error, perform) in calls {
    suite.check("times: \(name) that is \(errorName(error)) moves none") { place in
      try unmoved(place) { try fails(error, try perform(place)) }
    }
  }
  let strangers: [(String, Int32, (Place) throws -> Int)] = [
    ("chmod", EPERM, { Sys.chmod($0("d/n"), 0o600) }),
    ("chown", EPERM, { Sys.chown($0("d/n"), Place.stranger, -1) }),
    ("utimensat", EACCES, { Sys.touch($0("d/n")) }),
    ("truncate", EACCES, { Sys.truncate($0("d/n"), 0) }),
    ("O_TRUNC", EACCES, { Sys.open($0("d/n"), O_RDONLY | O_TRUNC) }),
    ("setxattr", EACCES, { Sys.setxattr($0("d/n"), "user.a", [2]) }),
    ("removexattr", EACCES, { Sys.removexattr($0("d/n"), "user.a") }),
    ("open of a new name", EACCES, { Sys.open($0("d/new"), O_RDWR | O_CREAT) }),
    ("unlink", EACCES, { Sys.unlink($0("d/n")) }),
    ("rename", EACCES, { Sys.rename($0("d/n"), $0("d/m")) }),
  ]
  for (name, error, perform) in strangers {
    suite.check("times: \(name) by another that is \(errorName(error)) moves none") { place in
      try unmoved(place) {
        try place.asUser(Place.stranger) { try fails(error, try perform(place)) }
      }
    }
  }
}
