import LLVSCore
import Platform
import TreeNames

extension History {
  /// Answers with bytes of a value, which are not trusted: a confirmed type, no scripts or loads; pages are saved.
  func raw(_ entry: Entry, path: [UInt8], range: String?) throws -> WebResponse {
    let type = try mediaType(entry, path: path)
    let length = entry.stored.length
    var headers = [
      (name: "Content-Type", value: type.name),
      (name: "Content-Security-Policy", value: "sandbox; default-src 'none'"),
      (name: "Content-Disposition", value: Self.disposition(path, isShown: type.isShown)),
      (name: "Accept-Ranges", value: "bytes"),
      // A version never changes.
      (name: "Cache-Control", value: "private, max-age=3600"),
    ]
    switch ByteRange(range, length: length) {
    case .whole:
      guard length > 0 else { return WebResponse(status: 200, headers: headers, body: .bytes([])) }
      return WebResponse(
        status: 200, headers: headers, body: stream(entry, from: 0, count: length))
    case .part(let offset, let count):
      headers.append(("Content-Range", "bytes \(offset)-\(offset + count - 1)/\(length)"))
      return WebResponse(
        status: 206, headers: headers, body: stream(entry, from: offset, count: count))
    case .unsatisfiable:
      return WebResponse(
        status: 416, headers: [("Content-Range", "bytes */\(length)")], body: .bytes([]))
    }
  }

  private func stream(_ entry: Entry, from start: UInt64, count: UInt64) -> WebResponse.Body {
    .stream(length: count) { [store] offset, out in
      let room = min(UInt64(out.count), count - min(offset, count))
      let part = UnsafeMutableRawBufferPointer(rebasing: out[..<Int(room)])
      // The connection ends at a damaged value, because its length was already sent.
      return try? store.contents.read(entry.stored, at: start + offset, into: part)
    }
  }

  /// The name under which a browser saves a value: RFC 6266, with RFC 8187 for other characters than ASCII.
  private static func disposition(_ path: [UInt8], isShown: Bool) -> String {
    let name = path.split(separator: 0x2F).last.map(Array.init) ?? Array("value".utf8)
    let kept = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
    let digits = Array("0123456789ABCDEF".utf8)
    let coded = name.prefix(255).flatMap { byte -> [UInt8] in
      kept.contains(byte)
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return "\(isShown ? "inline" : "attachment"); filename*=UTF-8''"
      + String(decoding: coded, as: UTF8.self)
  }
}
