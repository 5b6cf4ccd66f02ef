import Foundation
import Synchronization

/// A server of one bucket in memory, which counts the requests that come.
///
/// It checks no signatures, and lists by name; each request is answered at once.
package final class BucketServer: Sendable {
  private let objects = Mutex<[String: [UInt8]]>([:])
  private let base = Mutex<FakeServer?>(nil)
  private let pageLength: Int

  /// The address of the bucket.
  package var address: String { "s3+http://127.0.0.1:\(port)/bucket" }

  private var port: UInt16 { base.withLock { $0?.port ?? 0 } }

  /// Starts one whose lists have at most `pageLength` objects a page.
  package init(pageLength: Int = 1000) throws {
    self.pageLength = pageLength
    let server = try FakeServer { [weak self] request, _ in
      self?.answer(request) ?? .init(500)
    }
    base.withLock { $0 = server }
  }

  /// Ends it.
  package func stop() { base.withLock { $0 }?.stop() }

  /// The requests since the first `count` of them: the method, and the key or the prefix of a list.
  package func requests(after count: Int = 0) -> [String] {
    let seen = base.withLock { $0 }?.seen ?? []
    return seen.dropFirst(count).map { request in
      guard let prefix = Self.query(request)["prefix"] else {
        return "\(request.method) \(Self.key(request))"
      }
      return "LIST \(prefix)"
    }
  }

  /// The keys of all objects.
  package var keys: [String] { objects.withLock { $0.keys.sorted() } }

  /// Puts an object past all requests.
  package func put(_ key: String, _ bytes: [UInt8]) { objects.withLock { $0[key] = bytes } }

  private static func key(_ request: FakeServer.Request) -> String {
    String((request.path.removingPercentEncoding ?? "").dropFirst("/bucket/".count))
  }

  private static func query(_ request: FakeServer.Request) -> [String: String] {
    var found: [String: String] = [:]
    for part in request.target.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
      let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      found[String(words[0])] = words.count == 2 ? String(words[1]).removingPercentEncoding : ""
    }
    return found
  }

  private func answer(_ request: FakeServer.Request) -> FakeServer.Answer {
    let (key, query) = (Self.key(request), Self.query(request))
    if let prefix = query["prefix"] {
      return list(prefix, after: query["continuation-token"] ?? query["start-after"] ?? "", query)
    }
    switch request.method {
    case "PUT":
      objects.withLock { $0[key] = request.body }
      return .init(200)
    case "DELETE":
      objects.withLock { _ = $0.removeValue(forKey: key) }
      return .init(204)
    default:
      guard let bytes = objects.withLock({ $0[key] }) else { return .init(404) }
      guard let range = request.headers["range"] else { return .init(200, [], bytes) }
      let ends = range.drop { $0 != "=" }.dropFirst().split(separator: "-").map { Int($0) ?? 0 }
      guard let first = ends.first, first < bytes.count else { return .init(416) }
      let last = min(ends.count == 2 ? ends[1] : .max, bytes.count - 1)
      let header = ("Content-Range", "bytes \(first)-\(last)/\(bytes.count)")
      return .init(206, [header], Array(bytes[first...last]))
    }
  }

  private func list(
    _ prefix: String, after: String, _ query: [String: String]
  ) -> FakeServer.Answer {
    let found = objects.withLock { $0.map { ($0.key, $0.value.count) } }
      .filter {
        $0.0.hasPrefix(prefix) && $0.0 > after && !$0.0.dropFirst(prefix.count).contains("/")
      }
      .sorted { $0.0 < $1.0 }
    let page = found.prefix(min(Int(query["max-keys"] ?? "") ?? 1000, pageLength))
    var text = "<ListBucketResult><IsTruncated>\(page.count < found.count)</IsTruncated>"
    if page.count < found.count, let last = page.last {
      text += "<NextContinuationToken>\(last.0)</NextContinuationToken>"
    }
    for (key, length) in page {
      text += "<Contents><Key>\(key)</Key><Size>\(length)</Size></Contents>"
    }
    return .init(200, [], text: text + "</ListBucketResult>")
  }
}
