import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct S3StoreTests {
  private let kind = HTTPKind.s3
  private let name: ObjectName

  init() throws { name = try #require(ObjectName("object")) }

  @Test("the server gets what was signed: the path as it is, the host with its port")
  func requests() throws {
    let server = try FakeServer { _, _ in .init(200) }
    defer { server.stop() }
    let name = try #require(ObjectName("a b/c+d=é%/..."))
    try kind.open(server).put(name, ObjectBody([1, 2, 3]))
    let request = try #require(server.seen.first)
    #expect(request.method == "PUT")
    #expect(request.target == "/bucket/place/a%20b/c%2Bd%3D%C3%A9%25/...")
    #expect(request.headers["host"] == "127.0.0.1:\(server.port)")
    #expect(request.headers["expect"] == nil)
    #expect(request.headers["content-length"] == "3")
    #expect(request.headers["x-amz-content-sha256"] == "\(SHA256Digest.of([1, 2, 3]))")
  }

  @Test("a region that the server names is used from then on")
  func regions() throws {
    let malformed =
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>"
    for (status, headers, body) in [
      (301, [("x-amz-bucket-region", "eu-west-3")], ""), (400, [], malformed),
    ] as [(Int, [(String, String)], String)] {
      let server = try FakeServer { request, _ in
        request.headers["authorization"]?.contains("/eu-west-3/s3/") == true
          ? .init(200, [], [7]) : .init(status, headers, text: body)
      }
      defer { server.stop() }
      let store = try kind.open(server)
      #expect(try store.bytes(of: name, atMost: 9) == [7])
      #expect(try store.bytes(of: name, atMost: 9) == [7])
      #expect(server.seen.count == 3)
    }
  }

  @Test("regions are not followed in a circle, and what is no region not at all")
  func badRegions() throws {
    for (region, count) in [("eu", 2), ("evil.example/x?", 1)] {
      let server = try FakeServer { _, number in
        .init(301, [("x-amz-bucket-region", "\(region)\(number)")])
      }
      defer { server.stop() }
      #expect(throws: RemoteError.self) { try kind.open(server).bytes(of: name, atMost: 9) }
      #expect(server.seen.count == count)
    }
  }

  @Test("where the clock is wrong, the server's time is signed, and it is said")
  func clocks() throws {
    let body = "<Error><Code>RequestTimeTooSkewed</Code></Error>"
    let server = try FakeServer { request, _ in
      request.headers["x-amz-date"]?.hasPrefix("1994") == true
        ? .init(200, [], [7])
        : .init(403, [("Date", "Sun, 06 Nov 1994 08:49:37 GMT")], text: body)
    }
    defer { server.stop() }
    let said = Mutex<[String]>([])
    let control = TransferControl(say: { sentence in said.withLock { $0.append(sentence) } })
    let store = try kind.open(server, control: control)
    #expect(try store.bytes(of: name, atMost: 9) == [7])
    #expect(try store.bytes(of: name, atMost: 9) == [7])
    #expect(server.seen.count == 3)
    #expect(said.withLock { $0.count } == 1)
    #expect(said.withLock { $0.first }?.contains("ahead") == true)
  }

  @Test("errors that S3 names are told from each other")
  func errors() throws {
    let kinds: [(Int, String, RemoteError.Kind, Int)] = [
      (404, "NoSuchBucket", .noPlace, 1), (404, "NoSuchKey", .absent, 1),
      (403, "SignatureDoesNotMatch", .denied, 1), (403, "QuotaExceeded", .noSpace, 1),
      (400, "EntityTooLarge", .tooLarge, 1), (400, "RequestTimeout", .unreachable, 5),
      (503, "SlowDown", .unreachable, 5), (400, "InvalidArgument", .invalid, 1),
    ]
    for (status, code, expected, count) in kinds {
      let server = try FakeServer { _, _ in
        .init(status, [], text: "<Error><Code>\(code)</Code><Message>words</Message></Error>")
      }
      defer { server.stop() }
      let error = #expect(throws: RemoteError.self) {
        try kind.open(server).put(name, ObjectBody([1]))
      }
      #expect(error?.kind == expected, "\(code)")
      #expect(server.seen.count == count, "\(code)")
    }
  }

  @Test("a list asks for one folder, goes on where it says, and leaves out what is none of ours")
  func lists() throws {
    let server = try FakeServer { request, number in
      let next = number == 1 ? "<NextContinuationToken>a b/+</NextContinuationToken>" : ""
      let contents = [
        "place/f/n\(number)", "place/f/deep/er", "elsewhere/f/n", "place/f/", "place/g/x",
        "place/f/a",
      ].map {
        "<Contents><Key>\($0)</Key><Size>\(number)</Size>"
          + "<LastModified>2009-10-12T17:50:30.000Z</LastModified></Contents>"
      }
      let text =
        "<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><IsTruncated>"
        + "\(number == 1)</IsTruncated>\(next)\(contents.joined())</ListBucketResult>"
      return .init(200, [], text: text)
    }
    defer { server.stop() }
    let found = try kind.open(server).all(
      try #require(ObjectPrefix("f/")), after: ObjectName("f/b"))
    #expect(found.map(\.name.text) == ["f/n1", "f/n2"])
    #expect(found.map(\.modified) == [1_255_369_830, 1_255_369_830])
    let targets = server.seen.map(\.target)
    #expect(targets[0].contains("delimiter=%2F"))
    #expect(targets[0].contains("prefix=place%2Ff%2F&start-after=place%2Ff%2Fb"))
    #expect(targets[1].contains("continuation-token=a%20b%2F%2B"))
  }

  @Test("keys that a server encodes are decoded once")
  func encodedKeys() throws {
    let text =
      "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>place/f/a+b%2B%2525</Key>"
      + "<Size>1</Size></Contents></ListBucketResult>"
    let server = try FakeServer { _, _ in .init(200, [], text: text) }
    defer { server.stop() }
    let found = try kind.open(server).all(try #require(ObjectPrefix("f/")))
    #expect(found.map(\.name.text) == ["f/a b+%25"])
  }

  @Test("an object of more than 5 GiB is refused before it is sent")
  func large() throws {
    let server = try FakeServer { _, _ in .init(200) }
    defer { server.stop() }
    let directory = try TemporaryDirectory()
    let file = try File(directory.file("f"), [.readWrite, .create])
    let error = #expect(throws: RemoteError.self) {
      try kind.open(server).put(
        name, ObjectBody(file, length: (5 << 30) + 1, hash: SHA256Digest.of([UInt8]())))
    }
    #expect(error?.kind == .tooLarge)
    #expect(server.seen.isEmpty)
  }
}
