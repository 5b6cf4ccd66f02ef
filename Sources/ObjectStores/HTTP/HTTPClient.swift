internal import Platform
internal import Synchronization

/// Makes requests over connections that are kept.
///
/// It follows no redirects, sends no credentials that are not among a request's headers, unpacks nothing, and
/// always verifies TLS.
///
/// - Concurrency: callable from any thread; each request has a connection to itself.
final class HTTPClient: Sendable {
  /// How a server is reached.
  struct Settings: Sendable {
    /// A file of certificates that are trusted in place of the system's.
    var certificates: String?
    /// A unix socket that leads to the server, whatever the URL's host.
    var socket: String?
    /// Whether the environment's proxies are used.
    var usesProxies = true
    /// How long a connection may take, in nanoseconds.
    var connect: UInt64
    /// How long no byte may come or go, in nanoseconds.
    var stall: UInt64

    init(limits: RemoteLimits) {
      connect = limits.connect
      stall = limits.stall
    }
  }

  /// Takes bytes of an answer's body as they come; false once it wants no more.
  typealias Sink = (HTTPHead, UnsafeRawBufferPointer) throws(RemoteError) -> Bool

  let settings: Settings
  let control: RemoteControl
  /// Handles that nobody uses at the moment. A leaf lock.
  private let idle = Mutex<[CurlHandle]>([])

  init(_ settings: Settings, control: RemoteControl) {
    self.settings = settings
    self.control = control
  }

  /// Makes a request and waits for the answer, whatever its status.
  ///
  /// - Parameters:
  ///   - request: what to ask.
  ///   - sink: takes the body of an answer whose status is 200, 206 or 207; that of any other is kept, up to
  ///     the request's bound.
  /// - Returns: the answer, with its body where no sink took that.
  /// - Throws: ``RemoteError`` where there is no whole answer.
  func send(
    _ request: HTTPRequest,
    into sink: Sink? = nil
  ) throws(RemoteError) -> HTTPResponse {
    try control.check()
    let kept = idle.withLock { $0.popLast() }
    let handle: CurlHandle
    if let kept { handle = kept } else { handle = try CurlHandle.make() }
    do throws(RemoteError) {
      let response = try handle.perform(request, settings, control, into: sink)
      idle.withLock { $0.append(handle) }
      return response
    } catch {
      // Its connection is in a state that nobody knows.
      throw error.about(request.object)
    }
  }
}
