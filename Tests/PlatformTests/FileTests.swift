import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct FileTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test("what is written reads back, also in two parts and beyond the end")
  func readAndWrite() throws {
    let file = try File(directory.file("f"), [.readWrite, .create])
    try file.write(Array("hello world".utf8), at: 3)
    try file.write(Array("abcde".utf8), at: 14)
    #expect(try file.read(100, at: 0) == [0, 0, 0] + Array("hello worldabcde".utf8))
    #expect(try file.read(4, at: 100) == [])
    var first = [UInt8](repeating: 0, count: 4)
    var second = [UInt8](repeating: 0, count: 100)
    let count = try first.withUnsafeMutableBytes { a in
      try second.withUnsafeMutableBytes { b in try file.read(into: a, then: b, at: 3) }
    }
    #expect(count == 16)
    #expect(first + second.prefix(12) == Array("hello worldabcde".utf8))
    #expect(try file.status().size == 19)
  }

  @Test("short writes are carried on with")
  func shortWrites() throws {
    let token = Faults.arm(
      Faults.Plan(calls: [.write], below: directory.path, action: .short(2)))
    defer { Faults.disarm(token) }
    let file = try File(directory.file("f"), [.readWrite, .create])
    try file.write(Array("abcdefg".utf8), at: 0)
    #expect(try file.read(100, at: 0) == Array("abcdefg".utf8))
  }

  @Test("a duplicate has all bytes, whatever parts they are copied in, and no file is replaced")
  func duplicates() throws {
    let file = try File(directory.file("f"), [.readWrite, .create])
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try file.write(bytes, at: 0)
    try file.duplicate(to: directory.file("whole"))
    let token = Faults.arm(
      Faults.Plan(calls: [.write], below: directory.file("parts"), action: .short(70_001)))
    try file.duplicate(to: directory.file("parts"))
    Faults.disarm(token)
    for name in ["whole", "parts"] {
      #expect(try FileSystem.read(directory.file(name), atMost: 1 << 20) == bytes)
    }
    // Files of /proc say that they are empty.
    let status = try File("/proc/self/status", .read)
    try status.duplicate(to: directory.file("status"))
    #expect(try !FileSystem.read(directory.file("status"), atMost: 1 << 20).isEmpty)
    #expect(throws: SystemError.self) { try file.duplicate(to: directory.file("whole")) }
    let full = Faults.arm(
      Faults.Plan(calls: [.write], below: directory.file("full"), action: .fail(Errno.noSpace)))
    defer { Faults.disarm(full) }
    #expect(throws: SystemError.self) { try file.duplicate(to: directory.file("full")) }
  }

  @Test("the n-th call of a kind below a directory fails, and no other")
  func faults() throws {
    let file = try File(directory.file("f"), [.readWrite, .create])
    let token = Faults.arm(
      Faults.Plan(
        calls: [.write], below: directory.path, nth: 2, times: 1, action: .fail(Errno.noSpace)))
    try file.write([1], at: 0)
    #expect(throws: SystemError.self) { try file.write([2], at: 1) }
    try file.write([3], at: 1)
    try file.syncData()
    #expect(Faults.disarm(token) == 3)
    #expect(try file.read(9, at: 0) == [1, 3])
  }

  @Test("a lock belongs to the open file: a second opening waits for it, in one process too")
  func locks() throws {
    let path = directory.file("lock")
    var first: File? = try File(path, [.readWrite, .create])
    let second = try File(path, .readWrite)
    let isTaken = try first?.lock(.exclusive)
    #expect(isTaken == true)
    #expect(try !second.lock(.exclusive))
    #expect(try !second.lock(.shared))
    first = nil
    #expect(try second.lock(.shared))
    let third = try File(path, .readWrite)
    #expect(try third.lock(.shared))
    #expect(try !third.lock(.exclusive))
    second.unlock()
    #expect(try third.lock(.exclusive))
  }

  @Test("holes are found, punched and kept apart from data")
  func holes() throws {
    let file = try File(directory.file("f"), [.readWrite, .create])
    try file.truncate(to: 1 << 20)
    try file.write([UInt8](repeating: 1, count: 8192), at: 65_536)
    #expect(try file.nextData(from: 0) == 65_536)
    #expect(try file.nextHole(from: 65_536) == 73_728)
    #expect(try file.nextData(from: 100_000) == nil)
    try file.punchHole(65_536..<69_632)
    #expect(try file.nextData(from: 0) == 69_632)
    try file.allocate(0..<4096, keepingSize: true)
    #expect(try file.status().size == 1 << 20)
  }

  @Test("replacing a file leaves the old bytes or the new ones, whichever call fails")
  func replacing() throws {
    let path = directory.file("f")
    try FileSystem.replace(path, with: [1])
    for nth in 1...6 {
      let token = Faults.arm(
        Faults.Plan(below: directory.path, nth: nth, times: 1, action: .fail(Errno.noSpace)))
      let hasFailed = (try? FileSystem.replace(path, with: [2])) == nil
      Faults.disarm(token)
      let bytes = try FileSystem.read(path, atMost: 10)
      // Once the name is the new file's, only its durability is in doubt.
      #expect(bytes == [1] || (bytes == [2] && (!hasFailed || nth >= 5)), "call \(nth)")
      #expect(try FileSystem.list(directory.path) == ["f"])
      try FileSystem.replace(path, with: [1])
    }
  }

  @Test("a file that is kept is made and handed out, or leaves its name free", arguments: 1...3)
  func kept(nth: Int) throws {
    let path = directory.file("f")
    let token = Faults.arm(
      Faults.Plan(
        calls: [.open, .status], below: directory.path, nth: nth, times: 1,
        action: .fail(Errno.inputOutput)))
    let first = try? File.kept(path, [.readWrite, .create, .exclusive])
    Faults.disarm(token)
    #expect(try FileSystem.exists(path) == (first != nil))
    if first == nil { _ = try File.kept(path, [.readWrite, .create, .exclusive]) }
  }

  @Test("names: rename in its modes, links, directories, trees")
  func names() throws {
    let (a, b) = (directory.file("a"), directory.file("b"))
    try FileSystem.replace(a, with: [1])
    try FileSystem.replace(b, with: [2])
    #expect(throws: SystemError.self) { try FileSystem.rename(a, to: b, .exclusive) }
    try FileSystem.rename(a, to: b, .exchanging)
    #expect(try FileSystem.read(a, atMost: 1) == [2])
    #expect(throws: SystemError.self) { try FileSystem.read(a, atMost: 0) }
    try FileSystem.rename(a, to: b)
    #expect(try !FileSystem.exists(a))
    try FileSystem.link(b, to: a)
    #expect(try FileSystem.status(a).links == 2)
    try FileSystem.symlink("b", at: directory.file("s"))
    #expect(try FileSystem.readlink(directory.file("s")) == "b")
    #expect(try FileSystem.status(directory.file("s"), following: false).kind == .symlink)
    #expect(try FileSystem.resolve(directory.file("s")) == b)
    try FileSystem.makeDirectory(directory.file("d"))
    try FileSystem.replace(directory.file("d/x"), with: [])
    #expect(throws: SystemError.self) { try FileSystem.removeDirectory(directory.file("d")) }
    try FileSystem.removeTree(directory.file("d"))
    #expect(try FileSystem.list(directory.path).sorted() == ["a", "b", "s"])
    #expect(FileSystem.directory(of: "/x") == "/")
    #expect(FileSystem.directory(of: "x") == ".")
  }

  @Test("an error says which call failed on what, with the system's words")
  func errors() throws {
    let path = directory.file("none")
    do throws(SystemError) {
      _ = try File(path, .read)
      Issue.record("opened a file that is not there")
    } catch {
      #expect(error.errno == Errno.noEntry)
      #expect(error.description == "open \(path): No such file or directory")
    }
  }

  @Test("clocks run, randomness differs, this process runs, the kernel's run has an id")
  func system() throws {
    let before = SystemClock.monotonic()
    SystemClock.sleep(nanoseconds: 2_000_000)
    #expect(SystemClock.monotonic() - before >= 2_000_000)
    #expect(SystemClock.realtime().seconds > 1_700_000_000)
    #expect(SystemRandom.hex(16) != SystemRandom.hex(16))
    #expect(SystemRandom.bytes(13).count == 13)
    #expect(SystemProcess.isRunning(SystemProcess.id))
    #expect(try SystemProcess.bootID().utf8.count == 36)
    let utc = try #require(CalendarTime(utc: 1_778_307_200))
    #expect(
      [utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second] == [2026, 5, 9, 6, 13, 20])
    #expect(CalendarTime(utc: .max) == nil)
    #expect(try FileSystem.fileSystem(of: directory.path).availableBytes > 0)
  }
}
