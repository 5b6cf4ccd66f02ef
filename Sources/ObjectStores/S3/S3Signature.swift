internal import Platform

/// Signature version 4 of AWS, for requests of S3 whose body's hash is known.
/// Source: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header".
struct S3Signature {
  var credentials: RemoteCredentials
  var region: String

  /// `path` is encoded, `query` not (the URL must contain its ``text(_:)``), `time` in seconds since 1970.
  /// - Throws: ``RemoteError`` with `denied` if a key is missing.
  func headers(
    method: String, host: String, path: String, query: [(String, String)], hash: SHA256Digest,
    time: Int64
  ) throws(RemoteError) -> [(name: String, value: String)] {
    guard let accessKey = credentials.accessKey, let secretKey = credentials.secretKey else {
      throw RemoteError(.denied, "an access key and a secret key are needed")
    }
    let stamp = ServerTime.basic(time)
    let day = String(stamp.prefix(8))
    var signed = [
      (name: "host", value: host), (name: "x-amz-content-sha256", value: "\(hash)"),
      (name: "x-amz-date", value: stamp),
    ]
    if let token = credentials.sessionToken {
      signed.append((name: "x-amz-security-token", value: token))
    }
    let names = signed.map(\.name).joined(separator: ";")
    let request = [
      method, path, Self.text(query), signed.map { "\($0.name):\($0.value)\n" }.joined(), names,
      "\(hash)",
    ].joined(separator: "\n")
    let scope = "\(day)/\(region)/s3/aws4_request"
    let text = "AWS4-HMAC-SHA256\n\(stamp)\n\(scope)\n\(SHA256Digest.of(Array(request.utf8)))"
    var key = Array("AWS4\(secretKey)".utf8)
    for part in [day, region, "s3", "aws4_request"] {
      key = SHA256Digest.authentication(of: part, key: key)
    }
    let signature = SHA256Digest.authentication(of: text, key: key).hex
    signed.append(
      (
        name: "Authorization",
        value:
          "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), "
          + "Signature=\(signature)"
      ))
    return signed
  }

  /// Returns a query encoded and sorted.
  static func text(_ query: [(String, String)]) -> String {
    let pairs = query.map { name, value in
      (name: PercentCoding.encode(name), value: PercentCoding.encode(value))
    }
    return pairs.sorted { a, b in a.name == b.name ? a.value < b.value : a.name < b.name }
      .map { pair in "\(pair.name)=\(pair.value)" }.joined(separator: "&")
  }
}
