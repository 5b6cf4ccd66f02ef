import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct WebDAVStoreTests {
  private let kind = HTTPKind.webDAV
  private let name: ObjectName

  init() throws { name = try #require(ObjectName("f/object")) }

  private static func response(_ href: String, _ length: Int?, prefix p: String = "D") -> String {
    let kind = length == nil ? "<\(p):collection/>" : ""
    let size = length.map { "<\(p):getcontentlength>\($0)</\(p):getcontentlength>" } ?? ""
    return "<\(p):response><\(p):href>\(href)</\(p):href><\(p):propstat><\(p):prop>"
      + "<\(p):resourcetype>\(kind)</\(p):resourcetype>\(size)"
      + "<\(p):getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</\(p):getlastmodified>"
      + "</\(p):prop><\(p):status>HTTP/1.1 200 OK</\(p):status></\(p):propstat></\(p):response>"
  }

  private static func multistatus(_ responses: [String], prefix p: String = "D") -> String {
    "<?xml version=\"1.0\"?><\(p):multistatus xmlns:\(p)=\"DAV:\">\(responses.joined())"
      + "</\(p):multistatus>"
  }

  @Test("hrefs may be paths or URLs, encoded in any way, under any prefix of a namespace")
  func hrefs() throws {
    for prefix in ["D", "lp1"] {
      let responses = [
        ("/place/f/", nil), ("http://other.example:99/place/f/a%20b", 3),
        ("/place/f/%63%2b%c3%a9", 4), ("/place/f/plus+and&amp;", 5),
        ("/behind/a/proxy/place/f/z", 6), ("/place/f/below/", nil), ("/place/f/below/deep", 9),
        ("/place/f/bad%zz", 9),
      ].map { Self.response($0, $1, prefix: prefix) }
      let server = try FakeServer { _, _ in
        .init(207, [], text: Self.multistatus(responses, prefix: prefix))
      }
      defer { server.stop() }
      let found = try kind.open(server).all(try #require(ObjectPrefix("f/")))
      #expect(found.map(\.name.text) == ["f/a b", "f/c+é", "f/plus+and&", "f/z"])
      #expect(found.map(\.length) == [3, 4, 5, 6])
      #expect(found.first?.modified == 784_111_777)
      let request = try #require(server.seen.first)
      #expect(request.target == "/place/f/")
      #expect(request.headers["depth"] == "1")
    }
  }

  @Test("properties whose status is not 200 are not there")
  func propstats() throws {
    let text = Self.multistatus([
      """
      <D:response><D:href>/place/f/x</D:href><D:propstat><D:prop><D:getcontentlength>7\
      </D:getcontentlength></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>\
      <D:propstat><D:prop><D:getcontentlength>8</D:getcontentlength></D:prop>\
      <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
      """
    ])
    let server = try FakeServer { _, _ in .init(207, [], text: text) }
    defer { server.stop() }
    #expect(try kind.open(server).all(try #require(ObjectPrefix("f/"))).map(\.length) == [8])
  }

  @Test("a long list is read through a file, whole")
  func longLists() throws {
    let text = Self.multistatus(
      (0..<9000).map { (length: Int) in
        Self.response("/place/f/object-\(length)", length)
      })
    #expect(text.utf8.count > 2 << 20)
    let server = try FakeServer { _, _ in .init(207, [], text: text) }
    defer { server.stop() }
    let found = try kind.open(server).all(try #require(ObjectPrefix("f/")))
    #expect(Set(found.map(\.length)) == Set(0..<9000))
  }

  @Test(
    "a redirect to another host, port or scheme is not followed: it would be shown our password")
  func otherHosts() throws {
    let other = try FakeServer { _, _ in .init(200, [], [1]) }
    defer { other.stop() }
    for location in [
      "http://127.0.0.1:\(other.port)/place/f/object", "http://localhost/x",
      "https://127.0.0.1/x", "//127.0.0.1:\(other.port)/x", "ftp://127.0.0.1/x",
    ] {
      let server = try FakeServer { _, _ in .init(307, [("Location", location)]) }
      defer { server.stop() }
      let error = #expect(throws: RemoteError.self) {
        try kind.open(server).bytes(of: name, atMost: 9)
      }
      #expect(error?.kind == .unreachable)
      #expect(server.seen.count == 1)
    }
    #expect(other.seen.isEmpty)
  }

  @Test("a redirect on the same host is followed with the credentials and the body")
  func sameHost() throws {
    let server = try FakeServer { request, _ in
      guard request.headers["authorization"] == "Basic bWU6c2VjcmV0IHdvcmQ=" else {
        return .init(401)
      }
      return request.path == "/real/object"
        ? .init(201) : .init(307, [("Location", "/real/object")])
    }
    defer { server.stop() }
    try kind.open(server).put(name, ObjectBody([1, 2, 3]))
    #expect(server.seen.map(\.path) == ["/place/f/object", "/real/object"])
    #expect(server.seen.last?.method == "PUT")
    #expect(server.seen.last?.body == [1, 2, 3])
    let circle = try FakeServer { _, number in .init(302, [("Location", "/\(number)")]) }
    defer { circle.stop() }
    #expect(throws: RemoteError.self) { try kind.open(circle).bytes(of: name, atMost: 9) }
    #expect(circle.seen.count == 6)
  }

  @Test("folders are made level by level with a slash, and whatever says that one is there will do")
  func folders() throws {
    for status in [405, 409, 301] {
      let made = Mutex<Set<String>>(["/"])
      let server = try FakeServer { request, _ in
        made.withLock { made in
          switch request.method {
          case "PROPFIND":
            return made.contains(request.path)
              ? .init(207, [], text: Self.multistatus([Self.response(request.path, nil)]))
              : .init(404)
          case "MKCOL":
            // Another has just made the first.
            made.insert(request.path)
            return request.path == "/place/" ? .init(status) : .init(201)
          default: return .init(400)
          }
        }
      }
      defer { server.stop() }
      try kind.open(server).prepare(["a b/c"])
      #expect(
        server.seen.filter { $0.method == "MKCOL" }.map(\.target)
          == ["/place/", "/place/a%20b/", "/place/a%20b/c/"])
    }
    let server = try FakeServer { _, _ in .init(405) }
    defer { server.stop() }
    let error = #expect(throws: RemoteError.self) { try kind.open(server).prepare(["a"]) }
    #expect(error?.kind == .noPlace)
  }

  @Test("a put whose folder is gone makes it and is done once more")
  func missingFolder() throws {
    let isMade = Atomic<Bool>(false)
    let server = try FakeServer { request, _ in
      let isThere = isMade.load(ordering: .relaxed)
      switch request.method {
      case "PUT": return .init(isThere ? 201 : 409)
      case "MKCOL":
        isMade.store(true, ordering: .relaxed)
        return .init(201)
      default:
        return request.path == "/place/" || isThere
          ? .init(207, [], text: Self.multistatus([])) : .init(404)
      }
    }
    defer { server.stop() }
    try kind.open(server).put(name, ObjectBody([1]))
    #expect(server.seen.filter { $0.method == "PUT" }.count == 2)
  }

  @Test("a move names where to, and does not overwrite")
  func moves() throws {
    let server = try FakeServer { _, _ in .init(201) }
    defer { server.stop() }
    try kind.open(server).move(
      try #require(ObjectName("out/1")), to: try #require(ObjectName("versions/a b")))
    let request = try #require(server.seen.first)
    #expect(request.method == "MOVE")
    #expect(request.target == "/place/out/1")
    #expect(request.headers["overwrite"] == "F")
    #expect(
      request.headers["destination"] == "http://127.0.0.1:\(server.port)/place/versions/a%20b")
  }

  @Test("a server that a proxy has hidden its host from is told where to by the path alone")
  func movesBehindProxy() throws {
    let server = try FakeServer { request, _ in
      .init(request.headers["destination"]?.hasPrefix("/") == true ? 201 : 502)
    }
    defer { server.stop() }
    let store = try kind.open(server)
    for end in ["1", "2"] {
      try store.move(
        try #require(ObjectName("out/\(end)")), to: try #require(ObjectName("versions/a b")))
    }
    #expect(server.seen.count == 3)
    #expect(server.seen.last?.headers["destination"] == "/place/versions/a%20b")
  }

  @Test("a folder that is not there holds nothing; a place that is not there is told")
  func absence() throws {
    let server = try FakeServer { request, _ in
      request.path == "/place/" ? .init(207, [], text: Self.multistatus([])) : .init(404)
    }
    defer { server.stop() }
    #expect(try kind.open(server).all(try #require(ObjectPrefix("f/"))).isEmpty)
    let gone = try FakeServer { _, _ in .init(404) }
    defer { gone.stop() }
    for prefix in ["f/", ""] {
      let error = #expect(throws: RemoteError.self) {
        try kind.open(gone).all(try #require(ObjectPrefix(prefix)))
      }
      #expect(error?.kind == .noPlace)
    }
  }

  @Test("where the server wants other credentials, the words say what to do")
  func credentials() throws {
    let server = try FakeServer { _, _ in .init(401) }
    defer { server.stop() }
    let error = #expect(throws: RemoteError.self) {
      try kind.open(server).all(try #require(ObjectPrefix("")))
    }
    #expect(error?.kind == .denied)
    #expect(error?.description.hasPrefix("the server asks for other credentials") == true)
    #expect(error?.words.contains("llvs peer NAME --login") == true)
  }
}
