import Testing

@testable import LLVSCore
@testable import StoreSupport

struct RunBufferTests {
  private static func item(_ index: Int) -> [UInt8] {
    let value = Array("value \(index)".utf8)
    return MapItem.encode(
      Entry(
        key: Key("key \(1_000_000 + index)"), kind: .regular, attributes: Attributes(),
        stored: StoredContent(
          length: UInt64(value.count), digest: Digest.of(value), content: .inline(value)),
        storedVersion: VersionNumber(1), revision: 1))
  }

  @Test("a node has no more room than it needs, whatever runs were before it")
  func room() {
    var run = RunBuffer(level: 0)
    for index in 0..<600 { run.append(Self.item(index)) }
    run.reset()
    for index in 0..<20 { run.append(Self.item(index)) }
    let node = run.node(0..<20)
    #expect(node.entryDigests == (0..<20).map { node.entryDigest($0) })
    #expect(node.entryDigests.capacity < 30)
    #expect(node.bytes.capacity < node.bytes.count + 64)
    #expect(node.starts.capacity < 40)
  }
}
