import CShims
import Glibc

// fallocate(2): the room that a file is given is among its blocks, and is not free.

/// The blocks that a file system has for ordinary users, in bytes.
private func free(_ place: Place) throws -> Int {
  var numbers = statvfs()
  try ok(Int(statvfs(place.path, &numbers)), "statvfs")
  return Int(numbers.f_bavail) * Int(numbers.f_frsize)
}

private func blocks(_ place: Place, _ fd: Int) throws -> Int { try place.status(fd).st_blocks }

func addAllocationChecks(_ suite: inout Suite) {
  suite.check("fallocate: gives every block that a range touches, and st_blocks counts them") {
    place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    let size = Int(try place.status(fd).st_blksize)
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, 0, size - 1, 2))
    try equal(try blocks(place, fd) * 512, 2 * size)
    try ok(Sys.fallocate(fd, Linux.keepSize, 10 * size, 3 * size))
    try equal(try blocks(place, fd) * 512, 5 * size)
    try equal(try place.status(fd).st_size, off_t(size + 1))
  }
  suite.check("fallocate: what is there already is given once, and bytes come to what was given") {
    place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try equal(Sys.write(fd, [UInt8](repeating: 7, count: 65_536)), 65_536)
    try ok(call(SYS_fsync, fd))
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, 0, 0, 131_072))
    try equal(try blocks(place, fd) * 512, 131_072)
    try ok(Sys.fallocate(fd, 0, 0, 131_072))
    try equal(Sys.pwrite(fd, [UInt8](repeating: 8, count: 40_000), at: 70_000), 40_000)
    try ok(call(SYS_fsync, fd))
    try equal(try blocks(place, fd) * 512, 131_072)
  }
  suite.check("fallocate: ZERO_RANGE gives room too, and takes none away") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try equal(Sys.write(fd, [UInt8](repeating: 7, count: 65_536)), 65_536)
    try ok(call(SYS_fsync, fd))
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, Linux.zeroRange, 32_768, 65_536))
    try equal(try blocks(place, fd) * 512, 98_304)
  }
  suite.check("fallocate: room goes where it is punched or cut off") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, 0, 0, 1 << 20))
    try ok(Sys.fallocate(fd, Linux.punchHole | Linux.keepSize, 65_536, 65_536))
    try equal(try blocks(place, fd) * 512, 1 << 20 - 65_536)
    try ok(Sys.ftruncate(fd, 65_536))
    try equal(try blocks(place, fd) * 512, 65_536)
    try ok(Sys.ftruncate(fd, 0))
    try equal(try blocks(place, fd), 0)
  }
  suite.check("fallocate: room is not free until the last handle of a removed file is closed") {
    place in
    // Others write to the disk meanwhile, but not half as much at one moment.
    let size = 256 << 20
    let fd = try ok(Sys.open(place("f"), O_RDWR | O_CREAT))
    let before = try free(place)
    guard before > 4 * size else { throw Skipped(reason: "the disk is nearly full") }
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, 0, 0, size))
    try require(try free(place) < before - size / 2, "room that was given is free")
    try ok(Sys.unlink(place("f")))
    let held = try free(place)
    try require(held < before - size / 2, "an open file gave its room back")
    Sys.close(fd)
    // A file system may take a moment.
    for _ in 0..<200 where try free(place) <= held + size / 2 { usleep(10_000) }
    try require(try free(place) > held + size / 2, "a removed file keeps its room")
  }
}
