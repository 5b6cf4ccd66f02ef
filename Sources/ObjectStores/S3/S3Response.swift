enum S3Response {
  /// `<Error>`.
  struct Failure {
    var code = ""
    var message = ""
    var region: String?
  }

  static func failure(_ response: HTTPResponse) -> Failure {
    var failure = Failure()
    try? XMLStreamReader.read(response.body) { (name, _, text) in
      switch name {
      case "Code": failure.code = text
      case "Message": failure.message = text
      case "Region": failure.region = text
      default: break
      }
    }
    failure.region = response.head["x-amz-bucket-region"] ?? failure.region
    return failure
  }

  /// Reads a page of ListObjectsV2; `name` is nil for keys that are no names.
  static func list(
    _ bytes: [UInt8], name: (String) -> ObjectName?
  ) throws(RemoteError) -> ListPage {
    var page = ListPage(objects: [])
    var (isTruncated, isEncoded, isList) = (false, false, false)
    var token: String?
    var (key, length, modified) = ("", UInt64?.none, Int64?.none)
    var found: [(String, UInt64, Int64?)] = []
    try XMLStreamReader.read(
      bytes,
      start: { element, _ in
        if element == "Contents" { (key, length, modified) = ("", nil, nil) }
      },
      end: { (element, _, text) throws(RemoteError) in
        switch element {
        case "ListBucketResult": isList = true
        case "IsTruncated": isTruncated = text == "true"
        case "NextContinuationToken": token = text
        case "EncodingType": isEncoded = text == "url"
        case "Key": key = text
        case "Size": length = UInt64(text)
        case "LastModified": modified = ServerTime.iso(text)
        case "Contents":
          guard let length else {
            throw RemoteError(.malformed, "the list has an object without a length")
          }
          found.append((key, length, modified))
        default: break
        }
      })
    guard isList else { throw RemoteError(.malformed, "the answer is not a list of objects") }
    for (key, length, modified) in found {
      let text = isEncoded ? PercentCoding.decode(key, plusIsSpace: true) : key
      guard let text, let name = name(text) else { continue }
      page.objects.append(ListedObject(name: name, length: length, modified: modified))
    }
    if isTruncated {
      guard let token, !token.isEmpty else {
        throw RemoteError(.malformed, "the list goes on and does not say where")
      }
      page.next = ListPage.Next(token: token)
    }
    return page
  }
}
