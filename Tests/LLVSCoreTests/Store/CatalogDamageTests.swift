import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// Rows of the catalog that read well and are not what was written.
@Suite(.timeLimit(.minutes(1)))
struct CatalogDamageTests {
  let directory: TemporaryDirectory
  var path: String { directory.file("s") }

  init() throws { directory = try TemporaryDirectory() }

  /// A store with two versions, settings, a peer and a head; the second version.
  func fill() throws -> Version {
    let store = try Store.open(path: path, create: true)
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID("a"), data: [1, 2, 3])])
    let second = try store.makeVersion(
      basedOnPredecessor: first.id, inserting: [Value(id: Value.ID("b"), data: [4])])
    try store.write { (transaction) throws(StoreError) in
      transaction.set("author", to: Array("Author-of-this-test".utf8))
      transaction.set("arbiter", to: Array("other".utf8))
      transaction.setPeer(Peer(name: "usb", address: Array("/media/usb/there".utf8)))
      let record = try transaction.version(second.id)
      try transaction.setHead(
        record?.number, map: record?.map, reason: .other("reason-of-this-test"))
    }
    return second
  }

  /// Flips a bit of the first copy of some bytes in store.sqlite; false where there is none.
  func flip(_ bytes: [UInt8], skipping: Int = 0, at place: Int = 0) throws -> Bool {
    let file = path + "/store.sqlite"
    let all = try FileSystem.read(file, atMost: 64 << 20)
    var left = skipping
    for at in 0..<(all.count - bytes.count)
    where all[at] == bytes[0] && all[at..<(at + bytes.count)].elementsEqual(bytes) {
      if left > 0 {
        left -= 1
        continue
      }
      try File(file, .readWrite).write([all[at + place] ^ 1], at: UInt64(at + place))
      return true
    }
    return false
  }

  /// What `verify` names, or why the store is refused.
  func damage(_ store: String? = nil) throws -> [String] {
    do {
      return try Store.open(path: store ?? path).verify().damage
    } catch {
      return ["refused: \(error)"]
    }
  }

  @Test("a sound catalog has no damage, and a copy of it none either")
  func sound() throws {
    _ = try fill()
    #expect(try damage() == [])
    try Store.open(path: path, mode: .reader).backup(to: directory.file("copy"))
    #expect(try Store.open(path: directory.file("copy")).verify().isSound)
  }

  @Test("a setting with a flipped bit does not hold, is named, and can be set again")
  func setting() throws {
    _ = try fill()
    #expect(try flip(Array("Author-of-this-test".utf8), at: 3))
    let store = try Store.open(path: path)
    let state = try store.state()
    #expect(state.settings["author"] == nil && state.damagedSettings == ["author"])
    #expect(state.settings["arbiter"] == Array("other".utf8))
    #expect(try store.verify().damage.contains { $0.contains("settings") && $0.contains("author") })
    try store.write { (transaction) throws(StoreError) in
      transaction.set("author", to: Array("again".utf8))
    }
    #expect(try store.state().damagedSettings == [] && store.verify().isSound)
  }

  @Test("nothing is sent to a peer's address that nobody wrote")
  func peer() throws {
    _ = try fill()
    #expect(try flip(Array("/media/usb/there".utf8), at: 9))
    let store = try Store.open(path: path)
    #expect(try store.peers().map(\.name) == ["usb"])
    #expect(try store.peers().map(\.address) == [[]])
    #expect(try store.verify().damage.contains { $0.contains("peers") && $0.contains("usb") })
  }

  @Test("the time of a version, in each of its places")
  func time() throws {
    let version = try fill()
    let pattern = version.timestamp.bitPattern
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: pattern >> (56 - $0 * 8)) }
    let whole = try FileSystem.read(path + "/store.sqlite", atMost: 64 << 20)
    var places = 0
    while try flip(bytes, skipping: places, at: 7) {
      #expect(try !damage().isEmpty, "place \(places)")
      try FileSystem.replace(path + "/store.sqlite", with: whole, permissions: 0o600)
      places += 1
    }
    // The row's two spellings, and the index by time.
    #expect(places == 3)
    #expect(try damage() == [])
  }

  @Test("the log of heads: an older entry that nobody wrote is passed over and named")
  func head() throws {
    let second = try fill()
    #expect(try flip(Array("reason-of-this-test".utf8), at: 2))
    let (oldest, time): (HeadLogEntry, Int64)
    do {
      let store = try Store.open(path: path)
      try store.write { (transaction) throws(StoreError) in
        let first = try transaction.version(second.predecessors?.idOfFirst ?? second.id)
        try transaction.setHead(first?.number, map: first?.map, reason: .other("between"))
      }
      // It was the newest when the store was opened, and was put right.
      let log = try store.headLog(limit: 2)
      #expect(log.map(\.reason.text) == ["between", "reason-of-this-test"])
      (oldest, time) = (try #require(log.last), try #require(log.first).time)
      try store.write { (transaction) throws(StoreError) in
        try transaction.setHead(nil, map: nil, reason: .other("newer"))
      }
    }
    #expect(try flip(Array("between".utf8), at: 2))
    let again = try Store.open(path: path)
    var told: [String] = []
    let log = try again.headLog(limit: 2) { told.append($0) }
    #expect(log.map(\.reason.text) == ["newer", "reason-of-this-test"])
    #expect(told.count == 1 && told[0].contains("entry \(oldest.sequence + 1) of the log of heads"))
    #expect(try again.head(at: time) { told.append($0) } == oldest)
    #expect(told.count == 2)
    #expect(
      try again.head(at: .max)?.reason == .other("newer") && again.head(at: oldest.time) == oldest)
    #expect(try again.headLog(before: oldest.sequence, limit: 1).isEmpty)
    #expect(
      try again.state().head == nil && again.headLog(limit: 1).map(\.reason.text) == ["newer"])
    #expect(try again.verify().damage.contains { $0.contains("head_log") })
  }

  @Test(
    "a row without which the store would not open is put right by its copy, and named",
    .enabled(if: hasProgram),
    arguments: [
      "UPDATE properties SET value = x'00' WHERE CAST(name AS TEXT) = 'store'",
      "UPDATE properties SET name = CAST('stose' AS BLOB) WHERE CAST(name AS TEXT) = 'store'",
      "UPDATE properties SET value = x'00' WHERE CAST(name AS TEXT) = 'replica'",
      "UPDATE properties SET value = x'00' WHERE CAST(name AS TEXT) = 'identity'",
      "UPDATE properties SET value = x'00' WHERE CAST(name AS TEXT) = 'replica~'",
      "UPDATE properties SET value = x'00' WHERE CAST(name AS TEXT) = 'essentials'",
      "UPDATE counters SET value = 7 WHERE CAST(name AS TEXT) = 'inode'",
      "UPDATE counters SET value = 7 WHERE CAST(name AS TEXT) = 'inode~'",
      "UPDATE counters SET name = CAST('inose' AS BLOB) WHERE CAST(name AS TEXT) = 'inode'",
      "UPDATE head_log SET map = NULL", "UPDATE head_log SET version = 1",
      "UPDATE head_log SET time = time + 1",
      "UPDATE settings SET value = x'00' WHERE CAST(name AS TEXT) = 'live.cut'",
      "UPDATE settings SET name = CAST('lmve.cut' AS BLOB) WHERE CAST(name AS TEXT) = 'live.cut'",
    ])
  func copies(_ change: String) throws {
    _ = try fill()
    let last: UInt64
    let (before, identity): (Store.State, [String])
    do {
      let store = try Store.open(path: path)
      try store.write { (transaction) throws(StoreError) in
        transaction.set("live.cut", to: Array("12".utf8))
      }
      last = try store.allotInodes()
      before = try store.state()
      identity = [store.replicaID, "\(store.storeID)"]
      #expect(before.mended.isEmpty)
    }
    let changed = try shell("sqlite3 '\(path)/store.sqlite' \"\(change)\"")
    #expect(changed.status == 0, "\(changed.output)")
    do {
      let reader = try Store.open(path: path, mode: .reader)
      #expect(try reader.state().head == before.head && reader.state().headMap == before.headMap)
      #expect(try reader.state().settings == before.settings)
      #expect(try !reader.verify().isSound)
    }
    do {
      let store = try Store.open(path: path)
      let state = try store.state()
      #expect(state.mended.count == 1, "\(state.mended)")
      #expect(try store.verify().damage == state.mended)
      #expect(state.head == before.head && state.headMap == before.headMap)
      #expect(state.settings == before.settings && state.damagedSettings.isEmpty)
      #expect([store.replicaID, "\(store.storeID)"] == identity)
      #expect(try store.allotInodes() > last)
    }
    #expect(try damage() == [])
  }

  @Test("where a row and its copy are damaged the store is refused", .enabled(if: hasProgram))
  func bothCopies() throws {
    _ = try fill()
    for change in [
      "UPDATE properties SET value = x'00'", "UPDATE counters SET value = 7",
      "UPDATE head_log SET version = 1; "
        + "UPDATE properties SET value = x'00' WHERE CAST(name AS TEXT) = 'essentials'",
    ] {
      let copy = try TemporaryDirectory()
      _ = try shell("cp -a '\(path)' '\(copy.file("s"))'")
      let changed = try shell("sqlite3 '\(copy.file("s"))/store.sqlite' \"\(change)\"")
      #expect(changed.status == 0, "\(changed.output)")
      let damage = try damage(copy.file("s"))
      #expect(damage.first?.hasPrefix("refused") == true, "\(change): \(damage)")
    }
  }

  @Test(
    "a program without copies went on: what stood before is not taken for the newest",
    .enabled(if: hasProgram))
  func staleCopies() throws {
    _ = try fill()
    let changed = try shell(
      "sqlite3 '\(path)/store.sqlite' \"INSERT INTO head_log(time, reason) VALUES(1, x'61')\"")
    #expect(changed.status == 0, "\(changed.output)")
    #expect(throws: StoreError.self) { try Store.open(path: path) }
  }

  @Test("what follows from the versions is compared with them", .enabled(if: hasProgram))
  func followed() throws {
    _ = try fill()
    for (change, named) in [
      ("INSERT INTO heads VALUES(1)", "heads:"), ("DELETE FROM heads", "heads: what is missing"),
      ("DELETE FROM successors", "successors: what is missing"),
      ("INSERT INTO successors VALUES(2,1)", "successors: 1"),
      ("DELETE FROM line_heads", "line_heads: what is missing"),
      ("INSERT INTO line_heads VALUES(x'61',1)", "line_heads: 1"),
      ("UPDATE versions SET stored_at = stored_at + 1 WHERE number = 2", "versions: the row 2"),
      ("UPDATE versions SET flags = flags + 64 WHERE number = 1", "versions: the row 1"),
      ("UPDATE settings SET name = x'61' WHERE CAST(value AS TEXT) = 'other'", "settings"),
      ("UPDATE counters SET value = value - 5", "counter"),
    ] {
      let copy = try TemporaryDirectory()
      _ = try shell("cp -a '\(path)' '\(copy.file("s"))'")
      let changed = try shell("sqlite3 '\(copy.file("s"))/store.sqlite' \"\(change)\"")
      #expect(changed.status == 0, "\(changed.output)")
      let damage = try damage(copy.file("s"))
      #expect(damage.contains { $0.contains(named) }, "\(change): \(damage)")
    }
  }

  @Test(
    "a store of an earlier format is refused with a sentence, and stays as it is",
    .enabled(if: hasProgram), arguments: [1, 2])
  func earlierFormat(_ format: Int) throws {
    _ = try fill()
    func run(_ sql: String) throws -> String {
      try shell("sqlite3 '\(path)/store.sqlite' '\(sql)'").output
    }
    _ = try run("PRAGMA user_version=\(format)")
    let before = try run(".dump")
    for mode in [AccessMode.reader, .writer] {
      let error = try #require(throws: StoreError.self) {
        _ = try Store.open(path: path, mode: mode)
      }
      #expect(
        error.message == "the store has format \(format) of an earlier program; this program reads "
          + "only format 3")
    }
    #expect(try run(".dump") == before && run("PRAGMA user_version") == "\(format)\n")
  }

  static let hasProgram = (try? shell("command -v sqlite3").status) == 0
}
