import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport
import Testing

/// The behaviour that every remote must show.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ConformanceTests {
  @Test("what is put is listed with its length and comes back", arguments: StoreUnderTest.all)
  func putListGet(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    try place.expectList([:])
    let bytes = [UInt8].random(seed: 1, 5000)
    try place.put("one", bytes)
    try place.expectList(["one": 5000])
    #expect(try place.bytes("one") == bytes)
    #expect(place.control.sent >= 5000 || kind.name.hasPrefix("memory"))
    #expect(place.control.received >= 5000 || kind.name.hasPrefix("memory"))
  }

  @Test(
    "a put over a name replaces what stands there, longer or shorter", arguments: StoreUnderTest.all
  )
  func overwriting(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    for count in [1000, 3, 20_000] {
      let bytes = [UInt8].random(seed: UInt64(count), count)
      try place.put("same", bytes)
      #expect(try place.bytes("same") == bytes)
      try place.expectList(["same": UInt64(count)])
    }
  }

  @Test("lists show one folder, by its beginning and after a name", arguments: StoreUnderTest.all)
  func prefixes(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    try place.store.prepare(["\(place.folder)/below", "\(place.folder)/a"])
    for last in ["a-1", "a-2", "ab", "b-1", "below/a-3", "a/deep"] { try place.put(last, [1, 2]) }
    try place.expectList(["a-1": 2, "a-2": 2, "ab": 2, "b-1": 2])
    try place.expectList(["a-1": 2, "a-2": 2], "a-")
    try place.expectList(["a-1": 2, "a-2": 2, "ab": 2], "a")
    try place.expectList(["below/a-3": 2], "below/")
    try place.expectList(["a/deep": 2], "a/de")
    try place.expectList([:], "c")
    try place.expectList([:], "nowhere/")
    try place.expectList(["ab": 2, "b-1": 2], after: "a-2")
    try place.expectList([:], after: "zzz")
    try place.expectList(["a-2": 2], "a-", after: "a-1")
  }

  @Test("a long list comes in pages, whole and once", arguments: StoreUnderTest.all)
  func pages(_ kind: StoreUnderTest) throws {
    let place = try Place(kind, pageLength: 7)
    var expected: [String: UInt64] = [:]
    for index in 0..<30 {
      expected["object-\(index)"] = UInt64(index + 1)
      try place.put("object-\(index)", [UInt8](repeating: 7, count: index + 1))
    }
    try place.expectList(expected)
    try place.expectList(expected.filter { $0.key.hasPrefix("object-1") }, "object-1")
    try place.expectList(expected.filter { $0.key > "object-2" }, after: "object-2")
  }

  static let oddNames = [
    "with space", "plus+and=equals", "100%", "%20", "%2F", "a&b;c", "question?mark", "hash#tag",
    "quote'\"double", "<angle>", "back\\slash", "colon:at@", "comma,semi;",
    "(paren)[bracket]{brace}",
    "tilde~star*", "$dollar!", "caret^tick`pipe|", ".hidden", "-dash", "caf\u{E9}", "cafe\u{301}",
    "日本語", "emoji-\u{1F600}", "UPPER", "upper", "trailing.dot.", "a..b",
    "W-0000000000000017-5000-0123456789abcdef.bundle", String(repeating: "n", count: 200),
  ]

  @Test("a name of any letters is one object, or is refused", arguments: StoreUnderTest.all)
  func names(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    var expected: [String: UInt64] = [:]
    for (index, last) in Self.oddNames.enumerated() {
      guard !kind.refuses(last) else { continue }
      let bytes = Array("\(index) \(last)".utf8)
      do {
        try place.put(last, bytes)
      } catch {
        Issue.record(error, "\(last)")
        continue
      }
      expected[last] = UInt64(bytes.count)
      #expect(try place.bytes(last) == bytes, "\(last)")
    }
    // Two that differ in how an accent is encoded are two objects, so each is looked for by its bytes.
    let found = try place.store.all(try place.prefix())
    let names = Self.oddNames.filter { !kind.refuses($0) && !kind.hides($0) }
    #expect(found.count == names.count || kind.lists > 1)
    for (index, last) in Self.oddNames.enumerated() where !kind.refuses(last) {
      let name = try place.name(last)
      let length = UInt64("\(index) \(last)".utf8.count)
      var seen: [ListedObject] = []
      for _ in 0..<kind.lists where seen.isEmpty {
        seen = try place.store.all(try #require(ObjectPrefix(name.text))).filter { $0.name == name }
      }
      #expect(seen.map(\.length) == (kind.hides(last) ? [] : [length]), "\(last)")
      try place.store.delete(name)
      place.expect(.absent, last) { _ = try place.bytes(last) }
    }
    try place.expectList([:])
  }

  @Test("an object may be empty, or large and from a part of a file", arguments: StoreUnderTest.all)
  func sizes(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    if place.store.capabilities.contains(.emptyObjects) {
      try place.put("empty", [])
      #expect(try place.bytes("empty") == [])
      #expect(try place.bytes("empty", 0..<10) == [])
      try place.expectList(["empty": 0])
      try place.store.delete(try place.name("empty"))
    } else {
      place.expect(.invalid) { try place.put("empty", []) }
    }
    let bytes = [UInt8].random(seed: 3, 9_000_001)
    let directory = try TemporaryDirectory()
    let file = try File(directory.file("large"), [.readWrite, .create])
    try file.write([1, 2, 3], at: 0)
    try file.write(bytes, at: 3)
    try file.write([4, 5], at: 3 + UInt64(bytes.count))
    let body = ObjectBody(
      file, from: 3, length: UInt64(bytes.count), hash: SHA256Digest.of(bytes))
    try place.store.put(try place.name("large"), body)
    try place.expectList(["large": 9_000_001])
    #expect(try place.bytes("large") == bytes)
    #expect(try place.bytes("large", 8_999_990..<9_000_001) == Array(bytes.suffix(11)))
  }

  @Test("a range gives these bytes, fewer where the object ends", arguments: StoreUnderTest.all)
  func ranges(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    let bytes = [UInt8].random(seed: 4, 300_000)
    try place.put("object", bytes)
    for range in [0..<1, 0..<300_000, 5..<6, 100_000..<299_999, 299_999..<300_000]
      as [Range<UInt64>]
    {
      let expected = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
      #expect(try place.bytes("object", range) == expected, "\(range)")
    }
    #expect(try place.bytes("object", 299_000..<400_000) == Array(bytes.suffix(1000)))
    #expect(try place.bytes("object", 300_000..<300_010) == [])
    #expect(try place.bytes("object", 1 << 40..<1 << 41) == [])
    #expect(try place.bytes("object", 7..<7) == [])
    // A reader that has enough stops the get.
    var taken = 0
    let name = try place.name("object")
    try place.store.get(name, range: nil) { (piece) throws(RemoteError) in
      taken += piece.count
      return false
    }
    #expect(taken > 0)
    // The connection that was left in the middle is not one that answers the next request.
    #expect(try place.bytes("object") == bytes)
  }

  @Test("what is not there is told so, and may be deleted", arguments: StoreUnderTest.all)
  func absence(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    place.expect(.absent) { _ = try place.bytes("nothing") }
    place.expect(.absent) { _ = try place.bytes("no/folder/nothing") }
    place.expect(.absent) { _ = try place.bytes("nothing", 5..<10) }
    try place.store.delete(try place.name("nothing"))
    try place.store.delete(try place.name("no/folder/nothing"))
    try place.put("object", [1])
    try place.store.delete(try place.name("object"))
    try place.store.delete(try place.name("object"))
    place.expect(.absent) { _ = try place.bytes("object") }
    try place.expectList([:])
  }

  @Test("bytes of another length or hash are not put", arguments: StoreUnderTest.all)
  func mismatches(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    let bytes = [UInt8].random(seed: 5, 700_000)
    let other = SHA256Digest.of([9])
    let right = SHA256Digest.of(bytes)
    let count = UInt64(bytes.count)
    let wrong: [(String, ObjectBody)] = [
      ("hash", ObjectBody(bytes, length: count, hash: other)),
      ("short", ObjectBody(bytes, length: count + 1, hash: right)),
      ("long", ObjectBody(bytes, length: count - 1, hash: right)),
      ("empty", ObjectBody([], length: 0, hash: other)),
      ("few", ObjectBody([1], length: 0, hash: SHA256Digest.of([]))),
    ]
    for (last, body) in wrong {
      let name = try place.name(last)
      place.expect(.mismatched) { try place.store.put(name, body) }
    }
    let found = try place.listed()
    for (last, body) in wrong {
      guard let length = found[last] else { continue }
      #expect(kind.leavesTornObjects != false, "\(last) was left with \(length) bytes")
      #expect(length < max(1, body.length), "\(last) was left with \(length) bytes")
    }
    // It is not the connection's fault.
    try place.put("right", bytes)
    #expect(try place.bytes("right") == bytes)
  }

  @Test(
    "a put that breaks off leaves what the kind is known to leave", arguments: StoreUnderTest.all)
  func probing(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    let outcome = try open(place)
    if let leaves = kind.leavesTornObjects, kind.lists == 1, !kind.name.hasPrefix("memory that") {
      #expect(outcome.leavesTornObjects == leaves)
      #expect(outcome.movesExclusively == place.store.capabilities.contains(.move))
    }
    try place.expectList([:])
  }

  private func open(_ place: Place) throws -> StoreProbe.Outcome {
    func run(_ store: some ObjectStore) throws -> StoreProbe.Outcome {
      try StoreProbe.run(store, control: place.control, folder: place.folder)
    }
    return try run(place.store)
  }

  @Test("an object moves to a name that is free", arguments: StoreUnderTest.all)
  func moving(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    try place.put("old name", [1, 2, 3])
    try place.store.prepare(["\(place.folder)/to"])
    let (old, new) = (try place.name("old name"), try place.name("to/n\u{E9}w+name"))
    guard place.store.capabilities.contains(.move) else {
      place.expect(.unsupported) { try place.store.move(old, to: new) }
      return
    }
    try place.store.move(old, to: new)
    place.expect(.absent) { _ = try place.bytes("old name") }
    #expect(try place.bytes("to/n\u{E9}w+name") == [1, 2, 3])
    place.expect(.absent) { try place.store.move(try place.name("nothing"), to: old) }
    try place.put("old name", [4, 5])
    place.expect(.exists) { try place.store.move(old, to: new) }
    #expect(try place.bytes("to/n\u{E9}w+name") == [1, 2, 3])
    #expect(try place.bytes("old name") == [4, 5])
  }

  @Test("many threads put, read and delete at once", arguments: StoreUnderTest.all)
  func threads(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    let store = place.store
    let folder = place.folder
    let failures = Mutex<[String]>([])
    var threads: [TestThread] = []
    for thread in 0..<8 {
      threads.append(
        try TestThread {
          for round in 0..<6 {
            do {
              let bytes = [UInt8].random(seed: UInt64(thread * 100 + round), 3000 + round)
              guard let name = ObjectName("\(folder)/\(thread)-\(round)") else { return }
              try store.put(name, ObjectBody(bytes))
              guard try store.bytes(of: name, atMost: 10_000) == bytes else {
                failures.withLock { $0.append("\(name): other bytes") }
                return
              }
              if round % 2 == 1 { try store.delete(name) }
            } catch {
              failures.withLock { $0.append("\(error)") }
            }
          }
        })
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    var expected: [String: UInt64] = [:]
    for thread in 0..<8 {
      for round in [0, 2, 4] { expected["\(thread)-\(round)"] = UInt64(3000 + round) }
    }
    try place.expectList(expected)
  }

  @Test("once it is told to stop, nothing more is done", arguments: StoreUnderTest.all)
  func cancelling(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    try place.put("object", [1])
    place.control.cancel()
    let name = try place.name("object")
    place.expect(.cancelled) { _ = try place.bytes("object") }
    place.expect(.cancelled) { try place.put("other", [1]) }
    place.expect(.cancelled) { _ = try place.listed() }
    place.expect(.cancelled) { try place.store.delete(name) }
    place.expect(.cancelled) { try place.store.prepare([place.folder]) }
  }

  @Test("a get that its reader stops ends within a second", arguments: StoreUnderTest.all)
  func stoppingInTheMiddle(_ kind: StoreUnderTest) throws {
    let place = try Place(kind)
    try place.put("object", [UInt8].random(seed: 8, 3_000_000))
    let name = try place.name("object")
    var begun: UInt64 = 0
    place.expect(.cancelled) {
      try place.store.get(name, range: nil) { (_) throws(RemoteError) in
        begun = SystemClock.monotonic()
        place.control.cancel()
        try place.control.check()
        return true
      }
    }
    #expect(SystemClock.monotonic() - begun < 1_000_000_000)
  }
}
