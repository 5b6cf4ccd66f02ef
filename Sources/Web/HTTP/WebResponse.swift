package import Grammar

package struct WebResponse: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// `read` fills a buffer from an offset; nil ends the connection, so a part never passes as the whole.
    case stream(
      length: UInt64, read: @Sendable (UInt64, UnsafeMutableRawBufferPointer) -> Int?)
  }

  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: Body

  package init(status: Int, headers: [(name: String, value: String)], body: Body) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  package init(_ value: ReplyValue, status: Int = 200) {
    self.init(json: value.json, status: status)
  }

  package init(json: String, status: Int = 200) {
    self.init(
      status: status,
      headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: .bytes(Array(json.utf8)))
  }

  package init(_ error: ControlError) { self.init(error.reply, status: Self.status(error.kind)) }

  package init(refusal: String, status: Int) {
    self.init(
      status: status,
      headers: [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")],
      body: .bytes(Array("\(refusal)\n".utf8)))
  }

  /// Maps the kinds of failures to status codes.
  private static func status(_ kind: ControlError.Kind) -> Int {
    switch kind {
    case .grammar: 400
    case .notFound: 404
    case .notPermitted, .readOnly: 403
    case .busy, .refused, .exists, .unrelated, .interrupted: 409
    case .forgotten: 410
    case .tooLong: 413
    case .unreachable, .timedOut: 502
    case .noSpace: 507
    case .damaged, .malformed: 500
    case .unsupported: 501
    }
  }
}
