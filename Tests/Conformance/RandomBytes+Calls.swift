import CShims
import Glibc

// The calls of RandomBytes, each with what it must do to the bytes.

extension RandomBytes {
  /// One call of any kind on one of the two.
  func act() throws {
    let index = dice.below(2)
    switch dice.below(26) {
    case 0...3: try write(index)
    case 4, 5: try append(index)
    case 6, 7: try store(index)
    case 8, 9: try load(index)
    case 10...12: try read(index)
    case 13: try writeBlocks(index)
    case 14: try readBlocks(index)
    case 15, 16: try cut(index)
    case 17, 18: try allocate(index)
    case 19: try copy(index)
    case 20: try send(index)
    case 21: try reopen(index)
    case 22: try map(index)
    case 23: try findHoles(index)
    case 24: try settle(index)
    default: try rename(index)
    }
    if dice.oneIn(20) { try compareAll(index) }
  }

  private func name(_ index: Int) -> String { files[index].name }

  // MARK: - Calls

  private func write(_ index: Int) throws {
    let range = range(below: limit)
    note("write \(name(index)) \(range)")
    let bytes = random(range.count)
    try equal(Sys.pwrite(try plain(index), bytes, at: range.lowerBound), bytes.count)
    files[index].bytes.put(bytes, at: range.lowerBound)
  }

  private func append(_ index: Int) throws {
    let room = limit - files[index].bytes.count
    guard room > 0, let handle = files[index].handles.first(where: { $0.appends }) else { return }
    let bytes = random(1 + dice.below(min(room, 9000)))
    note("append \(name(index)) \(bytes.count)")
    // The offset of the call says nothing here.
    let count =
      dice.oneIn(2) ? Sys.write(handle.fd, bytes) : Sys.pwrite(handle.fd, bytes, at: dice.below(99))
    try equal(count, bytes.count)
    files[index].bytes.put(bytes, at: files[index].bytes.count)
  }

  private func read(_ index: Int) throws {
    let range = range(below: limit)
    note("read \(name(index)) \(range)")
    let fd = try plain(index, mayAppend: true)
    guard let found = Sys.pread(fd, range.count, at: range.lowerBound) else {
      throw failure("pread")
    }
    let wanted = max(0, min(range.upperBound, files[index].bytes.count) - range.lowerBound)
    try equal(found.count, wanted)
    try compare(found, index, at: range.lowerBound, "read")
  }

  /// Whole blocks past the page cache.
  private func withBlocks(
    _ index: Int, _ body: (Int, UnsafeMutableRawBufferPointer, Int) throws -> Void
  ) throws {
    guard let handle = files[index].handles.first(where: { $0.isDirect }) else { return }
    let pages = limit / Self.page
    let first = dice.below(pages)
    let count = 1 + dice.below(min(pages - first, 9))
    try withUnsafeTemporaryAllocation(byteCount: count * Self.page, alignment: Self.page) {
      try body(handle.fd, $0, first * Self.page)
    }
  }

  private func writeBlocks(_ index: Int) throws {
    try withBlocks(index) { fd, room, offset in
      note("write blocks \(name(index)) \(offset) \(room.count)")
      let bytes = random(room.count)
      room.copyBytes(from: bytes)
      let base = Int(bitPattern: room.baseAddress)
      try equal(call(SYS_pwrite64, fd, base, room.count, offset), room.count)
      files[index].bytes.put(bytes, at: offset)
    }
  }

  private func readBlocks(_ index: Int) throws {
    try withBlocks(index) { fd, room, offset in
      note("read blocks \(name(index)) \(offset) \(room.count)")
      let base = Int(bitPattern: room.baseAddress)
      let got = try ok(call(SYS_pread64, fd, base, room.count, offset))
      try equal(got, max(0, min(room.count, files[index].bytes.count - offset)))
      try compare(UnsafeRawBufferPointer(rebasing: room[..<got]), index, at: offset, "blocks")
    }
  }

