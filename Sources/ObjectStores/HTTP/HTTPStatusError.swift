internal import Platform

extension RemoteError {
  /// The error of an answer that the remote did not give.
  static func answeredByAnother(
    _ object: String? = nil, status: Int = 200, place: String? = nil
  ) -> RemoteError {
    let what = place.map { "the server sends us elsewhere\($0), which the address does not name" }
    return RemoteError(
      .unreachable,
      "\(what ?? "something on the way answered for the server"): does this network have a login page?",
      object: object, status: status)
  }
}

enum HTTPStatusError {
  /// Returns the error of an unexpected status, transient if a retry may help; `words` explain it.
  static func error(
    _ response: HTTPResponse, _ object: String, _ words: String? = nil
  ) -> RemoteError {
    let status = response.status
    let said = words.map { ": \(shown($0))" } ?? ""
    func error(_ kind: RemoteError.Kind, _ text: String) -> RemoteError {
      RemoteError(kind, text + said, object: object, status: status)
    }
    switch status {
    case 401:
      return error(
        .denied, "the server asks for other credentials (\"llvs peer NAME --login\" keeps them)")
    case 403: return error(.denied, "the server does not allow that")
    case 404, 410: return error(.absent, "not there")
    case 412: return error(.exists, "the name is taken")
    case 413:
      return error(
        .tooLarge,
        "too large for the server: raise its limit for the body of a request "
          + "(client_max_body_size of nginx, LimitRequestBody of Apache)")
    case 507: return error(.noSpace, "the server has no room left")
    case 405, 501, 505: return error(.unsupported, "the server cannot do that")
    case 408, 423, 425, 429, 500...:
      var passing = error(.unreachable, "the server cannot do that now")
      passing.isTransient = true
      let now = response.head["date"].flatMap(ServerTime.http) ?? SystemClock.realtime().seconds
      passing.retryAfter = response.head["retry-after"].flatMap {
        ServerTime.retryAfter($0, now: now)
      }
      return passing
    case 300..<400:
      let place = response.head["location"].map { " to \(shown($0))" } ?? ""
      return .answeredByAnother(object, status: status, place: place)
    case 200: return .answeredByAnother(object, status: status)
    case 400..<500: return error(.invalid, "the server refuses the request")
    default: return error(.malformed, "the answer has a status that makes no sense")
    }
  }

  /// Returns text from a server in a form for messages.
  static func shown(_ text: String) -> String {
    let line = text.unicodeScalars.prefix(200).map { scalar -> Character in
      let isPlain = scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
      return isPlain ? Character(scalar) : " "
    }
    return String(line)
  }
}
