import Inodes
import LLVSCore
import Testing

@testable import TreeSupport
@testable import WorkingTree

@Suite("Stamps of changes")
struct StampTests {
  private func change(_ operation: Change.Operation) -> Change {
    Change(time: Attributes.Time(seconds: 1, nanoseconds: 0), operation)
  }

  @Test("the release of an orphan, which no journal has, takes no stamp")
  func release() {
    let place = InodeName(directory: .root, name: FileName(Array("a".utf8)))
    let number = InodeNumber(5)
    var overlay = Overlay()
    overlay.apply(
      change(
        .create(
          number, at: place, kind: .regular, attributes: Attributes(), content: FileContent(),
          isSaved: false, seen: nil)))
    overlay.apply(change(.unlink(place, of: number, isKept: true)))
    #expect(overlay.nodes[number] != nil)
    let before = overlay.stamp
    overlay.apply(change(.release(number)))
    #expect(overlay.nodes[number] == nil)
    #expect(overlay.stamp == before)
  }
}