  private func cut(_ index: Int) throws {
    let size = dice.oneIn(5) ? 0 : dice.below(limit + 1)
    note("truncate \(name(index)) \(size)")
    switch dice.below(3) {
    case 0: try ok(Sys.truncate(path(index), size))
    case 1 where size == 0:
      Sys.close(try ok(Sys.open(path(index), O_WRONLY | O_TRUNC)))
    default: try ok(Sys.ftruncate(try plain(index, mayAppend: true), size))
    }
    files[index].bytes.resize(to: size)
  }

  private func allocate(_ index: Int) throws {
    let keeps = Linux.keepSize
    let mode = dice.one(of: [
      0, keeps, Linux.punchHole | keeps, Linux.punchHole | keeps, Linux.zeroRange,
      Linux.zeroRange | keeps,
    ])
    let range = range(below: limit)
    note("fallocate \(name(index)) mode \(mode) \(range)")
    let result = Sys.fallocate(
      try plain(index, mayAppend: true), mode, range.lowerBound, range.count)
    if result < 0, errno == EOPNOTSUPP, !Feature.required.contains(.fallocate) { return }
    try ok(result, "fallocate")
    if mode & keeps == 0 {
      files[index].bytes.resize(to: max(range.upperBound, files[index].bytes.count))
    }
    guard mode & (Linux.punchHole | Linux.zeroRange) != 0 else { return }
    files[index].bytes.clear(range)
  }

  /// Copies in the kernel from one file to the other, or within one.
  private func copy(_ index: Int) throws {
    let other = dice.oneIn(3) ? index : 1 - index
    let source = range(below: limit)
    let target = dice.below(limit - source.count + 1)
    let meets = target < source.upperBound && source.lowerBound < target + source.count
    if index == other, meets { return }
    note("copy \(name(index)) \(source) to \(name(other)) \(target)")
    let from = try plain(index, mayAppend: true)
    let to = try plain(other)
    let count = try ok(
      Sys.copyRange(from, at: source.lowerBound, to, at: target, source.count), "copy_file_range")
    let most = max(0, min(source.upperBound, files[index].bytes.count) - source.lowerBound)
    try require(count <= most && (count > 0 || most == 0), "copied \(count) of \(most)")
    let bytes = model(index, source.lowerBound..<source.lowerBound + count)
    files[other].bytes.put(bytes, at: target)
  }

  /// Copies through a pipe of the kernel's, from a place to where another handle stands.
  private func send(_ index: Int) throws {
    let source = range(below: limit)
    let target = dice.below(limit - source.count + 1)
    note("sendfile \(name(index)) \(source) to \(name(1 - index)) \(target)")
    let from = try plain(index, mayAppend: true)
    let to = try plain(1 - index)
    try ok(Sys.seek(to, target, SEEK_SET))
    var offset = source.lowerBound
    let count = try withUnsafeMutablePointer(to: &offset) {
      try ok(call(SYS_sendfile, to, from, Int(bitPattern: $0), source.count), "sendfile")
    }
    let most = max(0, min(source.upperBound, files[index].bytes.count) - source.lowerBound)
    try require(count <= most && (count > 0 || most == 0), "sent \(count) of \(most)")
    let bytes = model(index, source.lowerBound..<source.lowerBound + count)
    files[1 - index].bytes.put(bytes, at: target)
  }

  private func reopen(_ index: Int) throws {
    note("reopen \(name(index))")
    if files[index].handles.count > 2 { dropHandle(index) }
    try addHandle(index)
    if dice.oneIn(3) { try compareSize(index) }
  }

  private func settle(_ index: Int) throws {
    let fd = try plain(index, mayAppend: true)
    switch dice.below(mount == nil ? 4 : 6) {
    case 0:
      note("fsync \(name(index))")
      try ok(call(SYS_fsync, fd))
    case 1:
      note("forget the pages of \(name(index))")
      try ok(call(SYS_fsync, fd))
      try ok(call(SYS_fadvise64, fd, 0, 0, 4))
    case 2:
      note("sync \(name(index)) in part")
      try ok(call(SYS_sync_file_range, fd, 0, 0, 7))
    case 3: try compareAll(index)
    default: try commit()
    }
  }

