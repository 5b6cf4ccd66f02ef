import Testing

@testable import ObjectStores

struct S3SignatureTests {
  private func signature() -> S3Signature {
    // The keys of the examples in the Amazon S3 API Reference.
    S3Signature(
      credentials: RemoteCredentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
      region: "us-east-1")
  }

  @Test("requests are signed as AWS's own examples are")
  func examples() throws {
    // "GET Bucket Lifecycle" and "GET Bucket (List Objects)": both sign the host, the hash and the date.
    func signed(_ query: [(String, String)]) throws -> String? {
      try signature().headers(
        method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/", query: query,
        hash: SHA256Digest.of([UInt8]()), time: 1_369_353_600
      ).last?.value
    }
    let start =
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
      + "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="
    #expect(
      try signed([("lifecycle", "")])
        == start + "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    #expect(
      try signed([("prefix", "J"), ("max-keys", "2")])
        == start + "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
  }

  @Test("a query is sorted by its encoded names, and everything but plain letters is encoded")
  func queries() {
    #expect(
      S3Signature.text([("prefix", "a/b c+d=é"), ("list-type", "2"), ("a", "~-_.")])
        == "a=~-_.&list-type=2&prefix=a%2Fb%20c%2Bd%3D%C3%A9")
  }

  @Test("a token of a session is signed and sent, and no key is shown")
  func token() throws {
    var signature = signature()
    signature.credentials.sessionToken = "TOKEN"
    let headers = try signature.headers(
      method: "GET", host: "h", path: "/", query: [], hash: SHA256Digest.of([UInt8]()), time: 0)
    #expect(headers.contains { $0.name == "x-amz-security-token" && $0.value == "TOKEN" })
    #expect(headers.last?.value.contains("x-amz-security-token") == true)
    #expect(!headers.contains { $0.value.contains("wJalr") })
    #expect(!"\(signature.credentials) \(signature)".contains("wJalr"))
    var dumped = ""
    dump(signature, to: &dumped)
    #expect(!dumped.contains("wJalr"))
  }
}
