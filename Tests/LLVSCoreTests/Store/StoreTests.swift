import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct StoreTests {
  static let emptyMap = MapRoot(location: nil, digest: .ofNothing, count: 0)

  @discardableResult
  func addVersion(
    to store: Store, id: String, after first: VersionNumber? = nil, second: VersionNumber? = nil,
    timestamp: Double = 800_000_000, line: String? = nil,
    metadata: Version.Metadata = [:]
  ) throws -> VersionRecord {
    var metadata = metadata
    if let line { metadata[.branch] = Version.MetadataValue(line) }
    return try store.write { (transaction) throws(StoreError) in
      try transaction.add(
        NewVersion(
          number: try transaction.reserveVersion(), id: Version.ID(id), first: first,
          second: second, timestamp: timestamp,
          line: line ?? VersionRecord.unnamedLine, metadata: metadata,
          map: StoreTests.emptyMap))
    }
  }

  @Test("a store that is made, closed and opened again holds its versions, head and settings")
  func reopening() throws {
    let directory = try TemporaryDirectory()
    let metadata: Version.Metadata = [
      Version.MetadataKey("a"): Version.MetadataValue(data: [1, 2]),
      Version.MetadataKey("big"): Version.MetadataValue(data: Array(repeating: 7, count: 100_000)),
    ]
    let replica: String
    do {
      let store = try Store.open(path: directory.file("s"), create: true)
      replica = store.replicaID
      let root = try addVersion(to: store, id: "ROOT", metadata: metadata)
      #expect(root.number.rawValue == 1)
      #expect(root.generation == 1)
      try store.write { (transaction) throws(StoreError) in
        try transaction.setHead(root.number, map: StoreTests.emptyMap, reason: .other("test"))
        transaction.set("settle", to: Array("2s".utf8))
        transaction.setPeer(Peer(name: "usb", address: Array("/media/usb".utf8)))
      }
    }
    let store = try Store.open(path: directory.file("s"))
    #expect(store.replicaID == replica)
    let state = try store.state()
    #expect(state.head == VersionNumber(1))
    #expect(state.headMap == StoreTests.emptyMap)
    #expect(state.settings["settle"] == Array("2s".utf8))
    #expect(try store.peers().map(\.name) == ["usb"])
    let root = try #require(try store.version(Version.ID("ROOT")))
    #expect(try store.metadata(of: root) == metadata)
    #expect(
      root.name == "2026-05-09T061320.000Z-ROOT"
    )
    #expect(try store.headLog(limit: 10).map(\.reason.text) == ["test"])
  }

  @Test("a second writer is refused while the first holds the store, and let in after it")
  func oneWriter() throws {
    let directory = try TemporaryDirectory()
    var store: Store? = try Store.open(path: directory.file("s"), create: true)
    #expect(throws: StoreError.self) { try Store.open(path: directory.file("s")) }
    let reader = try Store.open(path: directory.file("s"), mode: .reader)
    #expect(try reader.state().lastNumber == 0)
    if let store { try addVersion(to: store, id: "A") }
    #expect(try reader.state().lastNumber == 1)
    #expect(throws: StoreError.self) {
      try reader.write { (_) throws(StoreError) in }
    }
    store = nil
    _ = try Store.open(path: directory.file("s"))
  }

  @Test("a transaction that throws leaves nothing, and the next one takes its numbers")
  func throwing() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    #expect(throws: StoreError.self) {
      try store.write { (transaction) throws(StoreError) in
        _ = try transaction.write(Array(repeating: 1, count: 5000))
        try transaction.add(
          NewVersion(
            number: try transaction.reserveVersion(), id: Version.ID("A"), timestamp: 0,
            map: StoreTests.emptyMap))
        throw StoreError.cancelled
      }
    }
    #expect(try store.version(Version.ID("A")) == nil)
    #expect(try addVersion(to: store, id: "B").number.rawValue == 1)
  }

  @Test("names keep their time order, lengthen on a clash and resolve with ids and their prefixes")
  func names() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let first = try addVersion(to: store, id: "3F9C2A1B-0000-4000-8000-000000000001")
    let second = try addVersion(to: store, id: "3F9C2A1B-0000-4000-8000-000000000002")
    let foreign = try addVersion(to: store, id: "../a b", timestamp: 800_000_001)
    #expect(first.name == "2026-05-09T061320.000Z-3F9C2A1B")
    #expect(second.name.hasSuffix("Z-3F9C2A1B-"))
    #expect(foreign.name.hasSuffix("Z-%2E%2E%2"))
    #expect(try store.resolve(first.name).id == first.id)
    #expect(try store.resolve("3f9c2a1b-0000-4000-8000-000000000002").id == second.id)
    #expect(try store.resolve("../").id == foreign.id)
    #expect(throws: StoreError.self) { try store.resolve("3F9C") }
    #expect(throws: StoreError.self) { try store.resolve("77") }
    let names = try store.versions(afterName: nil, limit: 2).map(\.name)
    #expect(names == [first.name, second.name])
    #expect(try store.versions(afterName: names[1], limit: 5).map(\.name) == [foreign.name])
    #expect(try store.versionsNewestFirst(before: nil, limit: 1).map(\.id) == [foreign.id])
    #expect(
      try store.versionsNewestFirst(before: foreign, limit: 5).map(\.id) == [second.id, first.id])
  }

  @Test("heads, heads of lines and successors follow what is added")
  func heads() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let root = try addVersion(to: store, id: "R")
    let a = try addVersion(to: store, id: "A", after: root.number)
    let b = try addVersion(to: store, id: "B", after: root.number, line: "side")
    #expect(try store.headNumbers() == [a.number, b.number])
    #expect(try store.headNumbers(ofLine: "-") == [a.number])
    let merge = try addVersion(to: store, id: "M", after: a.number, second: b.number)
    #expect(merge.generation == 3)
    #expect(try store.headNumbers() == [merge.number])
    #expect(try store.headNumbers(ofLine: "side") == [b.number])
    #expect(try store.lines(after: nil, limit: 10) == ["-", "side"])
    #expect(try store.successors(of: root.number) == [a.number, b.number])
    #expect(throws: StoreError.self) { try addVersion(to: store, id: "M") }
    #expect(throws: StoreError.self) {
      try addVersion(to: store, id: "N", after: VersionNumber(77))
    }
  }

  @Test("numbers allotted before and after reopening never repeat")
  func counters() throws {
    let directory = try TemporaryDirectory()
    var last: UInt64 = 0
    for _ in 0..<3 {
      let store = try Store.open(path: directory.file("s"), create: true)
      for count: UInt64 in [1, 5, 100_000, 1] {
        let first = try store.allotInodes(count)
        #expect(first > last)
        last = first + count - 1
      }
    }
  }

  @Test("no inode number at or above the limit is given out, and the numbers before it are")
  func inodeLimit() throws {
    let directory = try TemporaryDirectory()
    do {
      let store = try Store.open(path: directory.file("s"), create: true)
      try store.restartInodes(at: Store.inodeLimit - 10)
      #expect(throws: StoreError.self) { try store.allotInodes(11) }
      #expect(try store.allotInodes(9) == Store.inodeLimit - 10)
      #expect(try store.allotInodes() == Store.inodeLimit - 1)
      #expect(throws: StoreError.self) { try store.allotInodes() }
    }
    let store = try Store.open(path: directory.file("s"))
    #expect(throws: StoreError.self) { try store.allotInodes() }
    // Earlier programs went on.
    try store.restartInodes(at: Store.inodeLimit * 3)
    #expect(throws: StoreError.self) { try store.allotInodes() }
    try store.restartInodes(at: 20)
    #expect(try store.allotInodes() == 20)
  }

  @Test("a copied store gets a new replica id, and keeps it")
  func copies() throws {
    let directory = try TemporaryDirectory()
    let (storeID, replica) = try {
      let store = try Store.open(path: directory.file("s"), create: true)
      return (store.storeID, store.replicaID)
    }()
    try FileSystem.makeDirectory(directory.file("t"))
    try FileSystem.makeDirectory(directory.file("t/segments"))
    for name in try FileSystem.list(directory.file("s")) where name != "segments" {
      let bytes = try FileSystem.read(directory.file("s/\(name)"), atMost: 1 << 24)
      try FileSystem.replace(directory.file("t/\(name)"), with: bytes)
    }
    let copied = try Store.open(path: directory.file("t")).replicaID
    #expect(copied != replica)
    let again = try Store.open(path: directory.file("t"))
    #expect(again.replicaID == copied)
    #expect(again.storeID == storeID)
  }

  @Test("a directory with other files does not become a store")
  func foreignDirectory() throws {
    let directory = try TemporaryDirectory()
    try FileSystem.replace(directory.file("letter.txt"), with: [1])
    #expect(throws: StoreError.self) { try Store.open(path: directory.path, create: true) }
    #expect(throws: StoreError.self) { try Store.open(path: directory.file("none")) }
  }
}
