import CShims
import Glibc

// Two files under calls at random, beside what they must hold. What one way of writing leaves is read by every
// other: calls, mappings, whole blocks past the page cache, copies in the kernel, other handles and names.

/// Numbers that look random and come again with their seed (SplitMix64).
struct Dice {
  private var state: UInt64

  init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// A number from nothing to one below the bound, which is above nothing.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

  mutating func oneIn(_ bound: Int) -> Bool { below(bound) == 0 }

  mutating func one<Element>(of list: [Element]) -> Element { list[below(list.count)] }
}

/// What a file must hold. In memory of its own, so that a program that is not optimised is fast enough.
final class ModelBytes {
  private let room: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(limit: Int) {
    room = .allocate(byteCount: limit, alignment: 1)
    room.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit { room.deallocate() }

  /// What of a range is there.
  subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: room[range.clamped(to: 0..<count)])
  }

  /// Zeros follow, or what is behind the size goes.
  func resize(to size: Int) {
    if size < count { clear(size..<count) }
    count = size
  }

  func clear(_ range: Range<Int>) {
    let inside = range.clamped(to: 0..<count)
    guard let base = room.baseAddress, !inside.isEmpty else { return }
    memset(base + inside.lowerBound, 0, inside.count)
  }

  /// Puts bytes somewhere, behind the end also.
  func put(_ bytes: [UInt8], at offset: Int) {
    guard !bytes.isEmpty else { return }
    resize(to: max(count, offset + bytes.count))
    UnsafeMutableRawBufferPointer(rebasing: room[offset...]).copyBytes(from: bytes)
  }
}

extension [UInt8] {
  /// Bytes that are elsewhere.
  fileprivate init(copying bytes: UnsafeRawBufferPointer) {
    self.init(unsafeUninitializedCapacity: bytes.count) { room, count in
      UnsafeMutableRawBufferPointer(room).copyMemory(from: bytes)
      count = bytes.count
    }
  }
}

/// One file of the two: what it must hold, and what is open of it.
struct RandomFile {
  var name: String
  let bytes: ModelBytes
  /// For reading and writing, with whatever flags.
  var handles: [Handle] = []
  /// A mapping of all that a file here may hold, and what it began with.
  var map: UnsafeMutableRawPointer?

  struct Handle {
    var fd: Int
    var appends = false
    var isDirect = false
  }
}

/// The calls, and what they must have done.
final class RandomBytes {
  static let page = 4096

  let place: Place
  var dice: Dice
  /// The most bytes that a file has here, whole pages.
  let limit: Int
  /// The top of a mount of llvs: versions made in between must hold the bytes of that moment.
  let mount: String?
  var files: [RandomFile]
  /// What was done last, newest last.
  private var trail: [String] = []
  private var names = 0

  init(_ place: Place, seed: Int, limit: Int, mount: String?) {
    self.place = place
    self.limit = limit
    self.mount = mount
    dice = Dice(seed: seed)
    files = ["a", "b"].map { RandomFile(name: $0, bytes: ModelBytes(limit: limit)) }
  }

  deinit {
    for file in files {
      if let map = file.map { munmap(map, limit) }
      for handle in file.handles { Sys.close(handle.fd) }
    }
  }

  /// Makes so many calls; what differs fails, with what was done last.
  func run(_ count: Int) throws {
    do {
      for index in files.indices { try begin(index) }
      for _ in 0..<count { try act() }
      for index in files.indices { try compareAll(index) }
    } catch let failed as Failed {
      let last = trail.suffix(24).joined(separator: "; ")
      throw Failed(description: "\(failed) after \(trail.count) calls, the last: \(last)")
    }
  }

  func note(_ deed: String) { trail.append(deed) }

  func freshName() -> String {
    names += 1
    return "n\(names)"
  }

  // MARK: - Handles

  private func begin(_ index: Int) throws {
    files[index].handles = [.init(fd: try ok(Sys.open(path(index), O_RDWR | O_CREAT | O_EXCL)))]
    for _ in 0..<2 { try addHandle(index) }
  }

  func path(_ index: Int) -> String { place(files[index].name) }

  func addHandle(_ index: Int) throws {
    var handle = RandomFile.Handle(fd: -1)
    switch dice.below(4) {
    case 0: handle.appends = true
    case 1: handle.isDirect = true
    default: break
    }
    let flags = O_RDWR | (handle.appends ? O_APPEND : 0)
    if handle.isDirect {
      handle.fd = Sys.open(path(index), flags | Linux.direct)
      if handle.fd < 0, errno == EINVAL { handle.isDirect = false }
    }
    if !handle.isDirect { handle.fd = try ok(Sys.open(path(index), flags)) }
    files[index].handles.append(handle)
  }

