internal import Synchronization

/// Makes requests over kept connections. It follows no redirects, adds no credentials, unpacks nothing, and always
/// verifies TLS.
/// - Concurrency: callable from any thread; each request has its own connection.
final class HTTPClient: Sendable {
  struct Settings: Sendable {
    /// A file of certificates that replace the system's.
    var certificates: String?
    /// A unix socket to the server, for any host.
    var socket: String?
    var usesProxies = true
    /// The longest time for connecting, and without a byte in either direction, in nanoseconds.
    var connect: UInt64
    var stall: UInt64
    /// The longest time for 1 KiB in both directions together.
    var crawl: UInt64

    init(limits: RemoteLimits) {
      connect = limits.connect
      stall = limits.stall
      crawl = limits.crawl
    }
  }

  /// Receives bytes of an answer's body; false ends the answer.
  typealias Sink = (HTTPHead, UnsafeRawBufferPointer) throws(RemoteError) -> Bool
  let settings: Settings
  let control: TransferControl
  /// A leaf lock.
  private let idle = Mutex<[CurlHandle]>([])
  /// 0 before an answer with a `Date`.
  private let answered = Atomic<Int64>(0)

  init(_ settings: Settings, control: TransferControl) {
    self.settings = settings
    self.control = control
  }

  /// When the server answered last, by its own clock in seconds since 1970; nil if it did not say.
  var serverTime: Int64? {
    let time = answered.load(ordering: .relaxed)
    return time == 0 ? nil : time
  }

  /// Makes a request and returns the answer, of any status. A sink receives the body of a status of 200, 206 or
  /// 207; other bodies are kept up to the request's bound.
  func send(_ request: HTTPRequest, into sink: Sink? = nil) throws(RemoteError) -> HTTPResponse {
    try control.check()
    let kept = idle.withLock { $0.popLast() }
    let handle: CurlHandle
    if let kept { handle = kept } else { handle = try CurlHandle.make() }
    do throws(RemoteError) {
      let response = try handle.perform(request, settings, control, into: sink)
      idle.withLock { $0.append(handle) }
      if let time = response.head["date"].flatMap(ServerTime.http) {
        answered.store(time, ordering: .relaxed)
      }
      return response
    } catch {
      // The handle is dropped, because the state of its connection is unknown.
      throw error.about(request.object)
    }
  }
}
