import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite("Segments that are full", .timeLimit(.minutes(1)))
struct SegmentTests {
  @Test("whatever fills a segment, nothing that was written at its end is missing")
  func rollover() throws {
    for seed in 0..<6 as Range<UInt64> {
      let directory = try TemporaryDirectory()
      let path = directory.file("s")
      var random = SeededRandom(seed: seed)
      var written: [(id: Version.ID, key: Value.ID, data: [UInt8])] = []
      do {
        let store = try Store.open(path: path, mode: .writer, create: true)
        store.limitSegments(to: 20_000)
        for number in 0..<60 {
          let key = Value.ID("k\(number % 9)")
          let data = random.bytes(Int.random(in: 200...9000, using: &random))
          let version = try store.makeVersion(
            basedOnPredecessor: written.last?.id, updating: [Value(id: key, data: data)])
          written.append((version.id, key, data))
        }
      }
      #expect(try FileSystem.list("\(path)/segments").count > 8)
      let store = try Store.open(path: path, mode: .writer)
      for (id, key, data) in written {
        #expect(try store.value(id: key, at: id)?.data == data, "seed \(seed)")
      }
      #expect(try store.verify().isSound, "seed \(seed)")
    }
  }
}
