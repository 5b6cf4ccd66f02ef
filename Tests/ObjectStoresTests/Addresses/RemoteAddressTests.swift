import ObjectStoreSupport
import ObjectStores
import Testing

struct RemoteAddressTests {
  @Test(
    "an address reads back as it is printed, in one form",
    arguments: [
      ("/srv/a place", "/srv/a place"), ("file:///srv/a%20place", "/srv/a place"),
      ("bundle+/srv/x", "bundle+/srv/x"), ("plain+file:///srv/x", "plain+/srv/x"),
      ("bundle+file:///srv/x", "bundle+/srv/x"),
      ("s3://bucket", "s3://bucket"), ("S3://bucket/", "s3://bucket"),
      (
        "s3://bucket/a/b%20c/?region=eu-west-3&profile=me",
        "s3://bucket/a/b%20c?region=eu-west-3&profile=me"
      ),
      ("s3+https://Host.Example:9000/bucket/p", "s3+https://host.example:9000/bucket/p"),
      ("s3+http://[::1]:80/bucket", "s3+http://[::1]:80/bucket"),
      ("s3+https://h/b?ca=/etc/ca%20file", "s3+https://h/b?ca=/etc/ca%20file"),
      ("https+webdav://h", "https+webdav://h/"),
      (
        "https+webdav://h:8443/remote.php/dav/a%2Bb+c/?ca=/x",
        "https+webdav://h:8443/remote.php/dav/a%2Bb%2Bc?ca=/x"
      ),
      ("http+webdav://127.0.0.1/x?insecure=1", "http+webdav://127.0.0.1/x?insecure=1"),
      ("rclone:drive:a b/%20?c", "rclone:drive:a b/%20?c"),
      ("rclone::local:/srv/x", "rclone::local:/srv/x"), ("rclone:drive:", "rclone:drive:"),
      ("rclone:drive:/a/", "rclone:drive:/a/"),
    ])
  func forms(_ text: String, _ printed: String) throws {
    let address = try RemoteAddress(text)
    #expect("\(address)" == printed)
    #expect(try RemoteAddress(printed) == address)
  }

  @Test("the parts of an address are decoded once")
  func decoding() throws {
    guard case .s3(let s3) = try RemoteAddress("s3+http://h:1/bucket/a%2520b"),
      case .webDAV(let webDAV) = try RemoteAddress("https+webdav://h/a%20b/c")
    else {
      Issue.record("another kind of remote")
      return
    }
    #expect(s3.place.bucket == "bucket")
    #expect(s3.place.prefix == "a%20b")
    #expect(s3.place.port == 1)
    #expect(!s3.place.isEncrypted)
    #expect(webDAV.place.path == "a b/c")
    #expect(webDAV.place.isEncrypted)
  }

  @Test(
    "what is no address is refused, with words that say how it is written",
    arguments: [
      "", "relative/path", "/", "//", "a\nb", "/a\u{7F}", "file:///a%0bb", "file:///a%00",
      "file:/x", "file://host/x", "file:///%zz",
      "s3:bucket", "s3://", "s3:///x", "s3://-b", "s3://bu cket", "s3://bucket:9/x",
      "s3://bucket/a//b", "s3://bucket/../x", "s3://bucket/.", "s3://bucket#x", "s3://bucket?x=1",
      "s3://bucket?region=", "s3://bucket?region=a&region=b", "s3://bucket?region=a.evil/",
      "s3://KEY:SECRET@bucket/x", "s3://bucket?ca=relative", "s3://bucket/%0A",
      "s3+https://h", "s3+https://h/", "s3+https:///bucket", "s3+https://-h/b",
      "s3+http://h/b?ca=/x",
      "s3+https://h:0/b", "s3+https://h:65536/b", "s3+https://h:/b", "s3+https://[::1/b",
      "s3+https://[x]/b", "s3+https://h%00/b", "https+webdav://user:password@h/x",
      "https+webdav://h/x?insecure=1", "http+webdav://h/x?ca=/x", "http+webdav://h/x?insecure=2",
      "https://h/x", "webdav://h/x", "ftp://h/x", "ssh://h/x", "rclone:", "rclone:remote",
      "rclone:a:/x/../y", "rclone:a:./x", "rclone:a:/x//y",
      "rclone::", "rclone:a,pass=b:x", "rclone:-x:y", "bundle+s3://bucket", "bundle+bundle+/x",
      "plain+https+webdav://h/x", "plain+bundle+/x", "plain+",
      "bundle+", "/" + String(repeating: "x", count: 5000),
    ])
  func refused(_ text: String) throws {
    let error = #expect(throws: RemoteError.self) { try RemoteAddress(text) }
    #expect(error?.kind == .invalid)
    #expect((error?.words.utf8.count ?? 0) > 10)
    #expect(error?.words.contains("SECRET") != true)
    #expect(error?.words.contains("password") != true)
  }

  @Test("whatever bytes stand in an address, it is read or refused, and what is read prints back")
  func anyBytes() {
    var random = SystemRandomNumberGenerator()
    let starts = [
      "s3://", "s3+https://h/", "https+webdav://", "rclone:", "/", "bundle+", "plain+",
      "http+webdav://h/",
    ]
    let letters = Array("ab/%20?&=:@[].-+#é\u{301} ")
    for _ in 0..<5000 {
      let text =
        (starts.randomElement(using: &random) ?? "")
        + String((0..<Int.random(in: 0..<12)).compactMap { _ in letters.randomElement() })
      guard let address = try? RemoteAddress(text) else { continue }
      #expect((try? RemoteAddress("\(address)")) == address, "\(text)")
    }
  }
}
