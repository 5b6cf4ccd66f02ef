/// Cuts a range out of an answer that has the range or the whole object.
struct RangeFilter {
  /// The wanted range, and the range in the request.
  private let range: Range<UInt64>
  private let asked: Range<UInt64>?
  private var position: UInt64?
  private var count: UInt64 = 0

  private init(_ range: Range<UInt64>?) {
    self.range = range ?? 0..<UInt64.max
    // HTTP has no empty range: requesting the first byte shows if the object exists.
    asked = range.map { $0.isEmpty ? 0..<1 : $0 }
  }

  static func headers(_ range: Range<UInt64>?) -> [(name: String, value: String)] {
    guard let asked = RangeFilter(range).asked else { return [] }
    let end = asked.upperBound == .max ? "" : "\(asked.upperBound - 1)"
    return [(name: "Range", value: "bytes=\(asked.lowerBound)-\(end)")]
  }

  /// Makes a request and passes the range of its answer to a sink; returns the number of bytes.
  static func run(
    _ range: Range<UInt64>?, into sink: ObjectSink,
    _ request: (@escaping HTTPClient.Sink) throws(RemoteError) -> Void
  ) throws(RemoteError) -> UInt64 {
    try withoutActuallyEscaping(sink) { (sink) throws(RemoteError) in
      var cut = RangeFilter(range)
      try request { (head, bytes) throws(RemoteError) in try cut.take(head, bytes, sink) }
      return cut.count
    }
  }

  /// Passes the wanted bytes on; false if no more are wanted. `malformed` for another range.
  private mutating func take(
    _ head: HTTPHead, _ bytes: UnsafeRawBufferPointer, _ sink: ObjectSink
  ) throws(RemoteError) -> Bool {
    let start: UInt64
    if let position { start = position } else { start = try self.start(head) }
    // Another answer than the server's is no damage of the object.
    guard position != nil || start > 0 || !head.isPage(bytes) else { throw .answeredByAnother() }
    guard start < range.upperBound else { return false }
    let (end, overflows) = start.addingReportingOverflow(UInt64(bytes.count))
    guard !overflows else { throw RemoteError(.malformed, "the answer has no end") }
    position = end
    let from = min(max(range.lowerBound, start), end)
    let to = max(from, min(range.upperBound, end))
    if to > from {
      let wanted = bytes[Int(from - start)..<Int(to - start)]
      count += UInt64(wanted.count)
      guard try sink(UnsafeRawBufferPointer(rebasing: wanted)) else { return false }
    }
    return end < range.upperBound
  }

  private func start(_ head: HTTPHead) throws(RemoteError) -> UInt64 {
    // RFC 9110 section 14.4: `bytes 5-9/10`. Some servers send it with a status of 200.
    guard head.status == 206 || head["content-range"] != nil else { return 0 }
    let words = (head["content-range"] ?? "").split(whereSeparator: { $0 == " " || $0 == "-" })
    guard words.count >= 2, words[0] == "bytes", let start = UInt64(words[1]),
      start == asked?.lowerBound
    else { throw RemoteError(.malformed, "the server gives another range than was asked for") }
    // A server without such a range may send other bytes of the object.
    let total = words.last?.split(separator: "/").last.flatMap { UInt64($0) }
    return total.map { start >= $0 } == true ? range.upperBound : start
  }
}
