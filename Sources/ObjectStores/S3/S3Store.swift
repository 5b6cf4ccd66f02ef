internal import Platform
internal import Synchronization

/// A bucket of S3, or a part of one: Amazon's, Ceph's, MinIO's or another's. An object is one PUT.
package final class S3Store: ObjectStore {
  /// The facts learnt from the server's responses.
  private struct Learnt {
    var region: String
    var skew: Int64 = 0
    /// True after a successful list, which proves that the bucket exists.
    var hasListed = false
  }

  private let place: S3Location
  private let credentials: RemoteCredentials
  private let client: HTTPClient
  private let control: TransferControl
  private let pageLength: Int
  // A leaf lock.
  private let learnt: Mutex<Learnt>
  /// The largest object of one PUT.
  private static let largest: UInt64 = 5 << 30
  private static let nothing = SHA256Digest.of([])

  init(
    _ place: S3Location, region: String, credentials: RemoteCredentials, client: HTTPClient,
    pageLength: Int = 1000
  ) {
    self.place = place
    self.credentials = credentials
    self.client = client
    control = client.control
    self.pageLength = pageLength
    learnt = Mutex(Learnt(region: region))
  }

  package var capabilities: StoreCapabilities { [.wholePuts, .emptyObjects] }
  package var serverTime: Int64? { client.serverTime }

  package func prepare(_ folders: [String]) throws(RemoteError) {
    // A bucket has no folders; a list shows that it exists.
    guard !learnt.withLock({ $0.hasListed }) else { return }
    let query = [("list-type", "2"), ("max-keys", "1"), ("prefix", key("x"))]
    _ = try send("GET", nil, query: query, object: place.bucket, expecting: [200])
  }

  private func key(_ text: String) -> String {
    place.prefix.isEmpty ? text : "\(place.prefix)/\(text)"
  }

  package func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    var query = [
      ("list-type", "2"), ("delimiter", "/"), ("max-keys", "\(pageLength)"),
      ("prefix", key(prefix.description)),
    ]
    if let page {
      query.append(("continuation-token", page.token))
    } else if let after {
      query.append(("start-after", key(after.text)))
    }
    let response = try send(
      "GET", nil, query: query, object: "\(prefix)", expecting: [200], bound: 16 << 20)
    guard !response.head.isPage(response.body) else { throw .answeredByAnother("\(prefix)") }
    learnt.withLock { $0.hasListed = true }
    let start = Array(key("").utf8)
    return try S3Response.list(response.body) { key in
      guard key.utf8.starts(with: start),
        let name = ObjectName(String(decoding: key.utf8.dropFirst(start.count), as: UTF8.self)),
        prefix.holds(name)
      else { return nil }
      // A server may ignore `start-after`.
      return after.map { name > $0 } ?? true ? name : nil
    }
  }

  package func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    try RangeFilter.run(range, into: sink) { (take) throws(RemoteError) in
      _ = try send(
        "GET", name, headers: RangeFilter.headers(range), object: name.text,
        expecting: [200, 206, 416], into: take)
    }
  }

  package func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    guard body.length <= Self.largest else {
      throw RemoteError(.tooLarge, "larger than the 5 GiB of a PUT", object: name.text)
    }
    let response = try send(
      "PUT", name, headers: [(name: "Content-Type", value: "application/octet-stream")],
      body: body, object: name.text, expecting: [200, 201, 204])
    // Every S3 server names the entity; it has compared the bytes with their signed hash.
    guard response.head["etag"] != nil else {
      throw RemoteError.answeredByAnother(name.text, status: response.status)
    }
  }

  package func delete(_ name: ObjectName) throws(RemoteError) {
    do throws(RemoteError) {
      _ = try send("DELETE", name, object: name.text, expecting: [200, 202, 204])
    } catch  where error.kind == .absent {
    }
  }

  package func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    try control.check()
    throw RemoteError(.unsupported, "S3 gives no object another name", object: name.text)
  }

  private func send(
    _ method: String, _ name: ObjectName?, query: [(String, String)] = [],
    headers: [(name: String, value: String)] = [], body: ObjectBody? = nil, object: String,
    expecting: Set<Int>, bound: Int = 1 << 16,
    into sink: HTTPClient.Sink? = nil
  ) throws(RemoteError) -> HTTPResponse {
    var (hasMoved, hasSkewed) = (false, false)
    while true {
      let now = learnt.withLock { $0 }
      let host = place.host(in: now.region)
      let file = name.map { "/" + key($0.text) } ?? ""
      let path = "/" + PercentCoding.encode(place.bucket + file, keepingSlashes: true)
      let signature = S3Signature(credentials: credentials, region: now.region)
      let signed = try signature.headers(
        method: method, host: host, path: path, query: query, hash: body?.hash ?? Self.nothing,
        time: SystemClock.realtime().seconds + now.skew)
      let text = query.isEmpty ? "" : "?" + S3Signature.text(query)
      var request = HTTPRequest(
        method: method, url: "\(place.scheme)://\(host)\(path)\(text)", headers: signed + headers,
        object: object)
      request.bound = bound
      if let body { request.body = .object(body) }
      let response = try client.send(request, into: sink)
      if expecting.contains(response.status) { return response }
      let failure = S3Response.failure(response)
      if !hasMoved, let region = otherRegion(response, failure, than: now.region) {
        hasMoved = true
        learnt.withLock { $0.region = region }
        continue
      }
      if !hasSkewed, failure.code == "RequestTimeTooSkewed",
        let time = response.head["date"].flatMap(ServerTime.http)
      {
        let skew = time - SystemClock.realtime().seconds
        hasSkewed = true
        learnt.withLock { $0.skew = skew }
        let side = skew > 0 ? "behind" : "ahead"
        control.tell(
          "The clock of this machine is \(skew.magnitude) seconds \(side) of \(host); "
            + "requests are signed by the server's.")
        continue
      }
      throw error(response, failure, object)
    }
  }

  /// Returns the region that an answer refers to, if it is valid.
  private func otherRegion(
    _ response: HTTPResponse, _ failure: S3Response.Failure, than region: String
  ) -> String? {
    guard [301, 307, 400, 403].contains(response.status), let named = failure.region,
      named != region, !named.isEmpty, named.utf8.count <= 64,
      named.utf8.allSatisfy({ byte in
        byte == UInt8(ascii: "-") || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
          || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      })
    else { return nil }
    return named
  }

  private func error(
    _ response: HTTPResponse, _ failure: S3Response.Failure, _ object: String
  ) -> RemoteError {
    let words = [failure.code, failure.message].filter { !$0.isEmpty }.joined(separator: ", ")
    let usual = HTTPStatusError.error(response, object, words.isEmpty ? nil : words)
    func other(_ kind: RemoteError.Kind, _ words: String, isTransient: Bool = false) -> RemoteError
    {
      RemoteError(
        kind, words, object: object, status: response.status, isTransient: isTransient)
    }
    switch failure.code {
    case "NoSuchBucket":
      return other(
        .noPlace, "there is no bucket \(place.bucket): create it, or correct the address")
    case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
      return other(.denied, "the server does not know these keys: \(HTTPStatusError.shown(words))")
    case "QuotaExceeded": return other(.noSpace, HTTPStatusError.shown(words))
    case "EntityTooLarge": return other(.tooLarge, HTTPStatusError.shown(words))
    case "RequestTimeout", "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody":
      // The bytes were right when they were read, so they changed or were lost during the transfer.
      return other(.unreachable, HTTPStatusError.shown(words), isTransient: true)
    default: return usual
    }
  }
}
