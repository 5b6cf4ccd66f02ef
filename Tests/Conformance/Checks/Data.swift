import CShims
import Glibc

func addSizeChecks(_ suite: inout Suite) {
  for isByPath in [true, false] {
    let name = isByPath ? "truncate" : "ftruncate"
    func resize(_ place: Place, _ size: Int) throws -> Int {
      if isByPath { return Sys.truncate(place("f"), size) }
      let fd = try ok(Sys.open(place("f"), O_WRONLY))
      defer { Sys.close(fd) }
      return Sys.ftruncate(fd, size)
    }
    suite.check("\(name): shortens, lengthens with zeros, and says so in st_size") { place in
      try place.file("f", "0123456789")
      try ok(try resize(place, 4))
      try equal(try place.text("f"), "0123")
      try ok(try resize(place, 8))
      try equal(try place.text("f"), "0123\0\0\0\0")
      try equal(try place.status("f").st_size, 8)
      try ok(try resize(place, 0))
      try equal(try place.text("f"), "")
    }
    suite.check("\(name): moves mtime and ctime") { place in
      try place.file("f", "text")
      try place.moves(mtime: true, ctime: true, of: "f") { try ok(try resize(place, 2)) }
      try place.moves(mtime: true, ctime: true, of: "f") { try ok(try resize(place, 9000)) }
    }
    suite.check("\(name): a negative size is EINVAL") { place in
      try place.file("f")
      try fails(EINVAL, try resize(place, -1))
    }
    suite.check("\(name): a size past the limit of the process is EFBIG") { place in
      try place.file("f")
      var old = rlimit()
      getrlimit(__rlimit_resource_t(1), &old)
      var limit = rlimit(rlim_cur: 1000, rlim_max: old.rlim_max)
      setrlimit(__rlimit_resource_t(1), &limit)
      defer { setrlimit(__rlimit_resource_t(1), &old) }
      try fails(EFBIG, try resize(place, 1001))
      try ok(try resize(place, 1000))
    }
  }
  suite.check("truncate: a directory is EISDIR") { place in
    try place.directory("d")
    try fails(EISDIR, Sys.truncate(place("d"), 0))
  }
  suite.check("truncate: follows a symbolic link") { place in
    try place.file("f", "text")
    try ok(Sys.symlink("f", place("l")))
    try ok(Sys.truncate(place("l"), 1))
    try equal(try place.text("f"), "t")
  }
  suite.check("ftruncate: an open file's other handles see the size") { place in
    try place.file("f", "0123456789")
    let one = try place.open("f", O_RDWR)
    let two = try place.open("f", O_RDONLY)
    try ok(Sys.ftruncate(one, 3))
    try equal(try place.text(two), "012")
    try equal(try place.status(two).st_size, 3)
  }
  suite.check("ftruncate: what a shortening cut off does not come back") { place in
    try place.file("f", String(repeating: "x", count: 10_000))
    let fd = try place.open("f", O_RDWR)
    try ok(Sys.ftruncate(fd, 5))
    try ok(Sys.ftruncate(fd, 10_000))
    let bytes = Sys.pread(fd, 10_000, at: 0) ?? []
    try equal(bytes.prefix(5).allSatisfy { $0 == 0x78 }, true)
    try equal(bytes.dropFirst(5).allSatisfy { $0 == 0 }, true)
  }
  suite.check("offsets: a write past 4 GiB and a read at it") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    let far = (5 << 30) + 3
    try equal(Sys.pwrite(fd, [1, 2, 3], at: far), 3)
    try equal(try place.status(fd).st_size, far + 3)
    try equal(Sys.pread(fd, 10, at: far), [1, 2, 3])
    try equal(Sys.pread(fd, 3, at: 1 << 32), [0, 0, 0])
    try equal(Sys.seek(fd, 0, SEEK_END), far + 3)
  }
  suite.check("offsets: a write behind the end leaves zeros between") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try equal(Sys.pwrite(fd, [9], at: 9999), 1)
    let bytes = Sys.pread(fd, 20_000, at: 0) ?? []
    try equal(bytes.count, 10_000)
    try equal(bytes.dropLast().allSatisfy { $0 == 0 }, true)
  }
  suite.check("offsets: lseek knows its whence, and negative offsets are EINVAL") { place in
    try place.file("f", "0123456789")
    let fd = try place.open("f", O_RDWR)
    try equal(Sys.seek(fd, 3, SEEK_SET), 3)
    try equal(Sys.seek(fd, 3, SEEK_CUR), 6)
    try equal(Sys.seek(fd, -1, SEEK_END), 9)
    try equal(Sys.seek(fd, 100, SEEK_END), 110)
    try fails(EINVAL, Sys.seek(fd, -1, SEEK_SET))
    try fails(EINVAL, Sys.seek(fd, -1000, SEEK_CUR))
    try fails(EINVAL, Sys.seek(fd, 0, 77))
  }
  suite.check("read: at and behind the end gives nothing") { place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDONLY)
    try equal(Sys.pread(fd, 10, at: 4), [])
    try equal(Sys.pread(fd, 10, at: 1 << 40), [])
  }
  suite.check("write: a write past the limit of the process is short, then EFBIG") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    var old = rlimit()
    getrlimit(__rlimit_resource_t(1), &old)
    var limit = rlimit(rlim_cur: 1000, rlim_max: old.rlim_max)
    setrlimit(__rlimit_resource_t(1), &limit)
    defer { setrlimit(__rlimit_resource_t(1), &old) }
    try equal(Sys.write(fd, [UInt8](repeating: 1, count: 2000)), 1000)
    try fails(EFBIG, Sys.write(fd, [1]))
  }
  suite.check("append: several processes' records are all there and whole") { place in
    let path = place("log")
    try place.file("log")
    let writers = try (0..<4).map { writer in
      try Child {
        let fd = try ok(Sys.open(path, O_WRONLY | O_APPEND))
        let record = [UInt8](repeating: UInt8(65 + writer), count: 63) + [10]
        for _ in 0..<250 { try equal(Sys.write(fd, record), 64) }
      }
    }
    for writer in writers { try writer.finish() }
    let fd = try place.open("log", O_RDONLY)
    let bytes = Sys.pread(fd, 1 << 17, at: 0) ?? []
    try equal(bytes.count, 4 * 250 * 64)
    var counts: [UInt8: Int] = [:]
    for start in stride(from: 0, to: bytes.count, by: 64) {
      let record = bytes[start..<(start + 64)]
      try require(record.dropLast().allSatisfy { $0 == record[start] }, "a torn record")
      counts[record[start], default: 0] += 1
    }
    try equal(counts.values.allSatisfy { $0 == 250 }, true)
  }
}

