import Foundation
import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// A clock that tests set.
final class TestClock: Sendable {
  private let seconds = Mutex<Int64>(1_800_000_000)

  var now: Int64 { seconds.withLock { $0 } }

  func advance(_ count: Int64) { seconds.withLock { $0 += count } }

  func advance(hours: Int64) { advance(hours * 3600) }

  var clock: BundleClock {
    BundleClock(now: { self.now }, boottime: { UInt64(self.now) * 1_000_000_000 })
  }
}

/// A remote, in memory or on a server, that counts requests and bytes, keeps the times of a test's clock, and fails at
/// the request that it is told to.
final class WatchedStore: ObjectStore {
  struct Counts: Sendable {
    var requests = 0
    var put: UInt64 = 0
    var got: UInt64 = 0
    var puts: [String] = []
    var deletes: [String] = []
  }

  /// The request that fails, counted from 0.
  struct Kill: Sendable {
    var request: Int
    /// The request is done, and its answer is lost.
    var isAnswerLost: Bool
  }

  private struct State: Sendable {
    var counts = Counts()
    var kill: Kill?
    var times: [ObjectName: Int64] = [:]
    var hidden: Set<ObjectName> = []
    var withheld: Set<ObjectName> = []
    var tellsClock = false
    var swallows = false
    var largest = UInt64.max
    var refused = 0
    var garbled = 0
  }

  let base: any ObjectStore
  private let clock: TestClock
  private let tellsTimes: Bool
  private let state = Mutex(State())

  init(
    _ clock: TestClock, tellsTimes: Bool = true,
    over base: any ObjectStore = MemoryStore(control: TransferControl())
  ) {
    self.base = base
    self.clock = clock
    self.tellsTimes = tellsTimes
  }

  var capabilities: StoreCapabilities { base.capabilities }
  var counts: Counts { state.withLock { $0.counts } }
  /// The number of PUTs that were too long.
  var refused: Int { state.withLock { $0.refused } }
  var serverTime: Int64? { state.withLock { $0.tellsClock } ? clock.now : nil }

  func tellClock() { state.withLock { $0.tellsClock = true } }

  /// True if PUTs are answered and store nothing, as behind a login page.
  func swallow(_ swallows: Bool) { state.withLock { $0.swallows = swallows } }

  /// Refuses longer objects from now on.
  func bound(_ length: UInt64) {
    state.withLock {
      $0.largest = length
      $0.refused = 0
    }
  }

  /// Changes bytes of the next objects on their way to the reader, except the last ones.
  func garble(_ count: Int) { state.withLock { $0.garbled = count } }

  func reset(kill: Kill? = nil) {
    state.withLock {
      $0.counts = Counts()
      $0.kill = kill
    }
  }

  /// Keeps objects out of lists.
  func hide(_ names: [String]) {
    state.withLock { $0.hidden = Set(names.compactMap { ObjectName($0) }) }
  }

  /// Lists objects, and answers that they are not there.
  func withhold(_ names: [String]) {
    state.withLock { $0.withheld = Set(names.compactMap { ObjectName("bundles/\($0)") }) }
  }

  private func request<Result>(
    _ body: () throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    let kill = state.withLock { state -> Kill? in
      defer { state.counts.requests += 1 }
      guard let kill = state.kill, kill.request == state.counts.requests else { return nil }
      return kill
    }
    guard let kill else { return try body() }
    if kill.isAnswerLost { _ = try body() }
    throw .cancelled
  }

  func prepare(_ folders: [String]) throws(RemoteError) {
    try request { () throws(RemoteError) in try base.prepare(folders) }
  }

  func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    try request { () throws(RemoteError) in
      var page = try base.list(prefix, after: after, page: page)
      state.withLock { state in
        page.objects.removeAll { state.hidden.contains($0.name) }
        for index in page.objects.indices {
          page.objects[index].modified = tellsTimes ? state.times[page.objects[index].name] : nil
        }
      }
      return page
    }
  }

  func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    try request { () throws(RemoteError) in
      if state.withLock({ $0.withheld.contains(name) }) { throw RemoteError(.absent, "not there") }
      let isGarbled = state.withLock { state in
        state.garbled -= 1
        return state.garbled >= 0
      }
      let count = try base.get(name, range: range) { (piece) throws(RemoteError) in
        guard isGarbled else { return try sink(piece) }
        var bytes = Array(piece)
        for index in stride(from: 0, to: bytes.count - 100, by: 50) { bytes[index] ^= 1 }
        let garbled = bytes
        return try garbled.withPiece { (raw) throws(RemoteError) in try sink(raw) }
      }
      state.withLock { $0.counts.got += count }
      return count
    }
  }

  func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    try request { () throws(RemoteError) in
      guard body.length <= state.withLock({ $0.largest }) else {
        state.withLock { $0.refused += 1 }
        throw RemoteError(.tooLarge, "too large")
      }
      if state.withLock({ $0.swallows }) { return }
      try base.put(name, body)
      state.withLock { state in
        state.counts.put += body.length
        state.counts.puts.append(name.last)
        state.times[name] = clock.now
      }
    }
  }

  func delete(_ name: ObjectName) throws(RemoteError) {
    try request { () throws(RemoteError) in
      try base.delete(name)
      state.withLock { $0.counts.deletes.append(name.last) }
    }
  }

  func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    throw RemoteError(.unsupported, "not here")
  }

  // MARK: Looking

  var names: [String] {
    get throws {
      try base.all(ObjectPrefix(folder: "bundles").unwrapped).map(\.name.last).sorted()
    }
  }

  func bytes(_ name: String) throws -> [UInt8] {
    try base.bytes(of: ObjectName("bundles/\(name)").unwrapped, atMost: 1 << 30)
  }

  func replace(_ name: String, by bytes: [UInt8]) throws {
    try base.put(ObjectName("bundles/\(name)").unwrapped, ObjectBody(bytes))
  }

  func remove(_ name: String) throws {
    try base.delete(ObjectName("bundles/\(name)").unwrapped)
  }
}

