import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport
import Testing

/// Faults of servers, and their effect.
@Suite(.timeLimit(.minutes(1)))
struct HTTPFaultTests {
  private let name: ObjectName
  private let bytes = [UInt8].random(seed: 12, 400_000)

  init() throws { name = try #require(ObjectName("folder/object")) }

  @Test(
    "a server that is busy is asked again, and left alone as long as it says",
    arguments: HTTPKind.all)
  func busy(_ kind: HTTPKind) throws {
    for status in [408, 423, 425, 429, 500, 502, 503, 504] {
      let server = try FakeServer { [bytes] request, number in
        number < 3 ? .init(status, [("Retry-After", "0")]) : .init(200, [], bytes)
      }
      defer { server.stop() }
      #expect(try kind.open(server).bytes(of: name, atMost: 1 << 20) == bytes, "\(status)")
      #expect(server.seen.count == 3)
    }
    let server = try FakeServer { _, number in
      number == 1 ? .init(503, [("Retry-After", "1")]) : .init(200, [], [1])
    }
    defer { server.stop() }
    let begun = SystemClock.monotonic()
    #expect(try kind.open(server).bytes(of: name, atMost: 9) == [1])
    #expect(SystemClock.monotonic() - begun >= 1_000_000_000)
  }

  @Test("what a server refuses is not asked again", arguments: HTTPKind.all)
  func refused(_ kind: HTTPKind) throws {
    let kinds: [Int: RemoteError.Kind] = [
      400: .invalid, 401: .denied, 403: .denied, 404: .absent, 412: .exists, 413: .tooLarge,
      507: .noSpace, 501: .unsupported, 302: .unreachable,
    ]
    for (status, expected) in kinds {
      let server = try FakeServer { _, _ in
        .init(status, [("Location", "https://elsewhere.example/x")], text: "no")
      }
      defer { server.stop() }
      let error = #expect(throws: RemoteError.self) {
        try kind.open(server).bytes(of: name, atMost: 9)
      }
      #expect(error?.kind == expected, "\(status)")
      #expect(error?.status == status)
      #expect(server.seen.count == 1, "\(status)")
    }
  }

  @Test(
    "a connection that breaks in an answer is taken up behind the bytes that came",
    arguments: HTTPKind.all)
  func torn(_ kind: HTTPKind) throws {
    let server = try FakeServer { [bytes] request, number in
      let text = request.headers["range"]?.split(separator: "=").last?.split(separator: "-").first
      let start = text.flatMap { Int($0) } ?? 0
      var answer = FakeServer.Answer(start == 0 ? 200 : 206, [], Array(bytes[start...]))
      if start > 0 {
        answer.headers = [("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")]
      }
      if number < 4 { answer.cut = 100_000 }
      return answer
    }
    defer { server.stop() }
    #expect(try kind.open(server).bytes(of: name, atMost: 1 << 20) == bytes)
    #expect(server.seen.count == 4)
    #expect(server.seen.last?.headers["range"] == "bytes=300000-")
  }

