import ObjectStoreSupport
import ObjectStores
import Platform
import TestSupport
import Testing

/// Objects that appear whole, over every remote that can show them so.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StagingTests {
  private static let kinds = StoreUnderTest.all.filter { !$0.name.contains("tears") }

  private func staging(_ place: Place, _ directory: TemporaryDirectory) throws -> any ObjectStaging
  {
    try place.store.staging(
      scratch: "\(place.folder)-outgoing", temporary: directory.path, folders: [place.folder],
      control: place.control)
  }

  private func write(
    _ staging: any ObjectStaging, _ name: ObjectName, _ pieces: [[UInt8]]
  ) throws {
    let object = try staging.begin(name)
    for piece in pieces {
      var failure: (any Error)?
      piece.withUnsafeBytes { raw in
        do {
          try object.append(raw)
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
    }
    try object.finish()
  }

  @Test("what is staged appears when it is published, whole, and not before", arguments: kinds)
  func appearing(_ kind: StoreUnderTest) throws {
    let directory = try TemporaryDirectory()
    let place = try Place(kind)
    let staging = try staging(place, directory)
    let long = [UInt8].random(seed: 5, 700_000)
    let names = try (0..<20).map { try place.name("n\($0)") }
    for (index, name) in names.enumerated() {
      try write(staging, name, index == 0 ? [long, long] : [[1, UInt8(index)]])
    }
    try place.expectList([:])
    try staging.publish(Array(names[..<10]), replacing: false)
    var expected: [String: UInt64] = [:]
    for index in 0..<10 { expected["n\(index)"] = index == 0 ? 1_400_000 : 2 }
    try place.expectList(expected)
    #expect(try place.bytes("n0") == long + long)
    #expect(try place.bytes("n7") == [1, 7])
    staging.abandon()
    try place.expectList(expected)
    // Another begins where the first ended.
    let again = try self.staging(place, directory)
    try write(again, names[19], [[9, 9, 9]])
    try again.publish([names[19]], replacing: false)
    expected["n19"] = 3
    try place.expectList(expected)
    again.abandon()
  }

  @Test("a name that is taken is left alone, or replaced where that is wanted", arguments: kinds)
  func taken(_ kind: StoreUnderTest) throws {
    let directory = try TemporaryDirectory()
    let place = try Place(kind)
    let staging = try staging(place, directory)
    try place.put("kept", [1, 2, 3])
    try place.put("torn", [1])
    try place.put("same", [1, 2])
    let names = try ["kept", "torn", "same", "new"].map { try place.name($0) }
    for name in names { try write(staging, name, [[7, 7]]) }
    try staging.publish([names[0], names[3]], replacing: false)
    try staging.publish([names[1], names[2]], replacing: true)
    try place.expectList(["kept": 3, "torn": 2, "same": 2, "new": 2])
    #expect(try place.bytes("kept") == [1, 2, 3])
    #expect(try place.bytes("torn") == [7, 7])
    staging.abandon()
  }

  @Test(
    "a server that cannot move gets puts, unless they leave parts of objects",
    arguments: [false, true])
  func immobile(tears: Bool) throws {
    let (directory, control) = (try TemporaryDirectory(), TransferControl())
    let store = Immobile(base: MemoryStore(control: control), tears: tears)
    let staging = try store.staging(
      scratch: "outgoing", temporary: directory.path, folders: ["a"], control: control)
    let names = try (0..<3).map { try #require(ObjectName("a/n\($0)")) }
    for name in names[..<2] { try write(staging, name, [[1, 2]]) }
    func count(_ folder: String) throws -> Int {
      try store.all(try #require(ObjectPrefix(folder: folder))).count
    }
    if tears {
      let error = #expect(throws: RemoteError.self) {
        try staging.publish(Array(names[..<2]), replacing: false)
      }
      #expect(error?.kind == .unsupported)
      #expect(try count("a") == 0)
    } else {
      try staging.publish(Array(names[..<2]), replacing: false)
      try write(staging, names[2], [[3]])
      #expect(try count("a") == 2)
      try staging.publish([names[2]], replacing: false)
      #expect(try count("a") == 3)
      #expect(try store.bytes(of: names[0], atMost: 9) == [1, 2])
    }
    staging.abandon()
    #expect(try count("outgoing") == 0)
  }

  @Test("abandoned objects leave no file in a directory, whether they were finished or not")
  func abandoned() throws {
    let directory = try TemporaryDirectory()
    try FileSystem.makeDirectory("\(directory.path)/a")
    let store = DirectoryStore(
      path: directory.path, scratch: ".outgoing", control: TransferControl())
    let staging = try #require(try store.ownStaging(scratch: ".outgoing"))
    try write(staging, #require(ObjectName("a/finished")), [[1]])
    let unfinished = try staging.begin(#require(ObjectName("a/unfinished")))
    #expect(throws: RemoteError.self) { try unfinished.checkRoom(for: .max) }
    staging.abandon()
    #expect(try FileSystem.names(in: Array(directory.path.utf8)).map(\.bytes) == [Array("a".utf8)])
  }
}

/// A remote that answers each move with 405, and that may keep the first half of a put that breaks off.
private struct Immobile: ObjectStore {
  let base: MemoryStore
  let tears: Bool
  var capabilities: StoreCapabilities { [.move, .emptyObjects] }

  func prepare(_ folders: [String]) throws(RemoteError) { try base.prepare(folders) }

  func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage { try base.list(prefix, after: after, page: page) }

  func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 { try base.get(name, range: range, into: sink) }

  func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    do throws(RemoteError) {
      try base.put(name, body)
    } catch {
      if tears { try base.put(name, ObjectBody([1])) }
      throw error
    }
  }

  func delete(_ name: ObjectName) throws(RemoteError) { try base.delete(name) }

  func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    throw RemoteError(.unsupported, "it cannot move", object: name.text, status: 405)
  }
}
