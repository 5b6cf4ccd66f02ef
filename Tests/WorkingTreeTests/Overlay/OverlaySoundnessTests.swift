import Inodes
import LLVSCore
import Testing
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

@Suite("Overlays that a mount takes over as they are")
struct OverlaySoundnessTests {
  private let base = ModelTree()

  private func place(_ name: String, in directory: UInt64 = 1) -> InodeName {
    InodeName(directory: InodeNumber(directory), name: FileName(name))
  }

  private func create(
    _ number: UInt64, at place: InodeName, _ kind: EntryKind, in overlay: inout Overlay
  ) {
    overlay.apply(
      Change(
        time: .zero,
        .create(
          InodeNumber(number), at: place, kind: kind, attributes: Attributes(),
          content: FileContent(), isSaved: true, seen: nil)))
  }

  /// The directories `d` and `d/e`, and the file `d/e/f`.
  private var overlay: Overlay {
    var overlay = Overlay()
    create(2, at: place("d"), .directory, in: &overlay)
    create(3, at: place("e", in: 2), .directory, in: &overlay)
    create(4, at: place("f", in: 3), .regular, in: &overlay)
    return overlay
  }

  @Test("What programs made and moved is sound")
  func sound() throws {
    var overlay = overlay
    #expect(try overlay.isSound(over: base))
    overlay.apply(
      Change(
        time: .zero,
        .rename(
          InodeNumber(4), from: place("f", in: 3), to: place("f"), over: nil, isKept: false,
          seen: nil)))
    #expect(try overlay.isSound(over: base))
  }

  @Test("A directory that is below itself is not")
  func circle() throws {
    var overlay = overlay
    overlay.apply(
      Change(
        time: .zero,
        .rename(
          InodeNumber(2), from: place("d"), to: place("x", in: 3), over: nil, isKept: false,
          seen: nil)))
    #expect(try !overlay.isSound(over: base))
  }

  @Test("A change without its inode, a name without its change, and a name in a file are not")
  func torn() throws {
    var lacking = overlay
    lacking.nodes[InodeNumber(4)] = nil
    #expect(try !lacking.isSound(over: base))
    var unnamed = overlay
    unnamed.changes[place("f", in: 3)] = nil
    #expect(try !unnamed.isSound(over: base))
    var inFile = overlay
    create(5, at: place("g", in: 4), .regular, in: &inFile)
    #expect(try !inFile.isSound(over: base))
  }
}
