import LLVSCore
import Testing

@testable import MountedTree

@Suite(.timeLimit(.minutes(1)))
struct JournalFrameTests {
  @Test("a record is its frame and its meta bytes", arguments: [0, 1, 4096])
  func record(dataLength: Int) {
    let time = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 5)
    let changes: [Change] = [
      .cutMark(id: 7), .save(inode: 2, time: time, epoch: 3),
      .create(
        inode: 9, parent: 1, name: Array("a name".utf8), kind: .regular,
        attributes: Attributes(mode: 0o644), target: [UInt8](repeating: 1, count: 3000),
        time: time, saved: true),
    ]
    for change in changes {
      let meta = change.encoded()
      #expect(
        JournalFrame.record(dataLength: dataLength, change.encode)
          == JournalFrame.header(meta: meta, dataLength: dataLength) + meta)
    }
  }

  @Test("a journal of a newer format is refused with a sentence")
  func newerFormat() {
    var bytes = JournalHeader(bootID: [1], head: 1, root: MapRoot.empty, cut: 1).encoded()
    let last = JournalHeader.magic.count + 3
    bytes[last] += 1
    #expect {
      try JournalHeader(decoding: bytes)
    } throws: { error in
      guard case StoreError.fromTheFuture(let reason) = error else { return false }
      return reason
        == "the journal has format \(bytes[last]), this program knows up to \(bytes[last] - 1)"
    }
  }
}
