/// Decides which requests are accepted: only those of the page that this process served.
///
/// Others can reach the port. So the path begins with a random token, `Host` is the address itself, `Origin`
/// (required for POST) and `Sec-Fetch-Site` are the page's own; only a visit to the page may come from elsewhere.
package struct Gate: Sendable {
  let token: String
  /// The host with the port, as the address has it.
  let host: String

  package init(token: String, port: UInt16) {
    self.token = token
    host = "127.0.0.1:\(port)"
  }

  package var origin: String { "http://\(host)" }
  package var address: String { "\(origin)/\(token)/" }

  package func refusal(_ request: WebRequest) -> WebResponse? {
    guard ["GET", "HEAD", "POST"].contains(request.method) else {
      return WebResponse(refusal: "This method is not supported.", status: 405)
    }
    guard request.headers["host"] == host else {
      return WebResponse(refusal: "This is not the host of the address.", status: 403)
    }
    if let origin = request.headers["origin"], origin != self.origin {
      return WebResponse(refusal: "Another page sent this request.", status: 403)
    }
    if let site = request.headers["sec-fetch-site"], site != "same-origin", site != "none",
      !isArrival(request)
    {
      return WebResponse(refusal: "Another page sent this request.", status: 403)
    }
    if request.method == "POST", request.headers["origin"] == nil {
      return WebResponse(refusal: "The request does not say which page sent it.", status: 403)
    }
    guard place(of: request) != nil else {
      return WebResponse(
        refusal: "The address is not complete: llvs web printed it with a token.", status: 403)
    }
    return nil
  }

  /// True if a browser opens the page itself from elsewhere: from the file that `--open` writes.
  private func isArrival(_ request: WebRequest) -> Bool {
    request.method == "GET" && request.headers["sec-fetch-mode"] == "navigate"
      && request.headers["sec-fetch-dest"] == "document" && place(of: request) == ""
  }

  /// Returns the path behind the token; nil without the token.
  func place(of request: WebRequest) -> String? {
    let path = Array(request.path.utf8)
    let wanted = Array("/\(token)/".utf8)
    guard path.count >= wanted.count else { return nil }
    // All bytes are compared, so that the time does not reveal how many are right.
    var difference: UInt8 = 0
    for (a, b) in zip(path, wanted) { difference |= a ^ b }
    guard difference == 0 else { return nil }
    return String(decoding: path.dropFirst(wanted.count), as: UTF8.self)
  }
}
