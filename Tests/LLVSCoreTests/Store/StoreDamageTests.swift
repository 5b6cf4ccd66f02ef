import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import SQLite
@testable import StoreSupport

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

  @Test("a directory in the place of an index is named", arguments: ["", "-wal"])
  func indexDirectory(suffix: String) throws {
    try fill()
    try remove("index.sqlite", "index.sqlite-wal", "index.sqlite-shm")
    try FileSystem.makeDirectory("\(path)/index.sqlite\(suffix)")
    let error = #expect(throws: StoreError.self) { try Store.open(path: path) }
    guard case .corrupt(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("index.sqlite\(suffix) is a directory"))
    try FileSystem.removeTree("\(path)/index.sqlite\(suffix)")
    #expect(try Store.open(path: path).verify().isSound)
  }

  @Test("a catalog that has lost its log is damage, and stays as it is")
  func lostLog() throws {
    try fill(0)
    let empty = try FileSystem.read(path + "/store.sqlite", atMost: 1 << 20)
    #expect(try Store.open(path: path).verify().isSound)
    try fill(3)
    let whole = try FileSystem.read(path + "/store.sqlite", atMost: 1 << 20)
    // As SQLite leaves it before a first checkpoint: a page that says that there is a log.
    var bare = Array(empty[..<4096])
    for place in Array(28..<32) + Array(40..<64) + Array(100..<4096) { bare[place] = 0 }
    bare[31] = 1
    bare[100] = 13
    bare[105] = 0x10
    try FileSystem.replace(path + "/store.sqlite", with: bare, permissions: 0o600)
    for (mode, creates) in [(AccessMode.writer, true), (.writer, false), (.reader, false)] {
      do {
        _ = try Store.open(path: path, mode: mode, create: creates)
        Issue.record("it was opened")
      } catch {
        guard case .corrupt(let reason) = error else {
          Issue.record("\(error)")
          continue
        }
        #expect(reason.contains("segments/00000001.seg") && reason.contains("store.sqlite-wal"))
      }
      #expect(try FileSystem.read(path + "/store.sqlite", atMost: 1 << 20) == bare)
    }
    try FileSystem.replace(path + "/store.sqlite", with: whole, permissions: 0o600)
    #expect(try Store.open(path: path).verify().versions == 3)
  }

  @Test("a lock file that is removed under a writer does not let another in")
  func removedLock() throws {
    try fill(1)
    do {
      let store = try Store.open(path: path)
      try remove("lock")
      #expect(throws: StoreError.self) { try Store.open(path: path) }
      do { _ = try Store.open(path: path) } catch {
        guard case .busy(let reason) = error else { throw error }
        #expect(reason.contains("lock file"))
      }
      #expect(try Store.open(path: path, mode: .reader).verify().isSound)
      try store.makeVersion(basedOnPredecessor: nil, storing: [])
    }
    #expect(try Store.open(path: path).verify().versions == 2)
  }

  @Test("a version of the time -0.0 is kept bit for bit and is sound, also in a store that has it")
  func negativeZero() throws {
    let folder = directory.file("x")
    for name in ["", "/versions", "/changes"] { try FileSystem.makeDirectory(folder + name) }
    try FileSystem.replace(
      folder + "/versions/ZERO",
      with: Array(#"{"version":{"identifier":"ZERO","timestamp":-0.0}}"#.utf8))
    try FileSystem.replace(folder + "/changes/ZERO", with: Array("[]".utf8))
    func check() throws {
      let store = try Store.open(path: path)
      let time = try #require(try store.version(Version.ID("ZERO"))).timestamp
      #expect(time == 0 && time.sign == .minus)
      #expect(try store.verify().damage == [])
    }
    do {
      let store = try Store.open(path: path, create: true)
      let report = try FolderFormat.files.retrieve(into: store, folder)
      #expect(report.taken == [Version.ID("ZERO")])
    }
    try check()
    // Another sum is damage still.
    do {
      let database = try StoreDatabase(path: path + "/store.sqlite", mode: .readWrite)
      try database.execute("UPDATE versions SET sum = sum + 1")
    }
    #expect(try !Store.open(path: path).verify().isSound)
  }
}