  @Test("a server that sends a byte now and then is given up once", arguments: HTTPKind.all)
  func crawl(_ kind: HTTPKind) throws {
    let server = try FakeServer { [bytes] _, _ in
      var answer = FakeServer.Answer(200, [], Array(bytes.prefix(1000)))
      answer.pace = 100_000_000
      return answer
    }
    defer { server.stop() }
    let error = #expect(throws: RemoteError.self) {
      try kind.open(server).bytes(of: name, atMost: 1 << 20)
    }
    #expect(error?.kind == .stalled)
    #expect(error?.words.contains("less than 1 KiB a minute") == true)
    #expect(server.seen.count == 1)
  }

  @Test("a server that says \"Continue\" without end is given up", arguments: HTTPKind.all)
  func interims(_ kind: HTTPKind) throws {
    for (count, isRead) in [(3, true), (10_000, false)] {
      let server = try FakeServer { _, _ in
        var answer = FakeServer.Answer(200, [], [1])
        answer.interims = count
        return answer
      }
      defer { server.stop() }
      let store = try kind.open(server)
      if isRead {
        #expect(try store.bytes(of: name, atMost: 9) == [1])
      } else {
        let error = #expect(throws: RemoteError.self) { try store.bytes(of: name, atMost: 9) }
        #expect(error?.kind == .malformed)
        #expect(error?.words.contains("without end") == true)
      }
    }
  }

  @Test("a PUT that a login page answers is not taken for sent", arguments: HTTPKind.all)
  func portal(_ kind: HTTPKind) throws {
    for body in ["", "<html>Welcome to the hotel</html>"] {
      let server = try FakeServer { _, _ in
        var answer = FakeServer.Answer(200, [("Content-Type", "text/html")], text: body)
        answer.isUntagged = true
        return answer
      }
      defer { server.stop() }
      let error = #expect(throws: RemoteError.self) {
        try kind.open(server).put(name, ObjectBody(bytes))
      }
      #expect(error?.kind == .unreachable)
      #expect(error?.words.contains("login page") == true)
    }
  }

  @Test("a page or a redirect for a GET or a list is of the network", arguments: HTTPKind.all)
  func portalOfReads(_ kind: HTTPKind) throws {
    let portal = [("Location", "http://portal.example/login"), ("Content-Type", "text/html")]
    for (status, isObject) in [(200, true), (200, false), (302, true), (302, false)] {
      let server = try FakeServer { _, _ in
        .init(status, portal, text: "\n<!DOCTYPE html><p>Please log in")
      }
      defer { server.stop() }
      let store = try kind.open(server)
      let error = #expect(throws: RemoteError.self) {
        _ =
          try isObject
          ? store.bytes(of: name, range: 3..<9, atMost: 6).count
          : store.all(#require(ObjectPrefix(folder: "folder"))).count
      }
      #expect(error?.kind == .unreachable)
      #expect(error?.words.contains("login page") == true, "\(status), \(isObject)")
    }
    // An object that a server takes for a page is none.
    let server = try FakeServer { _, _ in .init(200, portal, text: "{}") }
    defer { server.stop() }
    #expect(try kind.open(server).bytes(of: name, atMost: 2) == Array("{}".utf8))
  }

  @Test("a WebDAV server may answer a PUT with 200 if the object is there then")
  func plainPut() throws {
    for isThere in [true, false] {
      let server = try FakeServer { request, _ in
        request.method == "PUT" ? .init(200) : .init(isThere ? 207 : 404)
      }
      defer { server.stop() }
      let store = try HTTPKind.webDAV.open(server)
      if isThere {
        try store.put(name, ObjectBody(bytes))
      } else {
        #expect(throws: RemoteError.self) { try store.put(name, ObjectBody(bytes)) }
      }
    }
  }

  @Test("a server that begins with a long Retry-After is away at once", arguments: HTTPKind.all)
  func maintenance(_ kind: HTTPKind) throws {
    let server = try FakeServer { _, _ in .init(503, [("Retry-After", "120")]) }
    defer { server.stop() }
    let begun = SystemClock.monotonic()
    let error = #expect(throws: RemoteError.self) {
      try kind.open(server).bytes(of: name, atMost: 9)
    }
    #expect(error?.kind == .unreachable)
    #expect(error?.words.contains("left alone for 120 seconds") == true)
    #expect(server.seen.count == 1)
    #expect(SystemClock.monotonic() - begun < 5_000_000_000)
  }

  @Test("a connection that is closed without an answer is tried again", arguments: HTTPKind.all)
  func closed(_ kind: HTTPKind) throws {
    let server = try FakeServer { request, number in number < 3 ? .closed : .init(201) }
    defer { server.stop() }
    try kind.open(server).put(name, ObjectBody(bytes))
    #expect(server.seen.last?.body == bytes)
  }

  @Test(
    "a server that gives the whole object for a range is read as far as needed",
    arguments: HTTPKind.all)
  func ignoredRange(_ kind: HTTPKind) throws {
    let server = try FakeServer { [bytes] _, _ in .init(200, [], bytes) }
    defer { server.stop() }
    let store = try kind.open(server)
    #expect(
      try store.bytes(of: name, range: 1000..<2000, atMost: 9999) == Array(bytes[1000..<2000]))
    #expect(try store.bytes(of: name, range: 399_990..<500_000, atMost: 9999).count == 10)
    #expect(try store.bytes(of: name, range: 500_000..<500_001, atMost: 9999) == [])
  }

  @Test("a range that is told with a status of 200 is taken as one", arguments: HTTPKind.all)
  func rangeWithWrongStatus(_ kind: HTTPKind) throws {
    let server = try FakeServer { _, _ in
      .init(200, [("Content-Range", "bytes 7-11/100")], [1, 2, 3, 4, 5])
    }
    defer { server.stop() }
    #expect(
      try kind.open(server).bytes(of: name, range: 7..<12, atMost: 99) == [1, 2, 3, 4, 5])
  }

  @Test(
    "another range than was asked for, or a packed answer, is an error", arguments: HTTPKind.all)
  func lies(_ kind: HTTPKind) throws {
    for answer in [
      FakeServer.Answer(206, [("Content-Range", "bytes 5-9/100")], [1, 2, 3, 4, 5]),
      FakeServer.Answer(206, [], [1, 2, 3, 4, 5]),
      FakeServer.Answer(206, [("Content-Range", "bytes x")], [1]),
      FakeServer.Answer(200, [("Content-Encoding", "gzip")], [1]),
    ] {
      let server = try FakeServer { _, _ in answer }
      defer { server.stop() }
      let error = #expect(throws: RemoteError.self) {
        try kind.open(server).bytes(of: name, range: 7..<12, atMost: 99)
      }
      #expect(error?.kind == .malformed)
      #expect(server.seen.count == 1)
    }
  }

  @Test("a server that stalls is given up after the time for that", arguments: HTTPKind.all)
  func stalling(_ kind: HTTPKind) throws {
    let server = try FakeServer { [bytes] _, number in
      var answer = FakeServer.Answer(200, [], bytes)
      answer.stall = number == 1 ? 1000 : nil
      answer.isSilent = number == 2
      return answer
    }
    defer { server.stop() }
    let store = try kind.open(server, attempts: 1)
    for _ in 1...2 {
      let begun = SystemClock.monotonic()
      let error = #expect(throws: RemoteError.self) { try store.bytes(of: name, atMost: 1 << 20) }
      #expect(error?.kind == .stalled)
      #expect(SystemClock.monotonic() - begun >= 1_000_000_000)
      #expect(SystemClock.monotonic() - begun < 4_000_000_000)
    }
    // It is a fault that passes.
    #expect(try store.bytes(of: name, atMost: 1 << 20) == bytes)
  }

  @Test(
    "a server that never answered is asked once, and one that did again", arguments: HTTPKind.all)
  func silent(_ kind: HTTPKind) throws {
    for answers in [0, 1] {
      let server = try FakeServer { [bytes] _, number in
        number <= answers ? .init(200, [], bytes) : .silence
      }
      defer { server.stop() }
      let store = try kind.open(server, attempts: 2)
      for _ in 0..<answers { #expect(try store.bytes(of: name, atMost: 1 << 20) == bytes) }
      let error = #expect(throws: RemoteError.self) { try store.bytes(of: name, atMost: 1 << 20) }
      #expect(error?.kind == .stalled)
      #expect(server.seen.count == (answers == 0 ? 1 : 3))
    }
  }

  @Test("a list of pages without an entry ends, also if each has another next one")
  func emptyPages() throws {
    let server = try FakeServer { _, number in
      .init(
        200, [],
        text: "<ListBucketResult><IsTruncated>true</IsTruncated>"
          + "<NextContinuationToken>\(number)</NextContinuationToken></ListBucketResult>")
    }
    defer { server.stop() }
    let error = #expect(throws: RemoteError.self) {
      try HTTPKind.s3.open(server).all(try #require(ObjectPrefix("folder/")))
    }
    #expect(error?.kind == .malformed)
    #expect(server.seen.count == 256)
  }

  @Test(
    "a request to a server that stalls ends within a second of being told to stop",
    arguments: HTTPKind.all)
  func cancelling(_ kind: HTTPKind) throws {
    let server = try FakeServer { _, _ in .silence }
    defer { server.stop() }
    let calls: [@Sendable (any ObjectStore, ObjectName) throws -> Void] = [
      { _ = try $0.bytes(of: $1, atMost: 9) }, { try $0.put($1, ObjectBody([1, 2])) },
      { try $0.delete($1) }, { store, _ in _ = try store.all(try #require(ObjectPrefix("a/"))) },
      { store, _ in try store.prepare(["a"]) },
    ]
    for call in calls {
      let control = TransferControl()
      let store = try kind.open(server, control: control)
      let told = Mutex<UInt64>(0)
      let thread = try TestThread {
        SystemClock.sleep(nanoseconds: 150_000_000)
        told.withLock { $0 = SystemClock.monotonic() }
        control.cancel()
      }
      let error = #expect(throws: RemoteError.self) { try call(store, name) }
      #expect(error?.kind == .cancelled)
      #expect(SystemClock.monotonic() - told.withLock { $0 } < 1_000_000_000)
      thread.join()
    }
  }

  @Test("a host that takes no connection is given up at once when it is told to stop")
  func connecting() throws {
    // RFC 5737: an address for documentation, which no host has.
    let address = try RemoteAddress("s3+http://192.0.2.1/bucket")
    let control = TransferControl()
    let thread = try TestThread {
      SystemClock.sleep(nanoseconds: 300_000_000)
      control.cancel()
    }
    let sources = CredentialSources(peer: "p", secrets: nil) { $0.hasPrefix("AWS_") ? "x" : nil }
    let store = try RemoteConnector(
      address, credentials: sources, control: control, scratch: ".scratch"
    ).open()
    let begun = SystemClock.monotonic()
    #expect(throws: RemoteError.self) { try store.bytes(of: name, atMost: 1) }
    #expect(SystemClock.monotonic() - begun < 1_300_000_000)
    thread.join()
  }

  @Test(
    "a list without an end, or that is none, is an error and not memory", arguments: HTTPKind.all)
  func badLists(_ kind: HTTPKind) throws {
    let start = #"<?xml version="1.0"?>"#
    let deep = String(repeating: "<a>", count: 2000)
    let entities = """
      <!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><ListBucketResult>&b;\
      </ListBucketResult>
      """
    let key = String(repeating: "k", count: 20_000)
    for text in [
      "", "not XML", start, "\(start)<html></html>", "\(start)\(deep)", "\(start)\(entities)",
      "\(start)<ListBucketResult><Key>\(key)</Key></ListBucketResult>",
      "\(start)<ListBucketResult><Contents></Contents></ListBucketResult>",
      "\(start)<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
      "\(start)<ListBucketResult>", "\(start)<multistatus xmlns='DAV:'><response>",
    ] {
      let server = try FakeServer { request, _ in
        .init(request.method == "PROPFIND" ? 207 : 200, [], text: text)
      }
      defer { server.stop() }
      let error = #expect(throws: RemoteError.self, "\(text.prefix(60))") {
        try kind.open(server).all(try #require(ObjectPrefix("folder/")))
      }
      #expect(error?.kind == .malformed, "\(text.prefix(60))")
    }
  }

  @Test("too many headers end an answer", arguments: HTTPKind.all)
  func headers(_ kind: HTTPKind) throws {
    let many = (0..<1000).map { ("x-\($0)", "v") }
    let server = try FakeServer { _, _ in .init(200, many, [1]) }
    defer { server.stop() }
    let error = #expect(throws: RemoteError.self) {
      try kind.open(server).bytes(of: name, atMost: 9)
    }
    #expect(error?.kind == .malformed)
  }

  @Test(
    "what a server says is shown without control characters, and not at length",
    arguments: HTTPKind.all)
  func words(_ kind: HTTPKind) throws {
    let text = "a&#10;b\u{1B}[31m" + String(repeating: "z", count: 5000)
    let server = try FakeServer { _, _ in
      .init(403, [], text: "<Error><Code>No</Code><Message>\(text)</Message></Error>")
    }
    defer { server.stop() }
    let error = #expect(throws: RemoteError.self) {
      try kind.open(server).bytes(of: name, atMost: 9)
    }
    let shown = "\(try #require(error))"
    #expect(shown.utf8.count < 500)
    #expect(!shown.unicodeScalars.contains { $0.value < 0x20 })
    #expect(!shown.lowercased().contains("secret"))
  }
}
