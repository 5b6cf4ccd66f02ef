import Foundation
import Grammar

extension ReplyValue: Decodable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: Name.self) {
      self = .record(
        try object.allKeys.sorted { $0.stringValue < $1.stringValue }.map {
          ReplyField($0.stringValue, try object.decode(ReplyValue.self, forKey: $0))
        })
      return
    }
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let flag = try? value.decode(Bool.self) {
      self = .flag(flag)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let list = try? value.decode([ReplyValue].self) {
      self = .list(list)
    } else {
      self = .number(try value.decode(Int64.self))
    }
  }
}

extension ReplyValue {
  /// Reads JSON; nil for another text, and for a number that is not whole.
  init?(json: String) {
    guard let value = try? JSONDecoder().decode(ReplyValue.self, from: Data(json.utf8)) else {
      return nil
    }
    self = value
  }
}
