import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite("The original's wire")
struct WireTests {
  private func read(_ text: String, pieceSize: Int = 65_536) throws -> Version {
    try Version(reading: WireInput(name: "v", bytes: Array(text.utf8), pieceSize: pieceSize))
  }

  private func changes(
    _ bytes: [UInt8], pieceSize: Int = 65_536, atMost bound: Int = 1 << 24
  ) throws -> [WireChange<[UInt8]>] {
    var all: [WireChange<[UInt8]>] = []
    let input = WireInput(name: "c", bytes: bytes, pieceSize: pieceSize)
    try input.read(into: MemorySink(atMost: bound)) { all.append($0) }
    return all
  }

  private func written(_ version: Version) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try version.write(to: WireOutput { bytes.append(contentsOf: $0) })
    return bytes
  }

  private func written(_ list: [WireChange<[UInt8]>], of version: Version.ID) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var writer = ChangeWriter(WireOutput { bytes.append(contentsOf: $0) }, of: version)
    for change in list { try writer.append(change.map(pieces)) }
    try writer.finish()
    return bytes
  }

  private func pieces(of data: [UInt8]) -> ChangeWriter.Pieces {
    func pass(_ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
      for start in stride(from: 0, to: data.count, by: 1000) {
        try Array(data[start..<min(start + 1000, data.count)]).withPiece(take)
      }
    }
    return pass
  }

  @Test(
    "every version and change list of the original reads, and writes to the same",
    arguments: ExchangeFixtures.cases)
  func fixtures(_ name: String) throws {
    let folder = try ExchangeFixtures.folder(name)
    let expected = try ExchangeFixtures.expected(name)
    let versions = try require(expected["versions"] as? [String: [String: Any]])
    let lists = try require(expected["changes"] as? [String: [[String: Any]]])
    let ids = try FileSystem.list("\(folder)/versions")
    #expect(Set(ids) == Set(versions.keys))
    for id in ids {
      let bytes = try FileSystem.read("\(folder)/versions/\(id)", atMost: 1 << 20)
      let version = try Version(reading: WireInput(name: id, bytes: bytes))
      let facts = try require(versions[id])
      #expect(version.id.rawValue == id)
      #expect(version.timestamp == facts["timestamp"] as? Double)
      #expect(
        (version.predecessors?.ids ?? []).map(\.rawValue) == facts["predecessors"] as? [String])
      let metadata = try require(facts["metadata"] as? [String: String])
      #expect(version.metadata.count == metadata.count)
      for (key, value) in version.metadata {
        let text = metadata[key.rawValue]
        #expect(
          String(validating: value.data, as: UTF8.self) == text
            || Data(value.data).base64EncodedString() == text)
      }
      let again = try written(version)
      #expect(try Version(reading: WireInput(name: id, bytes: again, pieceSize: 16)) == version)

      let list = try FileSystem.read("\(folder)/changes/\(id)", atMost: 1 << 24)
      let all = try changes(list)
      try compare(all, to: require(lists[id]))
      #expect(try changes(written(all, of: version.id)) == all)
      if list.count < 100_000 { #expect(try changes(list, pieceSize: 17) == all) }
    }
  }

  private func compare(_ all: [WireChange<[UInt8]>], to facts: [[String: Any]]) throws {
    #expect(all.count == facts.count)
    var byKey: [Key: [String: Any]] = [:]
    for fact in facts { byKey[Key(try require(fact["key"] as? String))] = fact }
    for change in all {
      let fact = try require(byKey[change.key])
      switch change {
      case .insert(_, let data), .update(_, let data):
        #expect(["insert", "update"].contains(fact["op"] as? String))
        #expect(fact["size"] as? Int == data.count)
        #expect(fact["sha256"] as? String == Digest.of(data).hex)
      case .remove: #expect(fact["op"] as? String == "remove")
      case .preserve(_, let stored):
        #expect(fact["op"] as? String == "preserve")
        #expect(fact["storedVersion"] as? String == stored.rawValue)
      case .preserveRemoval: #expect(fact["op"] as? String == "preserveRemoval")
      }
    }
  }

  @Test("what other coders may write is read")
  func liberal() throws {
    let version = try read(
      """
      \u{FEFF} {"extra":[1,{"a":null}],"version":{"metadata":null,"timestamp":-1e3,
      "identifier":"A\\/B".x,"predecessors":null}}
      """.replacingOccurrences(of: "A\\/B\".x", with: "A\\u00e9\\ud83d\\ude00\""))
    #expect(version.id.rawValue == "Aé😀")
    #expect(version.timestamp == -1000)
    #expect(version.metadata.isEmpty)
    #expect(
      try read(#"{"version":{"identifier":"V","timestamp":1,"valueDataSize":12.0}}"#)
        .valueDataSize == 12)
    let list = try changes(
      Array(#" [ {"insert":{"data":"\/\/8=","id":"a\u0000"},"z":true} ] "#.utf8))
    #expect(list == [.insert(Key(bytes: [0x61, 0]), [0xFF, 0xFF])])
    #expect(try changes(Array("[]".utf8)).isEmpty)
  }

  @Test("timestamps come back bit for bit")
  func timestamps() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    for _ in 0..<2000 {
      let value = Double(bitPattern: random.next())
      guard value.magnitude < 0x1p33 else { continue }
      let version = Version(id: .init("V"), predecessors: nil, timestamp: value)
      let again = try Version(reading: WireInput(name: "v", bytes: written(version)))
      #expect(again.timestamp.bitPattern == value.bitPattern, "seed \(seed)")
    }
  }

  @Test(
    "a version that breaks a rule is refused with the file's name and the reason",
    arguments: [
      ("", "too early"), ("[]", "\"{\""), ("{}", "no version"),
      (#"{"version":{"identifier":"V"}}"#, "timestamp"),
      (#"{"version":{"timestamp":1}}"#, "identifier"),
      (#"{"version":{"identifier":"V","timestamp":1}"#, "too early"),
      (#"{"version":{"identifier":"V","timestamp":1}} x"#, "follows"),
      (#"{"version":{"identifier":"V","timestamp":"1"}}"#, "number"),
      (#"{"version":{"identifier":"V","timestamp":01}}"#, "number"),
      (#"{"version":{"identifier":"V","timestamp":1e999}}"#, "range"),
      (#"{"version":{"identifier":"V","timestamp":8589934592}}"#, "range"),
      (#"{"version":{"identifier":"V","timestamp":-8589934592}}"#, "range"),
      (#"{"version":{"identifier":"V","timestamp":NaN}}"#, "number"),
      (#"{"version":{"identifier":"V","timestamp":1,"timestamp":2}}"#, "twice"),
      (#"{"version":{"identifier":"","timestamp":1}}"#, "empty"),
      (#"{"version":{"identifier":"..","timestamp":1}}"#, "\".\""),
      (#"{"version":{"identifier":"a/b","timestamp":1}}"#, "\"/\""),
      (#"{"version":{"identifier":"a\u0000b","timestamp":1}}"#, "control"),
      (#"{"version":{"identifier":{"rawValue":"V"},"timestamp":1}}"#, "\"\"\""),
      (#"{"version":{"identifier":"\ud800","timestamp":1}}"#, "surrogate"),
      (#"{"version":{"identifier":"V","timestamp":1,"metadata":{"a":{"data":""}}}}"#, "\"[\""),
      (#"{"version":{"identifier":"V","timestamp":1,"metadata":["a"]}}"#, "no value"),
      (#"{"version":{"identifier":"V","timestamp":1,"metadata":["a",{}]}}"#, "without data"),
      (#"{"version":{"identifier":"V","timestamp":1,"metadata":["a",{"data":"A"}]}}"#, "early"),
      (#"{"version":{"identifier":"V","timestamp":1,"metadata":["a",{"data":"="}]}}"#, "base64"),
      (
        #"{"version":{"identifier":"V","timestamp":1,"metadata":["a",{"data":""},"a",{"data":""}]}}"#,
        "twice"
      ),
      (#"{"version":{"identifier":"V","timestamp":1,"predecessors":{}}}"#, "idOfFirst"),
      (#"{"version":{"identifier":"V","timestamp":1,"predecessors":{"idOfFirst":"V"}}}"#, "own"),
      (
        #"{"version":{"identifier":"V","timestamp":1,"predecessors":{"idOfFirst":"A","idOfSecond":"A"}}}"#,
        "both"
      ),
      (#"{"version":{"identifier":"V","timestamp":1,"valueDataSize":-1}}"#, "size"),
      (
        #"{"version":{"identifier":"V","timestamp":1,"x":"# + String(repeating: "[", count: 99),
        "deeper"
      ),
    ])
  func refused(_ text: String, _ reason: String) throws {
    do {
      _ = try read(text, pieceSize: 16)
      Issue.record("taken: \(text)")
    } catch StoreError.invalid(let message) {
      #expect(message.hasPrefix("v: ") && message.contains(reason), "\(message)")
    }
  }

  @Test(
    "a change list that breaks a rule is refused",
    arguments: [
      "", "{}", "[", "[{}]", "[{}", #"[{"move":"a"}]"#, #"[{"remove":1}]"#, #"[{"remove":"a"},]"#,
      #"[{"insert":{"id":"a"}}]"#, #"[{"insert":{"data":""}}]"#,
      #"[{"insert":{"id":"a","data":"A"}}]"#,
      #"[{"insert":{"id":"a","data":"AA=A"}}]"#, #"[{"insert":{"id":"a","data":"AB=="}}]"#,
      #"[{"insert":{"id":"a","data":"A A="}}]"#, #"[{"insert":{"id":"a","data":"AAA=AAA="}}]"#,
      #"[{"insert":{"id":"a","data":"","data":""}}]"#,
      #"[{"remove":"a","update":{"id":"a","data":""}}]"#,
      #"[{"preserve":{"valueId":"a"}}]"#, #"[{"preserve":{"valueId":"a","storedVersionId":".."}}]"#,
      "[{\"remove\":\"\n\"}]", #"[{"remove":"a"}] ["#, #"[{"remove":"\x"}]"#,
    ])
  func refusedChanges(_ text: String) throws {
    #expect(throws: StoreError.self) { try changes(Array(text.utf8), pieceSize: 16) }
  }

  @Test("bytes that are not UTF-8 and keys without end are refused")
  func refusedBytes() throws {
    let start = Array(#"[{"remove":""#.utf8)
    #expect(throws: StoreError.self) { try changes(start + [0xFF] + Array("\"}]".utf8)) }
    #expect(throws: StoreError.self) {
      try changes(start + [0xED, 0xA0, 0x80] + Array("\"}]".utf8))
    }
    #expect(throws: StoreError.self) {
      try changes(start + [UInt8](repeating: 0x61, count: 70_000) + Array("\"}]".utf8))
    }
    #expect(throws: StoreError.self) {
      try changes(Array(#"[{"insert":{"id":"a","data":"AAAAAAAA"}}]"#.utf8), atMost: 5)
    }
  }

  @Test("base64 in any pieces is what Foundation makes")
  func base64() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    for count in Array(0..<40) + [1000, 4099] {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      var text: [UInt8] = []
      var encoder = Base64.Encoder()
      var start = 0
      while start < count {
        let length = min(count - start, Int.random(in: 1...9, using: &random))
        Array(bytes[start..<(start + length)]).withUnsafeBytes { encoder.encode($0, into: &text) }
        start += length
      }
      encoder.finish(into: &text)
      #expect(String(decoding: text, as: UTF8.self) == Data(bytes).base64EncodedString())
      var out: [UInt8] = []
      var decoder = Base64.Decoder()
      var isGood = true
      for character in text {
        isGood = [character].withUnsafeBytes { decoder.decode($0, into: &out) } && isGood
      }
      #expect(isGood && decoder.isComplete && out == bytes, "seed \(seed)")
    }
  }

  @Test("damaged files never trap", .timeLimit(.minutes(1)))
  func fuzz() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let version = Array(
      #"{"version":{"identifier":"V","timestamp":1.5,"predecessors":{"idOfFirst":"A"},"metadata":["k",{"data":"NDI="}]}}"#
        .utf8)
    let list = Array(
      #"[{"insert":{"id":"k\u00e9","data":"NDI=","storedVersionId":"V"}},{"remove":"x"}]"#.utf8)
    for round in 0..<4000 {
      var bytes = round % 2 == 0 ? version : list
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: at)
        default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: at)
        }
      }
      do throws(StoreError) {
        if round % 2 == 0 {
          _ = try Version(reading: WireInput(name: "v", bytes: bytes, pieceSize: 16))
        } else {
          try WireInput(name: "c", bytes: bytes, pieceSize: 16)
            .read(into: MemorySink(atMost: 1000)) { _ in }
        }
      } catch {
        guard case .invalid = error else {
          Issue.record("\(error), seed \(seed)")
          continue
        }
      }
    }
  }
}
