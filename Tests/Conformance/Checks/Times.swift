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
