internal import Platform
internal import Synchronization

/// Makes requests over connections that are kept.
///
/// It follows no redirects, sends no credentials that are not among a request's headers, unpacks nothing, and
/// always verifies TLS.
///
/// - Concurrency: callable from any thread; each request has a connection to itself.
final class HTTPClient: Sendable {
  /// The settings of the connections to a server.
  struct Settings: Sendable {
    /// A file of certificates that are trusted in place of the system's.
    var certificates: String?
    /// A unix socket that leads to the server, whatever the URL's host.
    var socket: String?
    /// True if the proxies of the environment are used.
    var usesProxies = true
    /// The longest time for connecting, in nanoseconds.
    var connect: UInt64
    /// The longest time without a byte in either direction, in nanoseconds.
    var stall: UInt64

    init(limits: RemoteLimits) {
      connect = limits.connect
      stall = limits.stall
    }
  }

  /// Takes bytes of an answer's body as they come; false once it wants no more.
  typealias Sink = (HTTPHead, UnsafeRawBufferPointer) throws(RemoteError) -> Bool

  let settings: Settings
  let control: TransferControl
  /// Handles that no request uses at the moment. A leaf lock.
  private let idle = Mutex<[CurlHandle]>([])

  init(_ settings: Settings, control: TransferControl) {
    self.settings = settings
    self.control = control
  }

  /// Makes a request and waits for the answer, whatever its status.
  ///
  /// - Parameters:
  ///   - request: the request.
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
      // The handle is dropped, since the state of its connection is unknown.
      throw error.about(request.object)
    }
  }
}
