internal import CCurl
internal import Platform

/// The state of one request, for libcurl's callbacks.
final class CurlTransfer {
  enum Ending {
    /// libcurl's result, which may be success.
    case failed(CURLcode)
    case stalled
    /// Bytes come or go, but too few.
    case crawling
    case cancelled
  }

  private let request: HTTPRequest
  private let control: TransferControl
  private let sink: HTTPClient.Sink?
  private var outgoing: Outgoing?
  private var head = HTTPHead()
  private var kept: [UInt8] = []
  private var isCut = false
  private var failure: RemoteError?
  private(set) var lastMove = SystemClock.monotonic()
  /// The start of the current piece of progress, and its bytes so far.
  private(set) var pieceBegun = SystemClock.monotonic()
  private var piece = 0
  private static let pieceLength = 1024
  private var interimAnswers = 0
  private static let mostInterimAnswers = 32
  private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init(_ request: HTTPRequest, _ control: TransferControl, _ sink: HTTPClient.Sink?)
    throws(RemoteError)
  {
    self.request = request
    self.control = control
    self.sink = sink
    words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    if let body = request.body { outgoing = try Outgoing(body) }
  }

  deinit { words.deallocate() }

  func attach(to easy: UnsafeMutableRawPointer, _ context: UnsafeMutableRawPointer) {
    llvs_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words)
    llvs_curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
    llvs_curl_set_transfer(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      CurlTransfer.of(context).takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    llvs_curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
    llvs_curl_set_transfer(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      CurlTransfer.of(context).take(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    guard outgoing != nil else { return }
    llvs_curl_set_pointer(easy, CURLOPT_READDATA, context)
    llvs_curl_set_transfer(easy, CURLOPT_READFUNCTION) { bytes, size, count, context in
      CurlTransfer.of(context).give(
        UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }
    llvs_curl_set_pointer(easy, CURLOPT_SEEKDATA, context)
    llvs_curl_set_seek(easy) { context, offset, origin in
      CurlTransfer.of(context).rewind(to: offset, origin)
    }
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    guard let context else {
      preconditionFailure("libcurl gives back the pointer that it was given")
    }
    return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  }

  func noteMove(bytes: Int = 0) {
    lastMove = SystemClock.monotonic()
    piece += bytes
    guard piece >= Self.pieceLength else { return }
    (piece, pieceBegun) = (0, lastMove)
  }

  private func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
    noteMove(bytes: bytes.count)
    var line = String(decoding: bytes, as: UTF8.self)
    while line.last?.isNewline == true { line.removeLast() }
    guard head.add(line: line) else {
      failure = RemoteError(.malformed, "the answer has too many headers")
      return 0
    }
    if line.hasPrefix("HTTP/"), head.status < 200 { interimAnswers += 1 }
    guard interimAnswers <= Self.mostInterimAnswers else {
      failure = RemoteError(.malformed, "the server says \"Continue\" without end")
      return 0
    }
    return bytes.count
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
    noteMove(bytes: bytes.count)
    // A slow sink, or the speed limit, is not the server's fault.
    let begun = SystemClock.monotonic()
    defer { pieceBegun += SystemClock.monotonic() - begun }
    do throws(RemoteError) {
      try control.receive(bytes.count)
      // A wait for the speed limit is not the server's.
      noteMove()
      guard let sink, [200, 206, 207].contains(head.status) else { return keep(bytes) }
      if let encoding = head["content-encoding"], encoding != "identity" {
        throw RemoteError(
          .malformed, "the answer is packed (\(encoding)), which was not asked for")
      }
      guard try sink(head, bytes) else {
        isCut = true
        return 0
      }
      noteMove()
      return bytes.count
    } catch {
      failure = error
      return 0
    }
  }

  private func keep(_ bytes: UnsafeRawBufferPointer) -> Int {
    let room = request.bound - kept.count
    if bytes.count <= room {
      kept += bytes
      return bytes.count
    }
    kept += bytes.prefix(room)
    // The beginning of an error's text is enough.
    if head.status >= 300 {
      isCut = true
    } else {
      failure = RemoteError(.malformed, "the answer is longer than \(request.bound) bytes")
    }
    return 0
  }

  private func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    noteMove()
    do throws(RemoteError) {
      let size = control.piece(buffer.count)
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(size, buffer.count)])
      guard let count = try outgoing?.read(into: room) else { return 0 }
      let begun = SystemClock.monotonic()
      try control.send(count)
      pieceBegun += SystemClock.monotonic() - begun
      noteMove(bytes: count)
      return count
    } catch {
      failure = error
      // curl.h: CURL_READFUNC_ABORT.
      return 0x1000_0000
    }
  }

  /// A kept connection may turn out to be closed after libcurl took bytes; these are sent again.
  private func rewind(to offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard offset == 0, origin == 0, let body = request.body else { return CURL_SEEKFUNC_CANTSEEK }
    do throws(RemoteError) {
      outgoing = try Outgoing(body)
      return CURL_SEEKFUNC_OK
    } catch {
      failure = error
      return CURL_SEEKFUNC_FAIL
    }
  }

  func response(_ ending: Ending) throws(RemoteError) -> HTTPResponse {
    if let failure { throw failure }
    switch ending {
    case .cancelled: throw .cancelled
    case .stalled:
      throw RemoteError(
        .stalled, "the server sends nothing and takes nothing", isTransient: true)
    case .crawling:
      throw RemoteError(.stalled, "the server sends or takes less than 1 KiB a minute")
    case .failed(let code):
      if code == CURLE_OK || isCut { return HTTPResponse(head: head, body: kept, isCut: isCut) }
      // A server that refuses may close the connection before it has read the body.
      if head.status >= 400, code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR {
        return HTTPResponse(head: head, body: kept)
      }
      throw Self.error(code, String(cString: words))
    }
  }

  private static func error(_ code: CURLcode, _ words: String) -> RemoteError {
    let text = words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
    return switch code {
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: RemoteError(.invalid, text)
    case CURLE_OUT_OF_MEMORY:
      RemoteError(SystemError(errno: Errno.noMemory, call: "curl"))
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      RemoteError(.unreachable, "the server's certificate is not trusted: \(text)")
    case CURLE_COULDNT_CONNECT:
      // libcurl's text ends with milliseconds, and says the same again.
      RemoteError(
        .unreachable, "no answer: \(text.split(separator: " after ")[0])", isTransient: true)
    // Only connecting has a limit of libcurl's.
    case CURLE_OPERATION_TIMEDOUT: RemoteError(.stalled, text, isTransient: true)
    default: RemoteError(.unreachable, text, isTransient: true)
    }
  }

  private struct Outgoing {
    private enum Part {
      case bytes(ArraySlice<UInt8>)
      case object(ObjectBody.Reader)
    }

    private var parts: [Part]

    init(_ body: HTTPRequest.Body) throws(RemoteError) {
      switch body {
      case .bytes(let bytes): parts = [.bytes(bytes[...])]
      case .object(let object): parts = [.object(try Self.begun(object))]
      case .wrapped(let before, let object, let after):
        parts = [.bytes(before[...]), .object(try Self.begun(object)), .bytes(after[...])]
      }
    }

    private static func begun(_ body: ObjectBody) throws(RemoteError) -> ObjectBody.Reader {
      let reader = body.reader()
      try reader.start()
      return reader
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(RemoteError) -> Int {
      while let part = parts.first {
        let count: Int
        switch part {
        case .bytes(var rest):
          count = min(rest.count, buffer.count)
          rest.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
          }
          rest.removeFirst(count)
          parts[0] = .bytes(rest)
        case .object(var reader):
          count = try reader.read(into: buffer)
          parts[0] = .object(reader)
        }
        if count > 0 { return count }
        parts.removeFirst()
      }
      return 0
    }
  }
}
