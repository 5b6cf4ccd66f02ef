import ObjectStores
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct DirectoryStoreTests {
  private let directory: TemporaryDirectory
  private let store: DirectoryStore

  init() throws {
    directory = try TemporaryDirectory()
    store = DirectoryStore(
      path: directory.path, scratch: ".scratch", control: TransferControl())
  }

  private func name(_ text: String) throws -> ObjectName { try #require(ObjectName(text)) }

  @Test("INVARIANT 1 and 2: a power failure at any call leaves an object whole or not at all")
  func powerFailures() throws {
    let bytes = [UInt8].random(seed: 2, 20_000)
    let images = try TemporaryDirectory(inMemory: true)
    let place = try TemporaryDirectory(inMemory: true)
    var count = 0
    let taken = Monitor<[String]>([])
    let disk = try PowerDisk(place.path) { disk, _, _ in
      let number = taken.withLock { $0.count }
      for (index, rest) in [PowerDisk.Rest.nothing, .everything, .some(seed: UInt64(number))]
        .enumerated()
      {
        let target = images.file("\(number)-\(index)")
        if (try? disk.image(at: target, rest)) != nil { taken.withLock { $0.append(target) } }
      }
    }
    let store = DirectoryStore(path: place.path, scratch: ".scratch", control: TransferControl())
    try store.prepare(["folder"])
    try store.put(try name("folder/object"), ObjectBody(bytes))
    try store.move(try name("folder/object"), to: try name("folder/moved"))
    disk.stop()
    for path in taken.withLock({ $0 }) {
      let left = DirectoryStore(path: path, scratch: ".scratch", control: TransferControl())
      for object in try left.all(try #require(ObjectPrefix("folder/"))) {
        #expect(try left.bytes(of: object.name, atMost: 100_000) == bytes, "\(path) \(object)")
        count += 1
      }
    }
    #expect(count > 5, "no image had the object")
    let images2 = try TemporaryDirectory(inMemory: true)
    try PowerDisk(place.path) { _, _, _ in }.image(at: images2.file("end"), .nothing)
    let end = DirectoryStore(path: images2.file("end"), scratch: ".s", control: TransferControl())
    #expect(try end.bytes(of: try name("folder/moved"), atMost: 100_000) == bytes)
  }

  @Test("once a put is done, no power failure takes it back")
  func durability() throws {
    let place = try TemporaryDirectory(inMemory: true)
    let images = try TemporaryDirectory(inMemory: true)
    let disk = try PowerDisk(place.path) { _, _, _ in }
    let store = DirectoryStore(path: place.path, scratch: ".scratch", control: TransferControl())
    try store.put(try name("a/b/object"), ObjectBody([1, 2, 3]))
    try disk.image(at: images.file("1"), .nothing)
    try store.delete(try name("a/b/object"))
    try disk.image(at: images.file("2"), .nothing)
    disk.stop()
    let first = DirectoryStore(path: images.file("1"), scratch: ".s", control: TransferControl())
    #expect(try first.bytes(of: try name("a/b/object"), atMost: 10) == [1, 2, 3])
    let second = DirectoryStore(path: images.file("2"), scratch: ".s", control: TransferControl())
    #expect(throws: RemoteError.self) {
      try second.bytes(of: try name("a/b/object"), atMost: 10)
    }
  }

  @Test("INVARIANT 3: a link, a pipe or a directory under an object's name is no object")
  func otherKinds() throws {
    try store.put(try name("folder/object"), ObjectBody([1]))
    #expect(
      try shell(
        "mkfifo folder/pipe; ln -s object folder/link; mkdir folder/below; ln -s folder other",
        in: directory.path
      ).status == 0)
    #expect(try store.all(try #require(ObjectPrefix("folder/"))).map(\.name.last) == ["object"])
    for text in ["folder/pipe", "folder/link", "folder/below", "other/object"] {
      let error = #expect(throws: RemoteError.self) {
        try store.bytes(of: try name(text), atMost: 10)
      }
      #expect(error?.kind == (text == "other/object" ? .noPlace : .denied), "\(text)")
    }
    #expect(throws: RemoteError.self) { try store.put(try name("other/new"), ObjectBody([1])) }
    #expect(throws: RemoteError.self) { try store.delete(try name("folder/below")) }
    #expect(throws: RemoteError.self) { try store.all(try #require(ObjectPrefix("other/"))) }
  }

  @Test("a link in place of the writer's own directory is neither followed nor emptied")
  func linkedScratch() throws {
    let other = try TemporaryDirectory()
    try FileSystem.replace(other.file("letter"), with: [1])
    try FileSystem.symlink(other.path, at: directory.file(".scratch"))
    for body in [
      { try self.store.prepare(["folder"]) },
      { try self.store.put(try self.name("folder/object"), ObjectBody([1])) },
      { _ = try self.store.ownStaging(scratch: ".scratch") },
    ] as [() throws -> Void] {
      let error = #expect(throws: RemoteError.self) { try body() }
      #expect(error?.kind == .noPlace)
    }
    #expect(try FileSystem.list(other.path) == ["letter"])
  }

  @Test("a directory that is not there is told from an empty one")
  func noPlace() throws {
    let gone = DirectoryStore(
      path: directory.file("gone"), scratch: ".scratch", control: TransferControl())
    for body in [
      { _ = try gone.all(try #require(ObjectPrefix(""))) },
      { try gone.put(try self.name("object"), ObjectBody([1])) },
      { try gone.prepare(["folder"]) },
      { _ = try gone.bytes(of: try self.name("object"), atMost: 1) },
      { try gone.delete(try self.name("object")) },
    ] as [() throws -> Void] {
      let error = #expect(throws: RemoteError.self) { try body() }
      #expect(error?.kind == .noPlace)
    }
    #expect(try !FileSystem.exists(directory.file("gone")))
  }

  @Test("whichever call fails, no part of an object is seen, and what was begun is removed")
  func failingCalls() throws {
    let bytes = [UInt8].random(seed: 6, 3_000_000)
    for nth in 1... {
      let place = try TemporaryDirectory(inMemory: true)
      let store = DirectoryStore(path: place.path, scratch: ".scratch", control: TransferControl())
      let code = nth % 2 == 0 ? Errno.noSpace : Errno.inputOutput
      let token = Faults.arm(
        Faults.Plan(below: place.path, nth: nth, times: 1, action: .fail(code)))
      do {
        try store.put(try name("folder/object"), ObjectBody(bytes))
      } catch let error as RemoteError {
        #expect(error.kind == (code == Errno.noSpace ? .noSpace : .unreachable))
      }
      let seen = Faults.disarm(token)
      let found = try store.all(try #require(ObjectPrefix("folder/")))
      #expect(found.allSatisfy { $0.length == UInt64(bytes.count) })
      try store.put(try name("folder/object"), ObjectBody(bytes))
      #expect(try store.bytes(of: try name("folder/object"), atMost: bytes.count) == bytes)
      guard seen >= nth else { return }
    }
  }

  @Test("what an earlier use left is removed when the directory is made ready")
  func leftovers() throws {
    try FileSystem.makeDirectory(directory.file(".scratch"))
    try FileSystem.replace(directory.file(".scratch/1"), with: [1])
    try store.prepare([])
    #expect(try !FileSystem.exists(directory.file(".scratch/1")))
    try store.put(try name("object"), ObjectBody([1]))
    // A second time it may be in use.
    try FileSystem.replace(directory.file(".scratch/9"), with: [1])
    try store.prepare([])
    #expect(try FileSystem.exists(directory.file(".scratch/9")))
  }
}
