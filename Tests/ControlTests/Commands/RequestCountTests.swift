import LLVSCore
import LLVSExchange
import ObjectStoreSupport
import ObjectStores
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport

/// The requests that commands make of a bucket, where each costs a round trip.
@Suite("Requests of commands", .timeLimit(.minutes(2)))
struct RequestCountTests {
  private let bucket: BucketServer

  init() throws { bucket = try BucketServer() }

  private func space() throws -> ControlWorkspace { try space(at: bucket) }

  private func space(at bucket: BucketServer) throws -> ControlWorkspace {
    let space = try ControlWorkspace()
    try FileSystem.makeDirectory(space.store.secretsDirectory, permissions: 0o700)
    try FileSystem.replace(
      "\(space.store.secretsDirectory)/away", with: Array("access_key=a\nsecret_key=b\n".utf8),
      permissions: 0o600)
    try space.service.setPeer("away", address: Array(bucket.address.utf8))
    return space
  }

  /// Runs a command and returns its requests, without the rest of bundles' names.
  private func requests(of line: String, _ space: ControlWorkspace) throws -> [String] {
    let before = bucket.requests().count
    try space.run(line)
    return bucket.requests(after: before).map { request in
      request.hasSuffix(".bundle")
        ? String(request.prefix { $0 != "/" }) + "/BUNDLE" : request
    }
  }

  private func expect(
    _ line: String, _ space: ControlWorkspace, _ expected: [String],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let made = try requests(of: line, space)
    #expect(made == expected, sourceLocation: location)
  }

  private let look = "LIST versions/"
  private let list = "LIST bundles/"
  private let put = "PUT bundles/BUNDLE"
  private let get = "GET bundles/BUNDLE"

  /// The first send to a remote looks whether it is encrypted.
  private let keys = "LIST keys/"

  @Test("a sync lists once, and puts what is new; looking for the original's files is noted")
  func sync() throws {
    defer { bucket.stop() }
    let (a, b) = (try space(), try space())
    try a.write("one", "first")
    // Another store may have begun at the empty place.
    try expect("sync", a, [look, list, keys, list, put])
    try expect("sync", a, [list])
    try a.write("one", "second")
    try expect("sync", a, [list, put])
    try expect("sync", a, [list])
    try expect("retrieve", a, [list])
    try expect("send", a, [list])
    try expect("retrieve", b, [look, list, get, get])
    try expect("retrieve", b, [list])
    try b.run("merge")
    #expect(try b.read("one") == "second")
  }

  @Test("a sync with a list of several pages asks for each page once")
  func pages() throws {
    defer { bucket.stop() }
    let paged = try BucketServer(pageLength: 3)
    defer { paged.stop() }
    let a = try space(at: paged)
    for number in 0..<5 {
      try a.write("one", "text \(number)")
      try a.run("sync")
    }
    for line in ["sync", "retrieve", "send", "sync"] {
      let before = paged.requests().count
      try a.run(line)
      #expect(paged.requests(after: before) == [list, list])
    }
  }

  @Test("bytes that only another writer's bundle holds are listed again after the last PUT")
  func relied() throws {
    defer { bucket.stop() }
    let (a, b) = (try space(), try space())
    // Shorter bundles are relied on by their writer only.
    var random = SeededRandom(seed: 1)
    let text = String(decoding: random.bytes(150_000).map { 0x21 + $0 % 90 }, as: UTF8.self)
    try a.write("one", text)
    try a.run("sync")
    try b.run("sync")
    try b.write("two", text)
    try expect("sync", b, [list, keys, put, list])
  }

  @Test("another command's PUT between two steps makes the next step list anew")
  func between() throws {
    defer { bucket.stop() }
    let a = try space()
    try a.write("one", "first")
    try a.run("sync")
    let layout = try PeerOpener.standard.open(
      PeerAddress(Array(bucket.address.utf8)),
      PeerOpening(name: "away", store: a.store, transfer: .init()))
    _ = try layout.retrieve(into: a.store, .init())
    try a.write("one", "second")
    try a.run("sync")
    let before = bucket.requests().count
    let report = try layout.send(from: a.store, .init())
    #expect(report.sent.isEmpty)
    #expect(bucket.requests(after: before) == ["LIST bundles/"])
    #expect(bucket.keys.count == 2)
  }

  @Test(
    "the original's files are found beside bundles once the note is an hour old, and at a new peer")
  func both() throws {
    defer { bucket.stop() }
    let a = try space()
    try a.write("one", "first")
    try a.run("sync")
    bucket.put("versions/other", Array("{}".utf8))
    let opening = PeerOpening(name: "away", store: a.store, transfer: .init())
    let address = try PeerAddress(Array(bucket.address.utf8))
    #expect(try PeerOpener.standard.open(address, opening) is BundleRemote)
    let old = SystemClock.realtime().seconds - 3601
    a.store.note("peer.without-files \(bucket.address)", Array("\(old)".utf8))
    #expect(try PeerOpener.standard.open(address, opening) is SeveralLayouts)
    LayoutProbe(of: bucket.address, a.store).noteNone()
    var new = opening
    new.isNew = true
    #expect(try PeerOpener.standard.open(address, new) is SeveralLayouts)
  }
}
