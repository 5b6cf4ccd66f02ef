import Inodes
import LLVSCore
import Testing
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

/// The pending state of a file after a cut took a save of it.
@Suite(.timeLimit(.minutes(1)))
struct TakenSaveTests {
  private let number = InodeNumber(7)
  private let place = InodeName(directory: .root, name: FileName("f".utf8))

  /// A file that was saved with two bytes and again with three, and is being written.
  private func overlay() -> Overlay {
    var overlay = Overlay()
    let create = Change.Operation.create(
      number, at: place, kind: .regular, attributes: Attributes(), content: FileContent(),
      isSaved: false, seen: nil)
    let steps: [(Int64, Change.Operation)] = [
      (0, create), (1, write(2)), (2, .save(number)), (10, write(3)), (11, .save(number)),
      (11, write(4)),
    ]
    for (second, operation) in steps {
      overlay.apply(Change(time: .init(seconds: second, nanoseconds: 0), operation))
    }
    return overlay
  }

  private func write(_ size: UInt64) -> Change.Operation {
    .write(number, Extent(start: size - 1, length: 1, offset: 0, source: 1), [], seen: nil)
  }

  private func follow(_ save: (PendingFile) -> PendingFile.Save?) throws -> PendingFile {
    var overlay = overlay()
    let file = try #require(overlay.nodes[number]?.file)
    var taken = TakenCut(at: overlay.beginCut())
    taken.names[place] = TakenCut.Name(.head, isThere: true)
    taken.nodes[number] = TakenCut.Node(
      .head, save: save(file), on: nil, attributes: try #require(overlay.nodes[number]).attributes
    )
    let base = ModelTree()
    base.put(ModelTree.Inode(marks: [1]), number)
    base.set(place, number)
    try overlay.follow(
      NewHead(base: base, taken: taken, isHeld: { _ in false }, renumber: { _ in }))
    return try #require(overlay.nodes[number]?.file)
  }

  @Test("a newer save that did not count stays when a cut takes an older one")
  func older() throws {
    let file = try follow(\.counted)
    #expect(file.saved?.content.size == 3)
    #expect(file.counted == nil)
  }

  @Test("a save that did not count stays when a cut takes attributes alone")
  func attributes() throws {
    #expect(try follow { _ in nil }.saved?.content.size == 3)
  }

  @Test("the newest save is gone once a cut took it")
  func newest() throws {
    let file = try follow(\.saved)
    #expect(file.saved == nil)
    #expect(file.counted == nil)
    #expect(file.isUnsaved)
  }
}
