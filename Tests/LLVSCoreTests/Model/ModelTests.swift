import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct ModelTests {
  @Test("ids of automatic versions are the published ones")
  func ids() throws {
    for vector in try DigestVectors.load().ids {
      var metadata: Version.Metadata = [:]
      for (key, value) in vector.metadata {
        metadata[Version.MetadataKey(key)] = Version.MetadataValue(data: Array(value.utf8))
      }
      let digest = Version.metadataDigest(metadata)
      #expect(digest.hex == vector.metadataDigest)
      let id = Version.ID.automaticMerge(
        first: Version.ID(vector.first),
        second: vector.second.isEmpty ? nil : Version.ID(vector.second),
        contentDigest: try #require(Digest(bytes: DigestVectors.bytes(vector.contentDigest))),
        metadataDigest: digest)
      #expect(id.rawValue == vector.id)
    }
  }

  @Test("random ids are upper-case UUIDs of version 4")
  func randomIDs() {
    var seen: Set<Version.ID> = []
    for _ in 0..<1000 {
      let id = Version.ID.random()
      let text = Array(id.rawValue.utf8)
      #expect(text.count == 36)
      #expect(text[14] == UInt8(ascii: "4"))
      #expect("89AB".utf8.contains(text[19]))
      #expect(seen.insert(id).inserted)
    }
  }

  @Test("attributes come back from their encoding, and only from it")
  func attributes() throws {
    var random = SeededRandom(seed: 11)
    for round in 0..<2000 {
      var attributes = Attributes()
      if Bool.random(using: &random) {
        attributes.mode = UInt32.random(in: 0...0o7777, using: &random)
      }
      if Bool.random(using: &random) {
        attributes.mtime = Attributes.Time(
          seconds: Int64.random(in: .min ... .max, using: &random),
          nanoseconds: UInt32.random(in: 0..<1_000_000_000, using: &random))
      }
      if Bool.random(using: &random) { attributes.uid = UInt32.random(in: 0...9, using: &random) }
      if Bool.random(using: &random) { attributes.gid = UInt32.random(in: 0...9, using: &random) }
      if Bool.random(using: &random) { attributes.device = .init(major: 1, minor: 3) }
      if Bool.random(using: &random) { attributes.linkID = Array(repeating: 7, count: 16) }
      for name in ["system.posix_acl_access", "system.posix_acl_default"]
      where Bool.random(using: &random) {
        attributes.extended.append(.init(name: Array(name.utf8), value: [2, 0, 0, 0]))
      }
      for number in 0..<Int.random(in: 0..<4, using: &random) {
        attributes.extended.append(
          .init(name: Array("user.\(number)".utf8), value: Array(repeating: 1, count: number * 9)))
      }
      #expect(attributes.fault == nil)
      var bytes = attributes.encoded
      #expect(bytes.withUnsafeBytes { Attributes(decoding: $0) } == attributes, "round \(round)")
      guard !bytes.isEmpty else { continue }
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8(
        1 << Int.random(in: 0..<8, using: &random))
      if Bool.random(using: &random) { bytes.removeLast() }
      if let other = bytes.withUnsafeBytes({ Attributes(decoding: $0) }) {
        #expect(other.encoded == bytes)
      }
    }
  }

  @Test(
    "other names of extended attributes are refused",
    arguments: ["user.", "user", "system.posix_acl", "system.posix_acl_access2", "trusted.a", ""])
  func otherNames(name: String) {
    var attributes = Attributes()
    attributes.extended = [.init(name: Array(name.utf8), value: [1])]
    #expect(attributes.fault != nil)
    let bytes = attributes.encoded
    #expect(bytes.withUnsafeBytes { Attributes(decoding: $0) } == nil)
  }

  @Test("a shortened entry keeps access control lists, unless no kernel would take them")
  func shortenedLists() throws {
    func entry(_ extended: [(String, Int)]) -> Entry {
      Entry(
        key: Key("f"), kind: .regular,
        attributes: Attributes(
          extended: extended.map {
            .init(name: Array($0.0.utf8), value: Array(repeating: 7, count: $0.1))
          }),
        stored: StoredContent(length: 0, digest: .ofNothing, content: .none),
        storedVersion: VersionNumber(1), revision: 3)
    }
    func kept(_ extended: [(String, Int)]) -> [String] {
      entry(extended).shortened.attributes.extended.map { String(decoding: $0.name, as: UTF8.self) }
    }
    let (access, inherited) = ("system.posix_acl_access", "system.posix_acl_default")
    #expect(kept([(access, 4000), (inherited, 4000)]) == [access, inherited])
    #expect(!entry([(access, 4000), (inherited, 4000)]).shortened.isShortened)
    #expect(kept([(access, 44), (inherited, 44), ("user.a", 9999)]) == [access, inherited])
    #expect(kept([(access, 5000), (inherited, 44), ("user.a", 9)]) == [])
    #expect(kept([(access, 44), ("user.a", 9)]) == [access, "user.a"])
  }

  @Test("paths and their keys are a bijection")
  func keys() {
    var random = SeededRandom(seed: 12)
    let pieces: [[UInt8]] =
      [
        "a", "/", "%llvs%", "%", "%41", "é", "e\u{301}", "日本", "👩‍👧", "\u{378}", "\u{FFFE}",
        "\u{E000}", " ",
        "\n", "가", "\u{1100}\u{1161}", "Å", "\u{212B}", "~",
      ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0x80]]
    var seen: [Key: [UInt8]] = [:]
    for _ in 0..<20_000 {
      let path = (0..<Int.random(in: 0..<5, using: &random)).flatMap { _ in
        pieces.randomElement(using: &random) ?? []
      }
      let key = KeyCoding.key(ofPath: path)
      #expect(KeyCoding.path(of: key) == path)
      #expect(String(validating: key.bytes, as: UTF8.self) != nil)
      #expect(seen[key] == nil || seen[key] == path)
      seen[key] = path
      // Any bytes as a key: what decodes encodes back, the rest is literal.
      if let decoded = KeyCoding.path(of: Key(bytes: path)) {
        #expect(KeyCoding.key(ofPath: decoded).bytes == path)
      }
    }
  }

  @Test("keys are plain, escaped or literal as the rule says")
  func keyExamples() {
    func key(_ path: String) -> String { KeyCoding.key(ofPath: Array(path.utf8)).rawValue }
    #expect(key("a b/ü~") == "a b/ü~")
    #expect(key("e\u{301}").utf8.elementsEqual("%llvs%e%CC%81".utf8))
    #expect(key("%llvs%x") == "%llvs%%25llvs%25x")
    #expect(key("\u{378}") == "%llvs%%CD%B8")
    #expect(KeyCoding.key(ofPath: [0x61, 0xFF, 0x7E]).rawValue == "%llvs%a%FF%7E")
    #expect(KeyCoding.path(of: Key("%llvs%plain")) == nil)
    #expect(KeyCoding.path(of: Key("%llvs%%ff")) == nil)
    #expect(KeyCoding.path(of: Key("%llvs%%4")) == nil)
    #expect(KeyCoding.path(of: Key("e\u{301}")) == nil)
  }

  @Test("metadata values hold JSON, and a version's line is read from it")
  func metadata() throws {
    let odd = "a\"b\\c\n\u{1}é"
    let back: String? = Version.MetadataValue(odd).value()
    #expect(back == odd)
    let numbers: [Int]? = Version.MetadataValue(data: Array("[1, 2]".utf8)).value()
    #expect(numbers == [1, 2])
    #expect(Version.line([.branch: Version.MetadataValue("work")]) == Branch(rawValue: "work"))
    #expect(Version.line([.branch: Version.MetadataValue(odd)]) == Branch(rawValue: odd))
    #expect(Version.line([.branch: Version.MetadataValue(data: [1, 2])]) == nil)
    #expect(Version.line([:]) == nil)
  }
}