extension Optional {
  var unwrapped: Wrapped { get throws { try require(self) } }
}

/// A remote of bundles, a clock, and stores that meet there.
struct RemoteWorld {
  let directory: TemporaryDirectory
  let clock = TestClock()
  let objects: WatchedStore

  init(
    tellsTimes: Bool = true, over base: any ObjectStore = MemoryStore(control: TransferControl())
  ) throws {
    directory = try TemporaryDirectory()
    objects = WatchedStore(clock, tellsTimes: tellsTimes, over: base)
  }

  /// A server of `mount-scripts/servers`.
  struct Server: Sendable {
    var name: String
    var address: String
    var user: String
    var password: String

    var isWebDAV: Bool { address.contains("webdav://") }

    /// Opens an empty place there.
    func open() throws -> any ObjectStore {
      let secrets = try TemporaryDirectory()
      let (first, second) = isWebDAV ? ("user", "password") : ("access_key", "secret_key")
      try FileSystem.replace(
        secrets.file(name), with: Array("\(first)=\(user)\n\(second)=\(password)\n".utf8),
        permissions: 0o600)
      let store = try RemoteConnector(
        RemoteAddress("\(address)/\(SystemRandom.hex(8))"),
        credentials: CredentialSources(peer: name, secrets: secrets.path) { _ in nil },
        control: TransferControl(), scratch: ".llvs-outgoing-test"
      ).open()
      try store.prepare([])
      return store
    }
  }

  /// The servers that `LLVS_TEST_SERVERS` names.
  static let servers: [Server] = {
    guard let path = SystemProcess.environment("LLVS_TEST_SERVERS"),
      let bytes = try? FileSystem.read(path, atMost: 1 << 16)
    else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 4 else { return nil }
      return Server(name: words[0], address: words[1], user: words[2], password: words[3])
    }
  }()

  /// The server of S3; nil without one.
  static let server = servers.first { $0.name == "moto" }

  /// A world at an empty place on that server.
  static func onServer() throws -> RemoteWorld { try RemoteWorld(over: server.unwrapped.open()) }

  func store(_ name: String) throws -> Store {
    try Store.open(path: directory.file(name), mode: .writer, create: true)
  }

  func remote(_ change: (inout BundleRemote.Options) -> Void = { _ in }) -> BundleRemote {
    var options = BundleRemote.Options(place: "memory", isDirectory: false)
    options.clock = clock.clock
    // Bundles of tests are small.
    options.send.leastLength = 0
    change(&options)
    return BundleRemote(objects, options)
  }

  @discardableResult
  func send(_ store: Store) throws -> ExchangeReport {
    try remote().send(from: store, ExchangeControl())
  }

  @discardableResult
  func retrieve(_ store: Store) throws -> ExchangeReport {
    try remote().retrieve(into: store, ExchangeControl())
  }

  /// Makes a version of values in a store, on the newest.
  @discardableResult
  func make(
    _ store: Store, _ values: [String: [UInt8]], removing: [String] = []
  ) throws -> Version {
    try store.makeVersion(
      basedOnPredecessor: try store.mostRecentHead?.id,
      updating: values.sorted { $0.key < $1.key }.map { Value(id: .init($0.key), data: $0.value) },
      removing: removing.map { .init($0) })
  }

  /// Returns the content digests of all versions of a store by their ids.
  static func content(_ store: Store) throws -> [Version.ID: Digest] {
    var found: [Version.ID: Digest] = [:]
    var last: String?
    while true {
      let page = try store.versions(afterName: last, limit: 512)
      guard let end = page.last else { return found }
      last = end.name
      for record in page { found[record.id] = record.map.digest }
    }
  }
}
