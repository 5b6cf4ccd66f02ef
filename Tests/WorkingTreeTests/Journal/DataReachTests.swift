import Inodes
import LLVSCore
import Testing
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

@Suite("Ends of the bytes that a journal refers to")
struct DataReachTests {
  private func write(_ offset: UInt64, _ length: UInt64, in source: UInt32) -> JournalRecord {
    let extent = Extent(start: 0, length: length, offset: offset, source: source)
    return .change(Change(time: .zero, .write(InodeNumber(7), extent, [], seen: nil)))
  }

  @Test("a data file that is shorter than what was written, or gone, is told")
  func lengths() {
    var reach = DataReach()
    #expect(reach.isWithin([:]))
    reach.add(write(100, 50, in: 3))
    reach.add(write(10, 20, in: 3))
    reach.add(write(0, 8, in: 4))
    #expect(reach.isWithin([3: 150, 4: 8]))
    #expect(!reach.isWithin([3: 149, 4: 8]))
    #expect(!reach.isWithin([3: 150]))
  }

  @Test("what a node of an image has counts: its bytes, its saves and what a version took")
  func nodes() {
    func content(_ end: UInt64) -> FileContent {
      var content = FileContent()
      content.write(Extent(start: 0, length: end, offset: 0, source: 5))
      return content
    }
    for part in 0..<4 {
      var file = PendingFile(content: part == 0 ? content(40) : FileContent())
      let save = PendingFile.Save(content: content(40), time: .zero)
      if part == 1 { file.saved = save }
      if part == 2 { file.counted = save }
      if part == 3 { file.taken = content(40) }
      let node = PendingNode(
        kind: .regular, attributes: Attributes(), changed: .zero, file: file, names: [],
        stamp: .start)
      var reach = DataReach()
      reach.add(.node(InodeNumber(7), node))
      #expect(reach.isWithin([5: 40]))
      #expect(!reach.isWithin([5: 39]), "part \(part)")
    }
  }

  @Test("bytes of the recorded tree are in no data file")
  func recorded() {
    var reach = DataReach()
    reach.add(write(0, 1000, in: Extent.base))
    #expect(reach.isWithin([:]))
  }
}
