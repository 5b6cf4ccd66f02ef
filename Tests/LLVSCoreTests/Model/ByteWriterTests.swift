import LLVSCore
import Testing

@Suite("Bytes that are written into a buffer")
struct ByteWriterTests {
  @Test("a writer appends what an array appends")
  func appended() {
    var writer = ByteWriter()
    var array: [UInt8] = []
    for round in 0..<500 as Range<UInt64> {
      let value = round &* 0x9e37_79b9_7f4a_7c15
      writer.append(bigEndian: value)
      array.append(bigEndian: value)
      writer.append(bigEndian: UInt16(truncatingIfNeeded: value))
      array.append(bigEndian: UInt16(truncatingIfNeeded: value))
      writer.append(UInt8(truncatingIfNeeded: value))
      array.append(UInt8(truncatingIfNeeded: value))
      writer.append(varint: value >> (round % 60 + 1))
      array.append(varint: value >> (round % 60 + 1))
      let more = [UInt8](repeating: UInt8(round % 256), count: Int(round))
      writer.append(counted: more)
      array.append(counted: more)
      writer.append(contentsOf: more)
      array.append(contentsOf: more)
    }
    #expect(writer.count == array.count && !writer.isEmpty)
    let isSame = writer.array == array
    #expect(isSame)
    var twice = ByteWriter()
    twice.append(contentsOf: writer)
    twice.append(contentsOf: writer)
    let isTwice = twice.array == array + array
    #expect(isTwice)
  }

  @Test("integers are replaced, and the end is removed")
  func changed() {
    var writer = ByteWriter()
    #expect(writer.isEmpty && writer.array == [])
    writer.append(contentsOf: [1, 2, 3, 4, 5, 6])
    writer.replace(bigEndian: UInt16(0xABCD), at: 2)
    #expect(writer.array == [1, 2, 0xAB, 0xCD, 5, 6])
    writer.truncate(to: 3)
    #expect(writer.array == [1, 2, 0xAB])
    writer.append(contentsOf: [])
    writer.append(7)
    #expect(writer.array == [1, 2, 0xAB, 7])
  }

  @Test(
    "a writer that was emptied is used again, with its buffer and without", arguments: [0, 1 << 20])
  func emptied(limit: Int) {
    var writer = ByteWriter()
    writer.append(contentsOf: [UInt8](repeating: 1, count: 1000))
    writer.removeAll(keepingCapacity: limit)
    #expect(writer.isEmpty && writer.array == [])
    writer.append(contentsOf: [2, 3])
    #expect(writer.array == [2, 3])
  }
}
