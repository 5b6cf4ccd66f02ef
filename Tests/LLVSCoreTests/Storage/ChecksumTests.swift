import LLVSCore
import Testing

/// What stands in stores: whichever way a processor takes to a sum, it is this one.
struct ChecksumTests {
  @Test("Sums of bytes of every length are XXH3-64")
  func sums() {
    let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let known: [(count: Int, seed: UInt64, sum: UInt64)] = [
      (0, 0, 0x2d06800538d394c2),
      (0, 42, 0xb029411ff43d84d2),
      (3, 0, 0xc3489259e968ad9e),
      (3, 42, 0x534caa7ae6ccf938),
      (8, 0, 0xb88dee77f6bf6980),
      (8, 42, 0x7b954fc823483166),
      (16, 0, 0x9da23836adf2be1e),
      (16, 42, 0x93b3fa7dc2d7c0df),
      (100, 0, 0x6dbb812cf19d012e),
      (100, 42, 0x618671bc27428ac8),
      (200, 0, 0x7c64f3b17285e96a),
      (200, 42, 0x3a89540324083d55),
      (240, 0, 0x4917a75c0ef8eed7),
      (240, 42, 0x1a71cf2c4bb35242),
      (241, 0, 0x541b19226f0052e8),
      (241, 42, 0x30aa8f89cc1dfbfc),
      (1000, 0, 0xd1db6a0afea2cc82),
      (1000, 42, 0xc8d950a1beb66035),
      (4096, 0, 0x5c722d9ceb6f9064),
      (4096, 42, 0x2e7058b487ce7fa0),
      (65536, 0, 0x9ae973f97c1f3eba),
      (65536, 42, 0x15a2f5225518bc3e),
      (70000, 0, 0xf3d9f0a7d97f1c42),
      (70000, 42, 0xb0f9e92a215bada6),
    ]
    for (count, seed, sum) in known {
      bytes[..<count].withUnsafeBytes { #expect(Checksum.of($0, seed: seed) == sum) }
    }
  }
}
