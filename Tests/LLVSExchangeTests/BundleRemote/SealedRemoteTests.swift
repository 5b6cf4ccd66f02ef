import Foundation
import ObjectStoreSupport
import ObjectStores
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// Stores that meet at an encrypted remote, and the keys of it.
@Suite("Exchanges through an encrypted remote", .timeLimit(.minutes(3)))
struct SealedRemoteTests {
  private static let weak = KeyFile.Strength(passes: 1, kibibytes: 8192)
  private let world: RemoteWorld

  init() throws { world = try RemoteWorld() }

  private func ring(_ store: Store) -> KeyRing {
    KeyRing(world.objects, peer: "away", place: "memory", store: store)
  }

  private func remote(_ store: Store) throws -> BundleRemote {
    let keys = try KeyRing.held(peer: "away", place: "memory", store: store)
    return world.remote { $0.keys = keys }
  }

  @Test("two stores with the passphrase exchange, and the remote learns no name and no byte")
  func exchange() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    try ring(a).create(
      label: "laptop", passphrase: Array("first words".utf8), strength: Self.weak)
    var random = SeededRandom(seed: 1)
    let photo = random.bytes(300_000)
    let text = Array("what nobody else may read, said once more".utf8)
    try world.make(a, ["diary.txt": text + text + text + text, "photo": photo])
    #expect(try remote(a).send(from: a, ExchangeControl()).sent.count == 1)
    let stored = try world.objects.names.flatMap { try world.objects.bytes($0) }
    #expect(!String(decoding: stored, as: UTF8.self).contains("diary"))
    let chunk = Array(photo[1000..<1032])
    #expect(Data(stored).range(of: Data(chunk)) == nil)
    // Without a key nothing is taken, and nothing is said to be damaged.
    let without = try remote(b).retrieve(into: b, ExchangeControl())
    #expect(without.taken.isEmpty && without.refused.count == 1)
    #expect(without.refused.first?.reason.contains("key") == true)
    #expect(throws: StoreError.self) { try ring(b).unlock(passphrase: Array("other".utf8)) }
    #expect(try ring(b).unlock(passphrase: Array("first words".utf8)).keys.count == 1)
    #expect(try remote(b).retrieve(into: b, ExchangeControl()).taken.count == 1)
    #expect(try RemoteWorld.content(b) == RemoteWorld.content(a))
    // The bytes are shared all the same.
    try world.make(b, ["moved": photo], removing: ["photo"])
    world.objects.reset()
    _ = try remote(b).send(from: b, ExchangeControl())
    #expect(world.objects.counts.put < 3000)
    #expect(try remote(a).retrieve(into: a, ExchangeControl()).taken.count == 1)
    // What is held is for the owner alone.
    let mode = try FileSystem.status(a.path + "/secrets/away:keys", following: false).mode
    #expect(mode & 0o777 == 0o600)
  }

  @Test("plain bundles are refused at an encrypted remote, and count for nothing")
  func plain() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    try world.make(b, ["b": [UInt8](repeating: 1, count: 500)])
    try world.send(b)
    try ring(a).create(label: "a", passphrase: [1, 2], strength: Self.weak)
    let report = try remote(a).retrieve(into: a, ExchangeControl())
    #expect(report.taken.isEmpty && report.refused.count == 1)
    try world.make(a, ["a": [UInt8](repeating: 1, count: 500)])
    _ = try remote(a).send(from: a, ExchangeControl())
    // The other way round as well; and nothing plain is sent by who does not know.
    let other = try world.store("c")
    #expect(throws: StoreError.self) { try world.retrieve(other) }
    try world.make(other, ["c": [1]])
    let before = try world.objects.names
    #expect(throws: StoreError.self) { try world.send(other) }
    #expect(try world.objects.names == before)
    // Also where the key files are gone.
    for name in try ring(a).files() {
      try world.objects.delete(try #require(ObjectName("keys/\(name.text)")))
    }
    let left = try world.objects.names
    #expect(throws: StoreError.self) { try world.send(other) }
    #expect(try world.objects.names == left)
  }

  @Test("a second passphrase opens the same key, a removed one does not, and one is always left")
  func passphrases() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    let key = try ring(a).create(label: "one", passphrase: Array("1".utf8), strength: Self.weak)
    #expect(throws: StoreError.self) { try ring(a).remove(label: "one") }
    try ring(a).add(label: "two", passphrase: Array("2".utf8), strength: Self.weak)
    #expect(try ring(a).files().map(\.label) == ["one", "two"])
    try ring(a).remove(label: "one")
    #expect(throws: StoreError.self) { try ring(b).unlock(passphrase: Array("1".utf8)) }
    #expect(try ring(b).unlock(passphrase: Array("2".utf8)).keys == [key])
    let error = #expect(throws: StoreError.self) { try ring(a).remove(label: "none") }
    #expect("\(try #require(error))".contains("passphrase none"))
    // A torn file is none.
    let name = try #require(try ring(a).files().first)
    let object = try #require(ObjectName("keys/\(name.text)"))
    let bytes = try world.objects.base.bytes(of: object, atMost: 1000)
    for harmed in [Array(bytes.dropLast()), bytes.dropLast() + [bytes[bytes.count - 1] ^ 4]] {
      try world.objects.base.put(object, ObjectBody(Array(harmed)))
      let error = #expect(throws: StoreError.self) {
        try ring(b).unlock(passphrase: Array("2".utf8))
      }
      let words = try #require(error).message
      #expect(words.contains("keys/\(name.text) is damaged") && !words.contains("wrong"))
    }
    try world.objects.base.put(object, ObjectBody(Array(bytes.dropLast())))
    #expect(try ring(a).files().isEmpty)
  }

  @Test("a passphrase that another store removed does not return with lost key files")
  func removed() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    try ring(a).create(label: "one", passphrase: [1], strength: Self.weak)
    _ = try ring(b).unlock(passphrase: [1])
    try ring(b).add(label: "two", passphrase: [2], strength: Self.weak)
    try ring(b).remove(label: "one")
    for store in [a, b] {
      let (restored, faults) = try ring(store).check("away", isRestoring: true)
      #expect(restored == 0 && faults.isEmpty)
    }
    for name in try ring(a).files() {
      try world.objects.base.delete(try #require(ObjectName("keys/\(name.text)")))
    }
    let (restored, faults) = try ring(a).check("away", isRestoring: true)
    #expect(restored == 0 && faults.first?.contains("llvs key add away") == true)
    #expect(try ring(b).check("away").faults.first?.contains("puts back") == true)
    #expect(try ring(b).check("away", isRestoring: true) == (1, []))
    #expect(try ring(a).files().map(\.label) == ["two"])
  }

  @Test("a file of keys that others may read is not used")
  func readable() throws {
    let a = try world.store("a")
    try ring(a).create(label: "one", passphrase: [1], strength: Self.weak)
    let path = a.path + "/secrets/away:keys"
    try FileSystem.setMode(Array(path.utf8), 0o644)
    #expect(throws: StoreError.self) { try KeyRing.held(peer: "away", place: "memory", store: a) }
  }

  @Test("after another key was made new bundles are encrypted with it, and old ones still open")
  func rotate() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    try ring(a).create(label: "one", passphrase: [1], strength: Self.weak)
    try world.make(a, ["k": [UInt8](repeating: 3, count: 900)])
    _ = try remote(a).send(from: a, ExchangeControl())
    let second = try ring(a).create(label: "two", passphrase: [1], strength: Self.weak)
    #expect(try KeyRing.held(peer: "away", place: "memory", store: a).keys.first == second)
    try world.make(a, ["l": [1]])
    _ = try remote(a).send(from: a, ExchangeControl())
    #expect(try ring(b).unlock(passphrase: [1]).keys.count == 2)
    #expect(try remote(b).retrieve(into: b, ExchangeControl()).taken.count == 2)
  }

  @Test("a store that does not hold the newest key sends nothing, and shares bytes once it has it")
  func oldKey() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 2)
    let photo = random.bytes(300_000)
    try ring(a).create(label: "one", passphrase: [1], strength: Self.weak)
    try world.make(a, ["photo": photo])
    _ = try remote(a).send(from: a, ExchangeControl())
    _ = try ring(b).unlock(passphrase: [1])
    _ = try remote(b).retrieve(into: b, ExchangeControl())
    try ring(a).rotate(label: "one", passphrase: [2], strength: Self.weak)
    try world.make(a, ["l": [1]])
    _ = try remote(a).send(from: a, ExchangeControl())
    #expect(try remote(b).retrieve(into: b, ExchangeControl()).refused.count == 1)
    // Nothing is to be sent, so nothing is wrong.
    #expect(try remote(b).send(from: b, ExchangeControl()).sent.isEmpty)
    try world.make(b, ["moved": photo], removing: ["photo"])
    world.objects.reset()
    #expect(throws: StoreError.self) { try remote(b).send(from: b, ExchangeControl()) }
    #expect(world.objects.counts.puts.isEmpty)
    // If it makes another key, or removes a passphrase, that key's file stays.
    try ring(b).rotate(label: "one", passphrase: [3], strength: Self.weak)
    try ring(b).add(label: "two", passphrase: [1], strength: Self.weak)
    #expect(throws: StoreError.self) { try ring(b).remove(label: "one") }
    _ = try ring(b).unlock(passphrase: [2])
    #expect(try remote(b).send(from: b, ExchangeControl()).sent.count == 1)
    #expect(world.objects.counts.put < 3000)
  }
}