  /// Another name, at times over one that is there, at times beside it.
  private func rename(_ index: Int) throws {
    let old = path(index)
    let fresh = freshName()
    note("rename \(name(index)) to \(fresh)")
    if dice.oneIn(3) { try place.file(fresh, "another") }
    if dice.oneIn(3), !place.exists(fresh) {
      try ok(Sys.link(old, place(fresh)))
      try ok(Sys.unlink(old))
    } else {
      try ok(Sys.rename(old, place(fresh)))
    }
    files[index].name = fresh
  }

  // MARK: - Mappings

  private func map(_ index: Int) throws {
    note("map \(name(index))")
    if let map = files[index].map { munmap(map, limit) }
    files[index].map = nil
    if dice.oneIn(3) { return }
    let fd = Int32(try plain(index, mayAppend: true))
    let map = mmap(nil, limit, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
    guard map != MAP_FAILED, let map else { throw failure("mmap") }
    files[index].map = map
  }

  private func store(_ index: Int) throws {
    guard let map = files[index].map, files[index].bytes.count > 0 else { return }
    let range = range(below: files[index].bytes.count)
    note("store \(name(index)) \(range)")
    let bytes = random(range.count)
    UnsafeMutableRawBufferPointer(start: map + range.lowerBound, count: range.count)
      .copyBytes(from: bytes)
    files[index].bytes.put(bytes, at: range.lowerBound)
    if dice.oneIn(3) { try equal(msync(map, limit, dice.oneIn(2) ? MS_SYNC : MS_ASYNC), 0) }
  }

  private func load(_ index: Int) throws {
    guard let map = files[index].map, files[index].bytes.count > 0 else { return }
    let range = range(below: files[index].bytes.count)
    note("load \(name(index)) \(range)")
    let found = UnsafeRawBufferPointer(start: map + range.lowerBound, count: range.count)
    try compare(found, index, at: range.lowerBound, "load")
  }

  // MARK: - Holes

  /// What is said to be a hole reads as zeros, and data and holes take turns up to the end.
  private func findHoles(_ index: Int) throws {
    note("holes \(name(index))")
    let fd = try plain(index, mayAppend: true)
    let size = files[index].bytes.count
    var at = 0
    while at < size {
      var data = Sys.seek(fd, at, Linux.seekData)
      if data < 0 {
        try equal(errno, ENXIO)
        data = size
      }
      try require(data >= at && data <= size, "data at \(data), looked for from \(at)")
      if let byte = nonZero(index, in: at..<data) {
        throw Failed(description: "byte \(byte) is in a hole, \(at) to \(data)")
      }
      if data == size { break }
      let hole = try ok(Sys.seek(fd, data, Linux.seekHole), "SEEK_HOLE")
      try require(hole > data && hole <= size, "a hole at \(hole), looked for from \(data)")
      at = hole
    }
  }

  // MARK: - Versions

  /// A version made now holds these bytes.
  private func commit() throws {
    guard let mount else { return }
    note("commit")
    // A version takes what is saved, and what is synced is.
    for index in files.indices {
      if let map = files[index].map { try equal(msync(map, limit, MS_SYNC), 0) }
      try ok(call(SYS_fsync, try plain(index, mayAppend: true)))
    }
    let control = try ok(Sys.open("\(mount)/.llvs/control", O_RDWR), "open the control file")
    let said = Sys.write(control, Array("commit\n".utf8))
    Sys.close(control)
    try equal(said, 7)
    for index in files.indices {
      let fd = try ok(Sys.open(place(".llvs/head/\(name(index))"), O_RDONLY), "open in the head")
      defer { Sys.close(fd) }
      try compareWhole(fd, index, "the version")
    }
  }
}