/// Makes a hole.
private func punch(_ fd: Int, _ start: Int, _ count: Int) throws {
  try Feature.fallocate.needed(
    EOPNOTSUPP, Sys.fallocate(fd, Linux.punchHole | Linux.keepSize, start, count))
}

func addSparseChecks(_ suite: inout Suite) {
  suite.check("holes: st_blocks counts what is written, not the size") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try ok(Sys.ftruncate(fd, 64 << 20))
    try equal(try place.status(fd).st_blocks, 0)
    try equal(Sys.pwrite(fd, [UInt8](repeating: 1, count: 65_536), at: 32 << 20), 65_536)
    try ok(call(SYS_fsync, fd))
    let blocks = try place.status(fd).st_blocks
    try require(blocks >= 128 && blocks <= 256, "\(blocks) blocks")
  }
  suite.check("holes: SEEK_DATA and SEEK_HOLE find what is written") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    let unit = 1 << 20
    try ok(Sys.ftruncate(fd, 8 * unit))
    try equal(Sys.pwrite(fd, [UInt8](repeating: 1, count: unit), at: 2 * unit), unit)
    try equal(Sys.pwrite(fd, [UInt8](repeating: 2, count: unit), at: 5 * unit), unit)
    try equal(Sys.seek(fd, 0, Linux.seekData), 2 * unit)
    try equal(Sys.seek(fd, 2 * unit, Linux.seekData), 2 * unit)
    try equal(Sys.seek(fd, 2 * unit, Linux.seekHole), 3 * unit)
    try equal(Sys.seek(fd, 0, Linux.seekHole), 0)
    try equal(Sys.seek(fd, 3 * unit, Linux.seekData), 5 * unit)
    try equal(Sys.seek(fd, 5 * unit + 17, Linux.seekData), 5 * unit + 17)
    try equal(Sys.seek(fd, 5 * unit + 17, Linux.seekHole), 6 * unit)
    try fails(ENXIO, Sys.seek(fd, 6 * unit, Linux.seekData))
    try equal(Sys.seek(fd, 7 * unit, Linux.seekHole), 7 * unit)
  }
  suite.check("holes: SEEK_DATA and SEEK_HOLE at or behind the end are ENXIO") { place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDWR)
    try fails(ENXIO, Sys.seek(fd, 4, Linux.seekData))
    try fails(ENXIO, Sys.seek(fd, 4, Linux.seekHole))
    try fails(ENXIO, Sys.seek(fd, 100, Linux.seekHole))
    try fails(ENXIO, Sys.seek(fd, -1, Linux.seekData))
    try equal(Sys.seek(fd, 0, Linux.seekHole), 4)
    try equal(Sys.seek(fd, 1, Linux.seekData), 1)
  }
  suite.check("holes: an empty file has neither: ENXIO") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    try fails(ENXIO, Sys.seek(fd, 0, Linux.seekData))
    try fails(ENXIO, Sys.seek(fd, 0, Linux.seekHole))
  }
  suite.check("holes: a terabyte without bytes takes no blocks and reads as zeros") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try ok(Sys.ftruncate(fd, 1 << 40))
    try equal(try place.status(fd).st_blocks, 0)
    try equal(Sys.pread(fd, 3, at: 1 << 39), [0, 0, 0])
    try fails(ENXIO, Sys.seek(fd, 0, Linux.seekData))
  }
  suite.check("fallocate: makes a file longer, or not with KEEP_SIZE") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, 0, 0, 5000))
    try equal(try place.status(fd).st_size, 5000)
    try ok(Sys.fallocate(fd, Linux.keepSize, 0, 9000))
    try equal(try place.status(fd).st_size, 5000)
    try equal(Sys.pread(fd, 5000, at: 0)?.allSatisfy { $0 == 0 }, true)
  }
  suite.check("fallocate: leaves the bytes that are there") { place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDWR)
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, 0, 0, 100))
    try equal(Sys.pread(fd, 4, at: 0), Array("text".utf8))
  }
  suite.check("fallocate: PUNCH_HOLE makes zeros, keeps the size and gives blocks back") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try equal(Sys.write(fd, [UInt8](repeating: 7, count: 1 << 20)), 1 << 20)
    try ok(call(SYS_fsync, fd))
    let before = try place.status(fd).st_blocks
    try punch(fd, 65_536, 1 << 19)
    try equal(try place.status(fd).st_size, 1 << 20)
    try require(try place.status(fd).st_blocks < before, "no blocks were given back")
    try equal(Sys.pread(fd, 1 << 19, at: 65_536)?.allSatisfy { $0 == 0 }, true)
    try equal(Sys.pread(fd, 1, at: 65_535), [7])
    try equal(Sys.pread(fd, 1, at: 65_536 + 1 << 19), [7])
    try equal(Sys.seek(fd, 65_536, Linux.seekHole), 65_536)
  }
  suite.check("fallocate: PUNCH_HOLE of part of a block makes exactly those bytes zero") { place in
    try place.file("f", "0123456789")
    let fd = try place.open("f", O_RDWR)
    try punch(fd, 3, 4)
    try equal(try place.text(fd), "012\0\0\0\u{0}789")
  }
  suite.check("fallocate: PUNCH_HOLE moves mtime and ctime") { place in
    try place.file("f", "0123456789")
    let fd = try place.open("f", O_RDWR)
    try place.moves(mtime: true, ctime: true, of: "f") { try punch(fd, 3, 4) }
  }
  suite.check("fallocate: moves mtime and ctime also where no byte and no size changes") { place in
    try place.file("f", "0123456789")
    let fd = try place.open("f", O_RDWR)
    for (mode, start) in [
      (0, 0), (Linux.keepSize, 0), (Linux.keepSize, 50_000),
      (Linux.punchHole | Linux.keepSize, 50_000), (Linux.zeroRange | Linux.keepSize, 50_000),
    ] {
      try place.moves(mtime: true, ctime: true, of: "f") {
        try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, mode, start, 5))
      }
    }
    try equal(try place.text("f"), "0123456789")
  }
  suite.check("fallocate: ZERO_RANGE makes zeros and may lengthen") { place in
    try place.file("f", "0123456789")
    let fd = try place.open("f", O_RDWR)
    try Feature.fallocate.needed(EOPNOTSUPP, Sys.fallocate(fd, Linux.zeroRange, 4, 20))
    try equal(try place.status(fd).st_size, 24)
    try equal(Sys.pread(fd, 100, at: 0), Array("0123".utf8) + [UInt8](repeating: 0, count: 20))
    try ok(Sys.fallocate(fd, Linux.zeroRange | Linux.keepSize, 0, 50))
    try equal(try place.status(fd).st_size, 24)
  }
  suite.check("fallocate: a read-only handle is EBADF, no length EINVAL, a directory EBADF") {
    place in
    try place.file("f", "text")
    try fails(EBADF, Sys.fallocate(try place.open("f", O_RDONLY), 0, 0, 10))
    let fd = try place.open("f", O_RDWR)
    try fails(EINVAL, Sys.fallocate(fd, 0, 0, 0))
    try fails(EINVAL, Sys.fallocate(fd, 0, -1, 10))
    try fails(EINVAL, Sys.fallocate(fd, 0, 0, -10))
    try fails([EOPNOTSUPP, EINVAL], Sys.fallocate(fd, Linux.punchHole, 0, 10))
  }
  suite.check("copy_file_range: copies between files and within one") { place in
    try place.file("a", "0123456789")
    let from = try place.open("a", O_RDWR)
    let to = try place.open("b", O_RDWR | O_CREAT)
    try equal(Sys.copyRange(from, at: 2, to, at: 0, 5), 5)
    try equal(try place.text(to), "23456")
    try equal(Sys.copyRange(from, at: 8, to, at: 5, 100), 2)
    try equal(try place.text(to), "2345689")
    try equal(Sys.copyRange(from, at: 0, from, at: 10, 4), 4)
    try equal(try place.text(from), "01234567890123")
    try equal(Sys.copyRange(from, at: 100, to, at: 0, 5), 0)
    try fails(EINVAL, Sys.copyRange(from, at: 0, from, at: 2, 5))
  }
  suite.check("copy_file_range: into a read-only handle is EBADF, from a directory EISDIR") {
    place in
    try place.file("a", "0123456789")
    try place.directory("d")
    let fd = try place.open("a", O_RDONLY)
    try fails(EBADF, Sys.copyRange(fd, at: 0, fd, at: 100, 5))
    let to = try place.open("b", O_RDWR | O_CREAT)
    try fails(EISDIR, Sys.copyRange(try place.open("d", O_RDONLY), at: 0, to, at: 0, 5))
  }
}
