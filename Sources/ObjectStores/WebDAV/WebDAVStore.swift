internal import Foundation
internal import Synchronization

/// A folder of a WebDAV server (RFC 4918).
/// Relies only on PUT, GET, DELETE, MKCOL, MOVE with `Overwrite: F`, and PROPFIND of depth 1.
package final class WebDAVStore: ObjectStore {
  private let place: WebDAVLocation
  private let authorization: String?
  private let client: HTTPClient
  private let takesPaths = Atomic<Bool>(false)
  private static let mostObjects = 1 << 20
  private static let mostRedirects = 5

  init(_ place: WebDAVLocation, credentials: RemoteCredentials?, client: HTTPClient) {
    self.place = place
    self.client = client
    authorization = credentials.flatMap { credentials in
      guard let user = credentials.user, let password = credentials.password else { return nil }
      // RFC 7617.
      return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
  }

  package var capabilities: StoreCapabilities { [.move, .emptyObjects] }
  package var serverTime: Int64? { client.serverTime }

  package func prepare(_ folders: [String]) throws(RemoteError) {
    try make(path: parts(""))
    for folder in folders { try make(path: parts(folder)) }
  }

  private func parts(_ text: String) -> [String] {
    (place.path + "/" + text).split(separator: "/").map(String.init)
  }

  private func path(_ parts: [String], isFolder: Bool = false) -> String {
    let path = "/" + parts.map { PercentCoding.encode($0) }.joined(separator: "/")
    return isFolder && !parts.isEmpty ? path + "/" : path
  }

  /// Makes a folder after those above it. nginx requires a slash at its end.
  private func make(path parts: [String]) throws(RemoteError) {
    guard try !isThere(parts) else { return }
    guard !parts.isEmpty else {
      throw RemoteError(.noPlace, "\(place.origin) has no WebDAV at its top", object: place.path)
    }
    try make(path: parts.dropLast())
    let object = parts.joined(separator: "/")
    let response = try send("MKCOL", path(parts, isFolder: true), object: object)
    switch response.status {
    case 200, 201, 204: return
    // Servers use different statuses for an existing folder: another writer was first.
    case 405, 409, 301, 302: guard try !isThere(parts) else { return }
    default: break
    }
    throw HTTPStatusError.error(response, object)
  }

  private func isThere(_ parts: [String], isFolder: Bool = true) throws(RemoteError) -> Bool {
    let object = parts.joined(separator: "/")
    let response = try send(
      "PROPFIND", path(parts, isFolder: isFolder), headers: [(name: "Depth", value: "0")],
      body: .bytes(Multistatus.question), object: object)
    switch response.status {
    case 207: return true
    case 404, 410: return false
    case 405, 501:
      throw RemoteError(
        .noPlace, "\(place.origin) does not speak WebDAV there", object: object,
        status: response.status)
    default: throw HTTPStatusError.error(response, object)
    }
  }

  package func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    let parts = parts(prefix.folder)
    let spool = ResponseSpool()
    let response = try send(
      "PROPFIND", path(parts, isFolder: true), headers: [(name: "Depth", value: "1")],
      body: .bytes(Multistatus.question), object: "\(prefix)"
    ) { (_, bytes) throws(RemoteError) in
      try spool.add(bytes)
      return true
    }
    if response.status == 404 || response.status == 410 {
      // A missing folder is empty, unless the whole place is missing.
      if !prefix.folder.isEmpty, try isThere(self.parts("")) { return ListPage(objects: []) }
      throw RemoteError(.noPlace, "\(place.path) is not there on the server", object: place.path)
    }
    guard response.status == 207 else { throw HTTPStatusError.error(response, "\(prefix)") }
    let folder = "/" + parts.joined(separator: "/")
    var objects: [ListedObject] = []
    try Multistatus.read(spool) { (entry) throws(RemoteError) in
      guard !entry.isFolder, let length = entry.length, let path = entry.path,
        let last = Self.last(of: path, in: folder), let name = prefix.name(of: last),
        after.map({ name > $0 }) ?? true
      else { return }
      guard objects.count < Self.mostObjects else {
        throw RemoteError(
          .malformed, "the folder has more than \(Self.mostObjects) objects", object: "\(prefix)")
      }
      objects.append(ListedObject(name: name, length: length, modified: entry.modified))
    }
    return ListPage(objects: objects)
  }

  /// Returns the last part of a path; a proxy may change the parts before the folder's own name.
  private static func last(of path: String, in folder: String) -> String? {
    let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true)
    guard let last = parts.last else { return nil }
    let own = folder.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true).last
    if let own {
      guard let above = parts.dropLast().last, above.elementsEqual(own) else { return nil }
    }
    return String(Substring(last))
  }

  package func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    try RangeFilter.run(range, into: sink) { (take) throws(RemoteError) in
      let response = try send(
        "GET", path(parts(name.text)), headers: RangeFilter.headers(range), object: name.text,
        into: take)
      guard [200, 206, 416].contains(response.status) else {
        throw HTTPStatusError.error(response, name.text)
      }
    }
  }

  package func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    let response = try makingFolder(of: name, statuses: [404, 409]) { () throws(RemoteError) in
      try send(
        "PUT", path(parts(name.text)),
        headers: [(name: "Content-Type", value: "application/octet-stream")], body: .object(body),
        object: name.text)
    }
    switch response.status {
    case 201, 204: return
    // Few servers answer so, and a login page does; only the server knows the object.
    case 200:
      guard try isThere(parts(name.text), isFolder: false) else {
        throw RemoteError.answeredByAnother(name.text, status: 200)
      }
    default: throw HTTPStatusError.error(response, name.text)
    }
  }

  package func delete(_ name: ObjectName) throws(RemoteError) {
    let response = try send("DELETE", path(parts(name.text)), object: name.text)
    // Some servers return 409 for a missing folder.
    guard [200, 202, 204, 404, 409, 410].contains(response.status) else {
      throw HTTPStatusError.error(response, name.text)
    }
  }

  package func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    let response = try makingFolder(of: target, statuses: [409]) { () throws(RemoteError) in
      try sendMove(name, to: path(parts(target.text)))
    }
    switch response.status {
    case 200, 201, 204: return
    case 412: throw HTTPStatusError.error(response, target.text)
    // Some servers return 403 for a missing object.
    case 403 where try !isThere(parts(name.text), isFolder: false):
      throw RemoteError(.absent, "not there", object: name.text, status: 403)
    default: throw HTTPStatusError.error(response, name.text)
    }
  }

  /// Behind a proxy that changes the host, a server takes a URL for that of another server (status 502), and accepts
  /// a path (RFC 4918, section 10.3).
  private func sendMove(_ name: ObjectName, to path: String) throws(RemoteError) -> HTTPResponse {
    while true {
      let takesPaths = takesPaths.load(ordering: .relaxed)
      let response = try send(
        "MOVE", self.path(parts(name.text)),
        headers: [
          (name: "Destination", value: takesPaths ? path : place.origin + path),
          (name: "Overwrite", value: "F"),
        ], object: name.text)
      guard response.status == 502, !takesPaths else { return response }
      self.takesPaths.store(true, ordering: .relaxed)
    }
  }

  /// Repeats a request once if its answer may mean that the folder is missing.
  private func makingFolder(
    of name: ObjectName, statuses: Set<Int>,
    _ body: () throws(RemoteError) -> HTTPResponse
  ) throws(RemoteError) -> HTTPResponse {
    let response = try body()
    guard statuses.contains(response.status), try !isThere(parts(name.folder)) else {
      return response
    }
    try make(path: parts(name.folder))
    return try body()
  }

  private func send(
    _ method: String, _ path: String, headers: [(name: String, value: String)] = [],
    body: HTTPRequest.Body? = nil, object: String,
    into sink: HTTPClient.Sink? = nil
  ) throws(RemoteError) -> HTTPResponse {
    var headers = headers
    if let authorization { headers.append((name: "Authorization", value: authorization)) }
    if case .bytes = body {
      headers.append((name: "Content-Type", value: "application/xml; charset=utf-8"))
    }
    var url = place.origin + path
    for _ in 0...Self.mostRedirects {
      var request = HTTPRequest(method: method, url: url, headers: headers, object: object)
      request.body = body
      let response = try client.send(request, into: sink)
      guard [301, 302, 307, 308].contains(response.status),
        let next = response.head["location"].flatMap({ here($0, from: url) }), next != url
      else { return response }
      url = next
    }
    throw RemoteError(.malformed, "the server sends us round in a circle", object: object)
  }

  /// Returns the target of a redirect; nil for another host, port or scheme, which must not get the password.
  private func here(_ location: String, from url: String) -> String? {
    let origin = place.origin
    if location.hasPrefix("/"), !location.hasPrefix("//") { return origin + location }
    guard location.hasPrefix(origin), location.utf8.count < 8192 else { return nil }
    let rest = location.dropFirst(origin.count)
    return rest.isEmpty || rest.hasPrefix("/") ? location : nil
  }
}
