import CShims
import Glibc

// Bytes through mappings and past the page cache, beside those through read(2) and write(2).

/// Maps the start of a file.
private func map(_ fd: Int, _ count: Int, _ protection: Int32 = PROT_READ) throws
  -> UnsafeMutableRawPointer
{
  let map = mmap(nil, count, protection, MAP_SHARED, Int32(fd), 0)
  guard map != MAP_FAILED, let map else { throw failure("mmap") }
  return map
}

private let page = 4096

/// Opens a file for whole blocks past the page cache, where the file system lets one.
private func openDirect(_ place: Place, _ name: String) throws -> Int {
  place.keep(
    try Feature.direct.needed(EINVAL, Sys.open(place(name), O_RDWR | O_CREAT | Linux.direct)))
}

/// Runs a body with whole blocks that begin where a block of memory does.
private func withBlocks(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Void
) throws {
  try withUnsafeTemporaryAllocation(byteCount: count * page, alignment: page) { try body($0) }
}

private func transfer(_ number: Int, _ fd: Int, _ room: UnsafeMutableRawBufferPointer, at: Int)
  throws
{
  let base = Int(bitPattern: room.baseAddress)
  try equal(try ok(call(number, fd, base, room.count, at)), room.count)
}

private func fill(_ room: UnsafeMutableRawBufferPointer, _ byte: UInt8) {
  for index in room.indices { room[index] = byte }
}

