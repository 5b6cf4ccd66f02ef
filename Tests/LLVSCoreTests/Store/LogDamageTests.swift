import LLVSCore
import Platform
import TestSupport
import Testing

@testable import SQLite
@testable import StoreSupport

/// The catalog's log as a killed process leaves it, damaged.
@Suite(.timeLimit(.minutes(2)))
struct LogDamageTests {
  static let frame: UInt64 = 4096 + 24

  let directory: TemporaryDirectory
  var path: String { directory.file("s") }
  var log: String { directory.file("s/store.sqlite-wal") }

  init() throws { directory = try TemporaryDirectory() }

  /// Makes versions in a process that does not close the store, and returns how many it was told of.
  func fill(_ count: Int = 12) async throws {
    let path = path
    await #expect(processExitsWith: .exitCode(7)) { [path = path as String, count = count as Int] in
      let store = try Store.open(path: path, create: true)
      var last: Version.ID?
      for index in 0..<count {
        last = try store.makeVersion(
          basedOnPredecessor: last,
          inserting: [Value(id: Value.ID("f\(index)"), data: [UInt8(index), 1])]
        ).id
      }
      // What a commit adds to the index is written a little later.
      SystemClock.sleep(nanoseconds: 600_000_000)
      SystemProcess.exitAtOnce(store.path.isEmpty ? 8 : 7)
    }
  }

  /// Where the frames of the log end that are of its generation.
  func end() throws -> UInt64 {
    let file = try File(log, .read)
    let salts = try file.read(8, at: 16)
    var at: UInt64 = 32
    while try file.read(8, at: at + 8) == salts { at += Self.frame }
    return at
  }

  /// Where transactions end: behind frames that say how large the database is.
  func commits() throws -> [UInt64] {
    let file = try File(log, .read)
    return try stride(from: 32, to: try end(), by: UInt64.Stride(Self.frame)).filter {
      try file.read(4, at: $0 + 4) != [0, 0, 0, 0]
    }.map { $0 + Self.frame }
  }

  func versions(_ mode: AccessMode = .writer) throws -> (count: Int, damage: [String]) {
    let store = try Store.open(path: path, mode: mode)
    let report = try store.verify()
    return (report.versions, report.damage)
  }

  func restore(_ files: [String: [UInt8]]) throws {
    for name in ["store.sqlite", "index.sqlite"] {
      for suffix in ["", "-wal", "-shm"] where try FileSystem.exists("\(path)/\(name)\(suffix)") {
        try FileSystem.unlink("\(path)/\(name)\(suffix)")
      }
    }
    for (name, bytes) in files {
      try FileSystem.replace("\(path)/\(name)", with: bytes, permissions: 0o600)
    }
  }

  func keep() throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in ["store.sqlite", "store.sqlite-wal", "index.sqlite", "index.sqlite-wal"]
    where try FileSystem.exists("\(path)/\(name)") {
      files[name] = try FileSystem.read("\(path)/\(name)", atMost: 64 << 20)
    }
    return files
  }

  @Test("whichever bit of the log is flipped, every version is there, and the damage is named")
  func flippedBit() async throws {
    try await fill()
    let files = try keep()
    let size = try end()
    var random = SeededRandom(seed: 21)
    var places: [UInt64] = [0, 3, 5, 9, 13, 17, 22, 24, 30, 33, 37, 41, 45, 49, 53, 56]
    places += (0..<60).map { _ in UInt64.random(in: 32..<size, using: &random) }
    places.append(size - 1)
    var mended = 0
    for place in places {
      try restore(files)
      let file = try File(log, .readWrite)
      let bit = UInt8.random(in: 0..<8, using: &random)
      try file.write([try file.read(1, at: place)[0] ^ 1 << bit], at: place)
      // A reader leaves it as it is.
      let before = try FileSystem.read(log, atMost: 64 << 20)
      let read = try versions(.reader)
      #expect(read.count == 12, "byte \(place)")
      #expect(read.damage.first?.contains("store.sqlite-wal") == true, "byte \(place)")
      #expect(try FileSystem.read(log, atMost: 64 << 20) == before, "byte \(place)")
      let written = try versions()
      #expect(written.count == 12, "byte \(place)")
      #expect(written.damage.first?.contains("store.sqlite-wal") == true, "byte \(place)")
      let left = try versions().damage
      #expect(read.damage.count == left.count + 1 && written.damage.count == left.count + 1)
      // Rarely more than one bit could be meant: what is wrong then is named.
      if left.isEmpty { mended += 1 } else { #expect(read.damage[0].contains("as far as")) }
    }
    #expect(mended >= places.count - 3)
  }

  @Test("a part of the log that is gone takes versions with it, which are named")
  func spoiledPart() async throws {
    try await fill()
    let files = try keep()
    for keepsIndex in [true, false] {
      try restore(files)
      if !keepsIndex { try FileSystem.unlink(path + "/index.sqlite") }
      if !keepsIndex { try FileSystem.unlink(path + "/index.sqlite-wal") }
      let middle = try commits()[8]
      try File(log, .readWrite).write([UInt8](repeating: 0xA5, count: 512), at: middle + 1000)
      for mode in [AccessMode.reader, .writer] {
        // Without an index only a writer, who makes it anew, can be asked; nor does that change what is named.
        let found = try versions(mode)
        #expect(found.count < 12 && found.count > 2)
        #expect(found.damage.contains { $0.contains("store.sqlite-wal") && $0.contains("lost") })
      }
      // Once it is named, what is there is sound.
      #expect(try versions().damage == [])
    }
  }

  @Test("a log that is cut off takes versions with it, which are named while the index knows them")
  func cutOff() async throws {
    try await fill()
    let middle = try commits()[8]
    try File(log, .readWrite).truncate(to: middle + 99)
    let read = try versions(.reader)
    #expect(read.count < 12 && read.count > 2)
    #expect(read.damage.contains { $0.contains("index.sqlite knows number 12") }, "\(read.damage)")
    let written = try versions()
    #expect(written.damage.contains { $0.contains("index.sqlite knows number 12") })
    #expect(try versions().damage == [])
    // Numbers that are given out again are noted again.
    let store = try Store.open(path: path)
    let version = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID("f11"), data: [3])])
    #expect(
      try store.versions(changing: Value.ID("f11")).map(\.id) == [version.id])
  }

  @Test("what a power failure leaves of the last transaction is passed over in silence")
  func tornTail() async throws {
    try await fill()
    for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
      try FileSystem.unlink("\(path)/\(name)")
    }
    let files = try keep()
    let (ends, end) = (try commits(), try end())
    let last = ends[ends.count - 2]
    #expect(end - last >= 2 * Self.frame)
    var random = SeededRandom(seed: 3)
    for turn in 0..<30 {
      try restore(files)
      let file = try File(log, .readWrite)
      // Blocks of the last transaction that did not reach the disk hold what was there before.
      var missing = 0
      for block in stride(from: last, to: end, by: 512)
      where turn == 0 || Bool.random(using: &random) {
        let count = Int(min(512, end - block))
        let old =
          turn % 3 == 2
          ? try file.read(count, at: block % Self.frame + 32) : [UInt8](repeating: 0, count: count)
        try file.write(old, at: block)
        missing += 1
      }
      guard missing > 0 else { continue }
      let found = try versions(turn % 2 == 0 ? .reader : .writer)
      #expect(found.count == 11 || found.count == 12, "turn \(turn)")
      #expect(found.damage == [], "turn \(turn)")
    }
  }

  @Test("frames of an older generation behind the end of a log are no damage")
  func olderFrames() async throws {
    let path = path
    await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
      let store = try Store.open(path: path, create: true)
      var last: Version.ID?
      for index in 0..<300 {
        last = try store.makeVersion(
          basedOnPredecessor: last,
          inserting: [Value(id: Value.ID("f\(index)"), data: [UInt8(index % 256), 1])]
        ).id
      }
      SystemProcess.exitAtOnce(store.path.isEmpty ? 8 : 7)
    }
    // It was begun anew, and what it had before stands behind.
    let end = try end()
    #expect(try end < FileSystem.status(log).size - 10 * Self.frame)
    let files = try keep()
    let read = try versions(.reader)
    #expect(read.count == 300 && read.damage == [])
    // The end of the newest one and some frames of an older one.
    try restore(files)
    try File(log, .readWrite).truncate(to: end + 3 * Self.frame)
    let written = try versions()
    #expect(written.count == 300 && written.damage == [])
  }

  @Test("a store that is settled has nothing in its log, and is used on")
  func settled() throws {
    let store = try Store.open(path: path, create: true)
    for index in 0..<12 {
      try store.makeVersion(
        basedOnPredecessor: nil,
        inserting: [Value(id: Value.ID("f\(index)"), data: [UInt8(index)])])
    }
    #expect(try FileSystem.status(log).size > 0)
    let segment = "\(path)/segments/00000001.seg"
    #expect(try FileSystem.status(segment).size > 100_000)
    store.settle()
    #expect(try FileSystem.status(log).size == 0)
    // Room for further commits is given back.
    #expect(try FileSystem.status(segment).size < 20_000)
    for index in 0..<12 {
      try store.makeVersion(
        basedOnPredecessor: nil,
        inserting: [Value(id: Value.ID("g\(index)"), data: [UInt8(index)])])
    }
    let reader = try Store.open(path: path, mode: .reader)
    #expect(try reader.verify().versions == 24)
    #expect(try store.verify().isSound)
  }

  @Test("where emptying the log fails, everything is in it still")
  func settlingFails() throws {
    DatabaseFaults.install()
    for code in [Errno.noSpace, Errno.inputOutput] {
      for nth in 1... {
        let path = directory.file("\(code)-\(nth)")
        let calls: Int
        do {
          let store = try Store.open(path: path, create: true)
          for index in 0..<6 {
            try store.makeVersion(
              basedOnPredecessor: nil,
              inserting: [Value(id: Value.ID("f\(index)"), data: [UInt8(index)])])
          }
          let token = Faults.arm(
            Faults.Plan(
              calls: [.write, .sync, .truncate], below: path, nth: nth, times: 1,
              action: .fail(code)))
          store.settle()
          calls = Faults.disarm(token)
          try store.makeVersion(
            basedOnPredecessor: nil, inserting: [Value(id: Value.ID("g"), data: [])])
        }
        let report = try Store.open(path: path).verify()
        #expect(report.versions == 7 && report.isSound, "call \(nth): \(report.damage)")
        guard calls >= nth else { break }
      }
    }
  }
}