  func dropHandle(_ index: Int) {
    let handle = files[index].handles.remove(at: dice.below(files[index].handles.count))
    Sys.close(handle.fd)
  }

  /// A handle whose calls take any range; one that appends only where that does not matter.
  func plain(_ index: Int, mayAppend: Bool = false) throws -> Int {
    let fit = files[index].handles.filter { !$0.isDirect && (mayAppend || !$0.appends) }
    if !fit.isEmpty { return dice.one(of: fit).fd }
    let fd = try ok(Sys.open(path(index), O_RDWR))
    files[index].handles.append(.init(fd: fd))
    return fd
  }

  // MARK: - What must be there

  /// Bytes of a file as they must be.
  func model(_ index: Int, _ range: Range<Int>) -> [UInt8] {
    [UInt8](copying: files[index].bytes[range])
  }

  /// Bytes, other ones each time: some of a row in which nothing comes again soon.
  func random(_ count: Int) -> [UInt8] {
    let begin = dice.below(1 << 16)
    return Self.row.withUnsafeBytes { [UInt8](copying: .init(rebasing: $0[begin..<begin + count])) }
  }

  private static let row: [UInt8] = {
    var dice = Dice(seed: 0)
    // Zeros too, now and then as many as a page or more.
    return (0..<260).flatMap { _ -> [UInt8] in
      if dice.oneIn(16) { return [UInt8](repeating: 0, count: 16_384) }
      let (first, step) = (dice.below(256), 1 + dice.below(255))
      return (0..<16_384).map { UInt8(truncatingIfNeeded: first + $0 * step + $0 >> 8) }
    }
  }()

  /// A range of at least one byte, often beginning or ending where a page does, within a bound.
  func range(below bound: Int) -> Range<Int> {
    var begin = dice.below(bound)
    if dice.oneIn(3) { begin -= begin % Self.page }
    let most = bound - begin
    var count = 1 + dice.below(dice.oneIn(4) ? most : min(most, 3 * Self.page))
    if dice.oneIn(3) { count = min(most, (count + Self.page - 1) / Self.page * Self.page) }
    return begin..<begin + count
  }

  func compare(_ found: UnsafeRawBufferPointer, _ index: Int, at offset: Int, _ how: String) throws
  {
    let wanted = files[index].bytes[offset..<offset + found.count]
    let what = "\(how) of \(files[index].name)"
    try require(found.count == wanted.count, "\(what): \(found.count) bytes, not \(wanted.count)")
    guard let left = found.baseAddress, let right = wanted.baseAddress,
      memcmp(left, right, found.count) != 0
    else { return }
    let differing = found.indices.filter { found[$0] != wanted[$0] }
    throw Failed(
      description: """
        \(what): \(differing.count) bytes differ, the first \(offset + (differing.first ?? 0))
        """)
  }

  func compare(_ found: [UInt8], _ index: Int, at offset: Int, _ how: String) throws {
    try found.withUnsafeBytes { try compare($0, index, at: offset, how) }
  }

  /// The first byte of a range that is no zero.
  func nonZero(_ index: Int, in range: Range<Int>) -> Int? {
    let part = files[index].bytes[range]
    guard let base = part.baseAddress, !part.isEmpty else { return nil }
    // The first is zero, and each is as the one before it.
    if part[0] == 0, part.count == 1 || memcmp(base, base + 1, part.count - 1) == 0 { return nil }
    return part.firstIndex { $0 != 0 }.map { range.lowerBound + $0 }
  }

  /// Reads all of a file by name, by handle and through its mapping.
  func compareAll(_ index: Int) throws {
    try compareSize(index)
    let count = files[index].bytes.count
    let fd = try ok(Sys.open(path(index), O_RDONLY))
    defer { Sys.close(fd) }
    try compareWhole(fd, index, "read anew")
    if let map = files[index].map, count > 0 {
      try compare(UnsafeRawBufferPointer(start: map, count: count), index, at: 0, "the mapping")
    }
  }

  func compareWhole(_ fd: Int, _ index: Int, _ how: String) throws {
    var at = 0
    while at < files[index].bytes.count {
      guard let some = Sys.pread(fd, 1 << 20, at: at) else { throw failure(how) }
      try require(!some.isEmpty, "\(how): \(at) bytes, not \(files[index].bytes.count)")
      try compare(some, index, at: at, how)
      at += some.count
    }
    try equal(Sys.pread(fd, 1, at: at)?.count, 0)
  }

  func compareSize(_ index: Int) throws {
    try equal(Int(try place.status(files[index].name).st_size), files[index].bytes.count)
    let handle = dice.one(of: files[index].handles)
    try equal(Int(try place.status(handle.fd).st_size), files[index].bytes.count)
  }
}