private func expect(_ room: UnsafeMutableRawBufferPointer, _ byte: UInt8, line: UInt = #line) throws
{
  try require(room.allSatisfy { $0 == byte }, "bytes differ", line: line)
}

func addMappingChecks(_ suite: inout Suite) {
  /// What a process does that must not end well.
  func bus(_ body: () throws -> Void) throws {
    try Child {
      var none = rlimit()
      setrlimit(__rlimit_resource_t(4), &none)
      signal(SIGBUS, SIG_DFL)
      try body()
    }.endedBy(SIGBUS)
  }
  for isWriting in [false, true] {
    let verb = isWriting ? "stored" : "read"
    suite.check("mapping: a page behind the end that is \(verb) is SIGBUS") { place in
      try place.file("f", String(repeating: "x", count: 2 * page))
      let fd = try place.open("f", O_RDWR)
      let (ready, cut) = (try place.bell(), try place.bell())
      let other = try Child {
        let map = try map(fd, 2 * page, PROT_READ | PROT_WRITE)
        try equal(map.load(fromByteOffset: page, as: UInt8.self), 0x78)
        ready.ring()
        try cut.wait()
        try bus {
          if isWriting { map.storeBytes(of: 1, toByteOffset: page, as: UInt8.self) }
          _ = Sys.write(2, [map.load(fromByteOffset: page, as: UInt8.self)])
        }
        // What of the last page is behind the end reads as zeros.
        try equal(map.load(fromByteOffset: 99, as: UInt8.self), 0x78)
        try equal(map.load(fromByteOffset: 100, as: UInt8.self), 0)
        try ok(Sys.ftruncate(fd, 2 * page))
        try equal(map.load(fromByteOffset: page, as: UInt8.self), 0)
        try equal(map.load(fromByteOffset: 100, as: UInt8.self), 0)
      }
      try ready.wait()
      try ok(Sys.truncate(place("f"), 100))
      cut.ring()
      try other.finish()
      try equal(Sys.pread(fd, 3 * page, at: 0)?.dropFirst(100).allSatisfy { $0 == 0 }, true)
    }
  }
  suite.check("mapping: of an empty file takes no byte: SIGBUS") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    try bus {
      let map = try map(fd, page, PROT_READ | PROT_WRITE)
      map.storeBytes(of: 1, as: UInt8.self)
    }
    try equal(try place.status("f").st_size, 0)
  }
  suite.check("mapping: a store behind the end in the last page is in no file") { place in
    try place.file("f", "text")
    let fd = try place.open("f", O_RDWR)
    let map = try map(fd, page, PROT_READ | PROT_WRITE)
    defer { munmap(map, page) }
    map.storeBytes(of: 0x41, toByteOffset: 3, as: UInt8.self)
    map.storeBytes(of: 0x41, toByteOffset: 4, as: UInt8.self)
    try equal(msync(map, page, MS_SYNC), 0)
    try equal(try place.text("f"), "texA")
    try equal(try place.status("f").st_size, 4)
  }
  suite.check("mapping: what is stored in a hole is data at once, and no hole") { place in
    let fd = try place.open("f", O_RDWR | O_CREAT)
    try ok(Sys.ftruncate(fd, 64 * page))
    try equal(Sys.pwrite(fd, [UInt8](repeating: 1, count: 99), at: 40 * page), 99)
    let map = try map(fd, 64 * page, PROT_READ | PROT_WRITE)
    defer { munmap(map, 64 * page) }
    for index in [3, 4, 20, 50] {
      map.storeBytes(of: 0x41, toByteOffset: index * page + 9, as: UInt8.self)
    }
    // What is found may begin before it and end behind it, but takes in each.
    for index in [3, 4, 20, 40, 50] {
      let data = try ok(Sys.seek(fd, (index - 1) * page, Linux.seekData), "SEEK_DATA")
      try require(data <= index * page + 9, "\(index): data at \(data)")
      let hole = try ok(Sys.seek(fd, index * page, Linux.seekHole), "SEEK_HOLE")
      try require(hole > index * page + 9, "\(index): a hole at \(hole)")
    }
    map.storeBytes(of: 0x41, toByteOffset: 63 * page, as: UInt8.self)
    let reader = try place.open("f", O_RDONLY)
    try require(try ok(Sys.seek(reader, 60 * page, Linux.seekData)) <= 63 * page, "the last")
  }
  suite.check("mapping: what one process stores another reads and maps") { place in
    try place.file("f", String(repeating: "x", count: 3 * page))
    let fd = try place.open("f", O_RDWR)
    let view = try map(fd, 3 * page)
    defer { munmap(view, 3 * page) }
    try Child {
      let other = try ok(Sys.open(place("f"), O_RDWR))
      let map = try map(other, 3 * page, PROT_READ | PROT_WRITE)
      map.storeBytes(of: 0x41, toByteOffset: page + 7, as: UInt8.self)
      try equal(Sys.pwrite(other, [0x42], at: 2 * page), 1)
      try equal(map.load(fromByteOffset: 2 * page, as: UInt8.self), 0x42)
    }.finish()
    try equal(view.load(fromByteOffset: page + 7, as: UInt8.self), 0x41)
    try equal(view.load(fromByteOffset: 2 * page, as: UInt8.self), 0x42)
    try equal(Sys.pread(fd, 1, at: page + 7), [0x41])
  }
  suite.check("mapping: of a handle for reading no store is let: EACCES, of a directory ENODEV") {
    place in
    try place.file("f", "text")
    try place.directory("d")
    let fd = Int32(try place.open("f", O_RDONLY))
    let shared = mmap(nil, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
    try require(shared == MAP_FAILED && errno == EACCES, "a shared one")
    let own = mmap(nil, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)
    guard own != MAP_FAILED, let own else { throw failure("mmap") }
    own.storeBytes(of: 0x41, as: UInt8.self)
    munmap(own, page)
    try equal(try place.text("f"), "text")
    let writer = Int32(try place.open("f", O_WRONLY))
    try require(
      mmap(nil, page, PROT_READ, MAP_SHARED, writer, 0) == MAP_FAILED && errno == EACCES, "write")
    let directory = Int32(try place.open("d", O_RDONLY))
    try require(
      mmap(nil, page, PROT_READ, MAP_SHARED, directory, 0) == MAP_FAILED && errno == ENODEV, "d")
  }
  suite.check("mapping: stays when the handle is closed and the name goes") { place in
    try place.file("f", "text")
    let fd = try ok(Sys.open(place("f"), O_RDWR))
    let map = try map(fd, page, PROT_READ | PROT_WRITE)
    defer { munmap(map, page) }
    Sys.close(fd)
    try ok(Sys.unlink(place("f")))
    map.storeBytes(of: 0x54, as: UInt8.self)
    try equal(msync(map, page, MS_SYNC), 0)
    try equal(map.load(as: UInt8.self), 0x54)
    try equal(map.load(fromByteOffset: 1, as: UInt8.self), 0x65)
  }
}

func addDirectChecks(_ suite: inout Suite) {
  suite.check("O_DIRECT: reads and writes whole blocks") { place in
    let fd = try openDirect(place, "f")
    try withBlocks(2) { room in
      fill(room, 0x5A)
      try transfer(Int(SYS_pwrite64), fd, room, at: 0)
      fill(room, 0)
      try transfer(Int(SYS_pread64), fd, room, at: 0)
      try expect(room, 0x5A)
      try equal(try place.status(fd).st_size, 2 * page)
      try equal(
        call(SYS_pread64, fd, Int(bitPattern: room.baseAddress), room.count, page), page)
      try equal(
        call(SYS_pread64, fd, Int(bitPattern: room.baseAddress), room.count, 2 * page), 0)
    }
  }
  suite.check("O_DIRECT: reads what was just written and stored through the cache") { place in
    let fd = try openDirect(place, "f")
    let cached = try place.open("f", O_RDWR)
    try withBlocks(2) { room in
      for byte in UInt8(1)...20 {
        try equal(
          Sys.pwrite(cached, [UInt8](repeating: byte, count: 2 * page), at: 0), 2 * page)
        try transfer(Int(SYS_pread64), fd, room, at: 0)
        try expect(room, byte)
      }
      let map = try map(cached, 2 * page, PROT_READ | PROT_WRITE)
      defer { munmap(map, 2 * page) }
      for byte in UInt8(21)...40 {
        memset(map, Int32(byte), 2 * page)
        try transfer(Int(SYS_pread64), fd, room, at: 0)
        try expect(room, byte)
      }
    }
  }
  suite.check("O_DIRECT: what it writes is read through the cache and a mapping at once") { place in
    let fd = try openDirect(place, "f")
    let cached = try place.open("f", O_RDWR)
    try withBlocks(2) { room in
      try transfer(Int(SYS_pwrite64), fd, room, at: 0)
      let map = try map(cached, 2 * page, PROT_READ | PROT_WRITE)
      defer { munmap(map, 2 * page) }
      let view = UnsafeMutableRawBufferPointer(start: map, count: 2 * page)
      for byte in UInt8(1)...20 {
        // Something is in the cache, clean or not.
        if byte % 2 == 0 { map.storeBytes(of: 0xFF, toByteOffset: 5, as: UInt8.self) }
        try equal(Sys.pread(cached, 1, at: 0)?.count, 1)
        fill(room, byte)
        try transfer(Int(SYS_pwrite64), fd, room, at: 0)
        try equal(Sys.pread(cached, 2 * page, at: 0), [UInt8](repeating: byte, count: 2 * page))
        try expect(view, byte)
      }
    }
  }
  suite.check("O_DIRECT: moves mtime and ctime, lengthens, and goes over a truncation") { place in
    try place.file("f")
    let fd = try openDirect(place, "f")
    try withBlocks(1) { room in
      fill(room, 7)
      try place.moves(mtime: true, ctime: true, of: "f") {
        try transfer(Int(SYS_pwrite64), fd, room, at: 3 * page)
      }
      try equal(try place.status("f").st_size, 4 * page)
      try ok(Sys.truncate(place("f"), 3 * page + 10))
      fill(room, 1)
      try equal(
        call(SYS_pread64, fd, Int(bitPattern: room.baseAddress), room.count, 3 * page), 10)
      try expect(UnsafeMutableRawBufferPointer(rebasing: room[..<10]), 7)
      try transfer(Int(SYS_pread64), fd, room, at: 0)
      try expect(room, 0)
    }
  }
}
