internal import CCurl
internal import Platform

/// A connection of libcurl's.
/// - Concurrency: used by one thread at a time, of any thread.
final class CurlHandle: @unchecked Sendable {
  // Unchecked: ``HTTPClient`` gives a handle to one thread at a time, as libcurl requires.
  private let easy: UnsafeMutableRawPointer
  private let multi: UnsafeMutableRawPointer
  /// libcurl(3): once, before anything else; thread-safe since 7.84.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private init(easy: UnsafeMutableRawPointer, multi: UnsafeMutableRawPointer) {
    self.easy = easy
    self.multi = multi
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_multi_cleanup(multi)
  }

  static func make() throws(RemoteError) -> CurlHandle {
    guard isReady, let easy = curl_easy_init() else {
      throw RemoteError(SystemError(errno: Errno.noMemory, call: "curl_easy_init"))
    }
    guard let multi = curl_multi_init() else {
      curl_easy_cleanup(easy)
      throw RemoteError(SystemError(errno: Errno.noMemory, call: "curl_multi_init"))
    }
    return CurlHandle(easy: easy, multi: multi)
  }

  func perform(
    _ request: HTTPRequest, _ settings: HTTPClient.Settings, _ control: TransferControl,
    into sink: HTTPClient.Sink?
  ) throws(RemoteError) -> HTTPResponse {
    let transfer = try CurlTransfer(request, control, sink)
    var list: UnsafeMutablePointer<curl_slist>?
    defer { curl_slist_free_all(list) }
    for (name, value) in request.headers { try append("\(name): \(value)", to: &list) }
    // Responses must not be compressed, and requests do not wait for `100 Continue`.
    for line in ["Accept-Encoding: identity", "Expect:", "User-Agent: llvs"] {
      try append(line, to: &list)
    }
    curl_easy_reset(easy)
    configure(request, settings)
    llvs_curl_set_list(easy, CURLOPT_HTTPHEADER, list)
    // Unretained: `transfer` lives until the handle is removed.
    let context = Unmanaged.passUnretained(transfer).toOpaque()
    transfer.attach(to: easy, context)
    guard curl_multi_add_handle(multi, easy) == CURLM_OK else {
      throw RemoteError(SystemError(errno: Errno.noMemory, call: "curl_multi_add_handle"))
    }
    let result = withExtendedLifetime(transfer) { wait(for: transfer, settings, control) }
    curl_multi_remove_handle(multi, easy)
    return try transfer.response(result)
  }

  private func append(
    _ line: String, to list: inout UnsafeMutablePointer<curl_slist>?
  ) throws(RemoteError) {
    // A line end in a value would begin another header.
    guard !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw RemoteError(.invalid, "a value that is to be sent has a control character in it")
    }
    guard let longer = curl_slist_append(list, line) else {
      throw RemoteError(SystemError(errno: Errno.noMemory, call: "curl_slist_append"))
    }
    list = longer
  }

  private func configure(_ request: HTTPRequest, _ settings: HTTPClient.Settings) {
    llvs_curl_set_text(easy, CURLOPT_URL, request.url)
    llvs_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    llvs_curl_set_number(easy, CURLOPT_FOLLOWLOCATION, 0)
    llvs_curl_set_number(easy, CURLOPT_PATH_AS_IS, 1)
    llvs_curl_set_number(easy, CURLOPT_NOSIGNAL, 1)
    // A cancelled request does not wait for its name lookup.
    llvs_curl_set_number(easy, CURLOPT_QUICK_EXIT, 1)
    // A connection has one request at a time, so HTTP/2 would not help.
    llvs_curl_set_number(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    llvs_curl_set_number(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    llvs_curl_set_number(easy, CURLOPT_SSL_VERIFYPEER, 1)
    llvs_curl_set_number(easy, CURLOPT_SSL_VERIFYHOST, 2)
    if let file = settings.certificates { llvs_curl_set_text(easy, CURLOPT_CAINFO, file) }
    if let path = settings.socket { llvs_curl_set_text(easy, CURLOPT_UNIX_SOCKET_PATH, path) }
    if !settings.usesProxies { llvs_curl_set_text(easy, CURLOPT_PROXY, "") }
    llvs_curl_set_number(
      easy, CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: max(1, settings.connect / 1_000_000)))
    llvs_curl_set_number(easy, CURLOPT_BUFFERSIZE, 1 << 18)
    llvs_curl_set_number(easy, CURLOPT_UPLOAD_BUFFERSIZE, 1 << 18)
    llvs_curl_set_number(easy, CURLOPT_TCP_KEEPALIVE, 1)
    llvs_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method)
    if request.method == "HEAD" { llvs_curl_set_number(easy, CURLOPT_NOBODY, 1) }
    if let body = request.body {
      llvs_curl_set_number(easy, CURLOPT_UPLOAD, 1)
      llvs_curl_set_size(easy, CURLOPT_INFILESIZE_LARGE, Int(clamping: body.length))
    }
  }

  /// Works until the request is answered, has failed, has stalled or is cancelled.
  private func wait(
    for transfer: CurlTransfer, _ settings: HTTPClient.Settings, _ control: TransferControl
  ) -> CurlTransfer.Ending {
    var unsent: Int32 = 0
    while true {
      var running: Int32 = 0
      guard curl_multi_perform(multi, &running) == CURLM_OK else {
        return .failed(CURLE_RECV_ERROR)
      }
      var left: Int32 = 0
      while let message = curl_multi_info_read(multi, &left) {
        guard message.pointee.msg == CURLMSG_DONE else { continue }
        return .failed(message.pointee.data.result)
      }
      if control.isCancelled { return .cancelled }
      // Bytes that libcurl passed to the kernel may still be unsent.
      let socket = llvs_curl_socket(easy)
      let now = socket >= 0 ? llvs_unsent_bytes(socket) : -1
      if now != unsent {
        transfer.noteMove(bytes: Int((now - unsent).magnitude))
        unsent = now
      }
      let time = SystemClock.monotonic()
      if time - transfer.lastMove > settings.stall { return .stalled }
      if time - transfer.pieceBegun > settings.crawl { return .crawling }
      curl_multi_poll(multi, nil, 0, Int32(TransferControl.patience / 1_000_000), nil)
    }
  }
}
