import Platform
import TestSupport
import Testing

@testable import LLVSExchange
@testable import StoreSupport

@Suite struct SpoolTests {
  @Test("What comes in takes no room for its zeros, and is what was sent")
  func spool() throws {
    let directory = try TemporaryDirectory()
    let spool = Spool(directory: directory.path, memoryLimit: 300_000)
    var random = SeededRandom(seed: 5)
    var sent: [UInt8] = []
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    for piece in [random.bytes(1000), zeros, zeros, random.bytes(70_000), zeros, [1], zeros] {
      try piece.withUnsafeBytes { try spool.append($0) }
      sent += piece
    }
    let (rest, file, length) = try spool.drain()
    #expect(rest.isEmpty && length == UInt64(sent.count))
    let stored = try #require(file)
    #expect(try stored.read(sent.count + 1, at: 0) == sent)
    #expect(try stored.status().allocated < 1 << 20)
  }
}
