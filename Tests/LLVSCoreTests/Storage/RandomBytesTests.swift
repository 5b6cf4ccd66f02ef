import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

@Suite struct RandomBytesTests {
  private func isLikely(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { RandomBytes.isLikely($0) }
  }

  @Test("chance is told, whatever its length")
  func chance() {
    var random = SeededRandom(seed: 5)
    var told = 0
    for _ in 0..<400 {
      if isLikely(random.bytes(Int.random(in: 1024...9000, using: &random))) { told += 1 }
    }
    #expect(told >= 396)
    #expect(isLikely(random.bytes(262_144)))
  }

  @Test("what a compressor makes shorter by an eighth is tried")
  func worthIt() {
    var random = SeededRandom(seed: 6)
    let page = random.bytes(2048)
    let cases: [[UInt8]] = [
      [UInt8](repeating: 0, count: 4096),
      Array(String(repeating: "let value = store.count + index\n", count: 200).utf8),
      // Less than seven bits a byte, six bits a byte, and chance beside none.
      random.bytes(4096).map { $0 % 90 },
      random.bytes(65_536).map { $0 & 63 },
      random.bytes(2048) + [UInt8](repeating: 32, count: 2048),
      // Even in its bytes, but every page is there twice.
      page + page,
      (0..<64).flatMap { _ in page },
      // Too short to say.
      random.bytes(1000),
    ]
    for (index, bytes) in cases.enumerated() {
      #expect(!isLikely(bytes), "case \(index)")
      if index < 7 {
        let packed = bytes.withUnsafeBytes { Compression().compressed($0, level: 1) }
        #expect(packed != nil, "case \(index)")
      }
    }
  }
}
