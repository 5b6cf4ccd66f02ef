internal import Foundation

extension Version.MetadataValue {
  package init(_ text: String) {
    var bytes: [UInt8] = []
    JSONString.append(text.utf8, to: &bytes)
    self.init(data: bytes)
  }

  /// Decodes the JSON; nil if it is of another type.
  package func value<T: Decodable>() -> T? { try? JSONDecoder().decode(T.self, from: Data(data)) }
}

extension Version {
  package var line: Branch? { Self.line(metadata) }

  package static func line(_ metadata: Metadata) -> Branch? {
    guard let value = metadata[.branch] else { return nil }
    let bytes = value.data
    // The JSON of a plain name is the name in quotes, which needs no decoder.
    if bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\""),
      !bytes.dropFirst().dropLast().contains(where: {
        $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\"") || $0 < 32 || $0 > 126
      })
    {
      return Branch(rawValue: String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self))
    }
    let name: String? = value.value()
    return name.map { Branch(rawValue: $0) }
  }
}
