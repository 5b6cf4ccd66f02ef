import Platform
import TestSupport
import Testing

@testable import LLVS

/// Damage that a store meets when it is opened.
@Suite(.timeLimit(.minutes(1)))
struct StoreDamageTests {
  let directory: TemporaryDirectory
  var path: String { directory.file("s") }

  init() throws { directory = try TemporaryDirectory() }

  func fill(_ count: Int = 4) throws {
    let store = try Store.open(path: path, create: true)
    var last: Version.ID?
    for index in 0..<count {
      last = try store.makeVersion(
        basedOnPredecessor: last,
        inserting: [Value(id: Value.ID("f\(index)"), data: [UInt8](repeating: 7, count: 5000))]
      ).id
    }
  }

  func remove(_ names: String...) throws {
    for name in names where try FileSystem.exists("\(path)/\(name)") {
      try FileSystem.unlink("\(path)/\(name)")
    }
  }

  @Test(
    "a damaged map keeps a version out of an index that is made anew, not the store from opening")
  func damagedMap() throws {
    try fill()
    do {
      let store = try Store.open(path: path)
      let map = try #require(try store.version(VersionNumber(2))).map
      let place = try #require(map.location)
      let segment = try File(store.records.files.path(place.segment), .readWrite)
      let at = place.offset + UInt64(place.length) - 3
      try segment.write([try segment.read(1, at: at)[0] ^ 4], at: at)
    }
    try remove("index.sqlite", "index.sqlite-wal", "index.sqlite-shm")
    do {
      let store = try Store.open(path: path)
      let mended = try store.state().mended
      #expect(mended.contains { $0.contains("version number 2") && $0.contains("index.sqlite") })
      #expect(try store.versions(changing: Value.ID("f0")).map(\.number.rawValue) == [1])
      let version = try store.makeVersion(
        basedOnPredecessor: nil, inserting: [Value(id: Value.ID("f0"), data: [1])])
      #expect(try store.versions(changing: Value.ID("f0")).count == 2)
      #expect(try store.value(id: Value.ID("f0"), at: version.id)?.data == [1])
    }
    // It is done once, and what is damaged is named by who looks for it.
    let store = try Store.open(path: path)
    #expect(try store.state().mended == [])
    #expect(try store.verify().damage.contains { $0.contains(".seg offset") })
  }
}
