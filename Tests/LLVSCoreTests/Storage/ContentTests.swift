import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// What a test stores and how it says what it knows of the bytes.
struct TestSource: ContentSource {
  var bytes: [UInt8]
  var base: StoredContent?
  /// Ranges that are unchanged or holes; between them nothing is known.
  var known: [(Range<UInt64>, isHole: Bool)] = []
  final class Count { var read = 0 }
  let count = Count()
  var length: UInt64 { UInt64(bytes.count) }

  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) {
    count.read += buffer.count
    bytes.withUnsafeBytes {
      buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<(Int(offset) + buffer.count)]))
    }
  }

  func extent(at offset: UInt64) throws(StoreError) -> ContentExtent {
    for (range, isHole) in known where range.contains(offset) {
      return isHole ? .hole(end: range.upperBound) : .unchanged(end: range.upperBound)
    }
    let next = known.map(\.0.lowerBound).filter { $0 > offset }.min() ?? length
    return .data(end: next)
  }
}

@Suite(.timeLimit(.minutes(2)))
struct ContentTests {
  struct Vectors: Decodable {
    struct Value: Decodable {
      var spec: [[Part]]
      var length: Int
      var valueDigest: String
    }
    enum Part: Decodable {
      case word(String)
      case number(Int)
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
          self = .number(number)
        } else {
          self = .word(try container.decode(String.self))
        }
      }
    }
    var values: [Value]
  }

  static func noise(_ seed: UInt64, _ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 32)
    var index: UInt64 = 0
    while bytes.count < count {
      var hasher = SHA256Hasher()
      hasher.update(Array("llvs noise".utf8))
      hasher.update(bigEndian: seed)
      hasher.update(bigEndian: index)
      bytes += hasher.finish().bytes
      index += 1
    }
    return Array(bytes.prefix(count))
  }

  static func bytes(_ spec: [[Vectors.Part]]) -> [UInt8] {
    spec.flatMap { part -> [UInt8] in
      guard part.count == 3, case .word(let kind) = part[0], case .number(let a) = part[1],
        case .number(let n) = part[2]
      else { return [] }
      return kind == "noise" ? noise(UInt64(a), n) : [UInt8](repeating: UInt8(a), count: n)
    }
  }

  static func readBack(_ store: Store, _ stored: StoredContent) throws -> [UInt8] {
    try store.contents.bytes(stored)
  }

  func store(_ directory: TemporaryDirectory) throws -> Store {
    try Store.open(path: directory.file("s"), create: true)
  }

  @Test("value digests are those of the published vectors, and the bytes read back")
  func vectors() throws {
    let url = Bundle.module.bundleURL.appendingPathComponent("Resources/vectors.json")
    let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
    let directory = try TemporaryDirectory()
    let store = try store(directory)
    #expect(vectors.values.count > 10)
    for value in vectors.values {
      let bytes = ContentTests.bytes(value.spec)
      #expect(bytes.count == value.length)
      let stored = try store.write { (transaction) throws(StoreError) in
        try transaction.write(TestSource(bytes: bytes))
      }
      #expect(stored.digest.hex == value.valueDigest, "\(value.spec)")
      #expect(try ContentTests.readBack(store, stored) == bytes)
    }
  }
}
