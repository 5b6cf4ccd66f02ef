internal import CMicrohttpd

/// Answers the requests of one listener. Both functions are called from any thread.
protocol WebAnswering: AnyObject, Sendable {
  /// Decides by the head of a request alone, before its body is read; nil accepts it.
  func refusal(_ request: WebRequest) -> WebResponse?
  func answer(_ request: WebRequest) -> WebResponse
}

/// Listens on the loopback address with libmicrohttpd, and passes requests on.
/// - Concurrency: ``stop()`` waits for the answers in progress.
final class WebListener: @unchecked Sendable {
  // Unchecked: both are set once, and the library guards its daemon itself.
  private let daemon: OpaquePointer
  let port: UInt16

  /// Listens on a port, or on a free one if it is 0; nil on failure. `answering` must outlive the listener.
  init?(port: UInt16, _ answering: WebService) {
    let context = Unmanaged.passUnretained(answering).toOpaque()
    let daemon = llvs_http_start(
      port,
      { context, connection, path, method, _, bytes, count, state in
        guard let context, let connection, let path, let method, let count, let state else {
          return llvs_http_no
        }
        let service = Unmanaged<WebService>.fromOpaque(context).takeUnretainedValue()
        guard let known = state.pointee else {
          let head = WebRequest(connection, method: method, path: path)
          let upload = Upload(head, refusal: service.refusal(head))
          state.pointee = Unmanaged.passRetained(upload).toOpaque()
          return llvs_http_yes
        }
        let upload = Unmanaged<Upload>.fromOpaque(known).takeUnretainedValue()
        if count.pointee > 0 {
          upload.take(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
          count.pointee = 0
          return llvs_http_yes
        }
        return (upload.refusal ?? service.answer(upload.request)).send(to: connection)
      },
      { _, _, state, _ in
        // Retained when the head of the request came.
        guard let known = state?.pointee else { return }
        Unmanaged<Upload>.fromOpaque(known).release()
        state?.pointee = nil
      }, context)
    guard let daemon else { return nil }
    self.daemon = daemon
    self.port = llvs_http_port(daemon)
  }

  func stop() { MHD_stop_daemon(daemon) }
}

/// A request whose body is being read. Only the thread of its connection uses it.
private final class Upload {
  private(set) var request: WebRequest
  private(set) var refusal: WebResponse?

  init(_ request: WebRequest, refusal: WebResponse?) {
    self.request = request
    self.refusal = refusal
  }

  func take(_ bytes: UnsafeRawBufferPointer) {
    guard refusal == nil else { return }
    guard request.body.count + bytes.count <= WebRequest.longestBody else {
      request.body = []
      refusal = WebResponse(refusal: "The text is too long.", status: 413)
      return
    }
    request.body += bytes
  }
}

extension WebRequest {
  fileprivate init(
    _ connection: OpaquePointer, method: UnsafePointer<CChar>, path: UnsafePointer<CChar>
  ) {
    self.init(method: String(cString: method), path: String(cString: path))
    withUnsafeMutablePointer(to: &self) { request in
      _ = MHD_get_connection_values(
        connection, llvs_http_fields,
        { context, _, name, value in
          guard let context, let name else { return llvs_http_yes }
          let request = context.assumingMemoryBound(to: WebRequest.self)
          let key = String(cString: name).lowercased()
          let text = value.map { String(cString: $0) } ?? ""
          // A browser sends no field twice; the joined value fails every check.
          request.pointee.headers[key] =
            request.pointee.headers[key].map { "\($0), \(text)" } ?? text
          return llvs_http_yes
        }, request)
      _ = MHD_get_connection_values(
        connection, llvs_http_arguments,
        { context, _, name, value in
          guard let context, let name else { return llvs_http_yes }
          let request = context.assumingMemoryBound(to: WebRequest.self)
          let key = String(cString: name)
          guard request.pointee.arguments[key] == nil else { return llvs_http_yes }
          let bytes = value.map { UnsafeBufferPointer(start: $0, count: length($0)) }
          request.pointee.arguments[key] = bytes?.map { UInt8(bitPattern: $0) } ?? []
          return llvs_http_yes
        }, request)
    }
  }
}

private func length(_ text: UnsafePointer<CChar>) -> Int {
  var count = 0
  while text[count] != 0 { count += 1 }
  return count
}

private final class Reading {
  let read: @Sendable (UInt64, UnsafeMutableRawBufferPointer) -> Int?

  init(_ read: @escaping @Sendable (UInt64, UnsafeMutableRawBufferPointer) -> Int?) {
    self.read = read
  }
}

extension WebResponse {
  private static let block = 65_536

  fileprivate func send(to connection: OpaquePointer) -> MHD_Result {
    let made: OpaquePointer?
    switch body {
    case .bytes(var bytes):
      made = bytes.withUnsafeMutableBytes { llvs_http_response($0.count, $0.baseAddress) }
    case .stream(let length, let read):
      let context = Unmanaged.passRetained(Reading(read)).toOpaque()
      made = MHD_create_response_from_callback(
        length, Self.block,
        { context, offset, buffer, count in
          guard let context, let buffer else { return llvs_http_failed }
          let reading = Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
          let out = UnsafeMutableRawBufferPointer(start: buffer, count: count)
          guard let read = reading.read(offset, out), read > 0 else { return llvs_http_failed }
          return read
        }, context,
        { context in
          // Retained above.
          if let context { Unmanaged<Reading>.fromOpaque(context).release() }
        })
      if made == nil { Unmanaged<Reading>.fromOpaque(context).release() }
    }
    guard let made else { return llvs_http_no }
    for (name, value) in headers { _ = MHD_add_response_header(made, name, value) }
    return llvs_http_answer(connection, UInt32(status), made)
  }
}
