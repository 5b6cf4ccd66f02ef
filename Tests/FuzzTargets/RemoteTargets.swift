@testable import ObjectStores

/// Responses of servers that hold remotes, and addresses that users write.
enum RemoteTargets {
  // MARK: S3

  static func objectList(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let page: ListPage
    do throws(RemoteError) {
      page = try S3Response.list(bytes) { ObjectName($0) }
    } catch {
      return try expect(error.kind == .malformed, "another error than for a bad list: \(error)")
    }
    for object in page.objects {
      try expect(ObjectName(object.name.text) == object.name, "a name that no object can have")
    }
    if let next = page.next { try expect(!next.token.isEmpty, "a next page without a token") }
  }

  static let objectListSeeds = [
    """
    <?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\
    <IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>\
    <Contents><Key>a/b</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><Size>5</Size>\
    </Contents><Contents><Key><![CDATA[c]]></Key><Size>18446744073709551615</Size></Contents>\
    </ListBucketResult>
    """,
    """
    <ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%20b+%2F</Key><Size>0</Size>\
    </Contents></ListBucketResult>
    """,
  ].map { Array($0.utf8) }

  // MARK: WebDAV

  static func multistatus(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let response = ResponseSpool()
    var paths: [String] = []
    do throws(RemoteError) {
      try bytes.withUnsafeBytesTyped { (raw) throws(RemoteError) in try response.add(raw) }
      try Multistatus.read(response) { (entry) throws(RemoteError) in
        if let path = entry.path { paths.append(path) }
      }
    } catch {
      return try expect(error.kind == .malformed, "another error than for a bad list: \(error)")
    }
    for path in paths {
      try expect(
        PercentCoding.decode(PercentCoding.encode(path)) == path, "a path that no URL can name")
    }
  }

  static let multistatusSeeds = [
    """
    <?xml version="1.0"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>/a/b%20c</D:href>\
    <D:propstat><D:prop><D:getcontentlength>5</D:getcontentlength><D:resourcetype/>\
    <D:getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</D:getlastmodified></D:prop>\
    <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>
    """,
    """
    <multistatus xmlns="DAV:"><response><href>http://h:1/a/</href><propstat><prop><resourcetype>\
    <collection/></resourcetype></prop><status>HTTP/1.1 404 x</status></propstat></response></multistatus>
    """,
  ].map { Array($0.utf8) }

  // MARK: Addresses

  static func address(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    guard let text = String(validating: bytes, as: UTF8.self),
      let address = try? RemoteAddress(text)
    else { return }
    let again = try? RemoteAddress("\(address)")
    try expect(again == address, "an address reads back as another: \(address)")
    if case .s3(let s3) = address {
      try expect(!s3.place.bucket.isEmpty, "a bucket without a name")
    }
  }

  static let addressSeeds = [
    "/a b", "file:///a%20b", "bundle+/a", "plain+/a", "s3://bucket/a?region=eu-1&profile=p",
    "s3+https://h:9/bucket/a%20b?ca=/c", "http+webdav://[::1]:8/a?insecure=1", "rclone:r:a/b",
  ].map { Array($0.utf8) }
}

extension [UInt8] {
  /// Calls `body` with the bytes, keeping the type of its error.
  fileprivate func withUnsafeBytesTyped(
    _ body: (UnsafeRawBufferPointer) throws(RemoteError) -> Void
  ) throws(RemoteError) {
    var failure: RemoteError?
    withUnsafeBytes { raw in
      do throws(RemoteError) {
        try body(raw)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}
