import Inodes
import LLVSCore
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Files that are written, saved and written again, at seconds of a clock.
@Suite
struct SaveChoiceTests {
  private let number = InodeNumber(7)
  private let place = InodeName(directory: .root, name: FileName("f".utf8))

  private func overlay(
    _ steps: [(Int, Change.Operation)]
  ) -> Overlay {
    var overlay = Overlay()
    let create = Change.Operation.create(
      number, at: place, kind: .regular, attributes: Attributes(), content: FileContent(),
      isSaved: false, seen: nil)
    for (second, operation) in [(0, create)] + steps {
      overlay.apply(Change(time: .init(seconds: Int64(second), nanoseconds: 0), operation))
    }
    return overlay
  }

  private func write(_ size: UInt64, steady: Bool = false) -> Change.Operation {
    .write(
      number, Extent(start: size - 1, length: 1, offset: 0, source: 1), steady ? .steady : [],
      seen: nil)
  }

  private func taken(
    _ overlay: Overlay, _ reason: CutReason, later: Overlay? = nil
  ) -> UInt64? {
    guard let file = overlay.nodes[number]?.file else { return nil }
    var choice = SaveChoice(reason, settle: 2_000_000_000)
    if let later { choice.later = later.nodes }
    return choice.save(of: number, file)?.content.size
  }

  @Test("Every save counts for a command, and a save that a write broke for no other cut")
  func broken() {
    let tree = overlay([(1, write(1)), (2, .save(number)), (3, write(2))])
    #expect(taken(tree, .command) == 1)
    #expect(taken(tree, .quiet) == nil)
    #expect(taken(tree, .overdue) == nil)
  }

  @Test("A save that had its quiet counts, also when a newer one does not")
  func quiet() {
    let steps = [(1, write(1)), (2, .save(number)), (5, write(2)), (6, .save(number))]
    let tree = overlay(steps + [(7, write(3))])
    #expect(taken(tree, .quiet) == 1)
    #expect(taken(tree, .command) == 2)
    #expect(taken(overlay(steps), .quiet) == 2)
  }

  @Test("A save counts for an overdue cut if it had its quiet after the cut's instant")
  func overdue() {
    let steps = [(1, write(1)), (2, .save(number))]
    let tree = overlay(steps)
    #expect(taken(tree, .overdue, later: overlay(steps + [(3, write(2))])) == nil)
    #expect(taken(tree, .overdue, later: overlay(steps + [(4, write(2))])) == 1)
    let again = overlay(steps + [(3, write(2)), (4, .save(number))])
    #expect(taken(tree, .overdue, later: again) == nil)
    let later = overlay(steps + [(5, write(2)), (6, .save(number))])
    #expect(taken(tree, .overdue, later: later) == 1)
  }

  @Test("What fsync saved counts whatever is written afterwards")
  func synced() {
    let tree = overlay([(1, write(1)), (2, .save(number, isFirm: true)), (2, write(2))])
    #expect(taken(tree, .quiet) == 1)
  }

  @Test("A log counts for an overdue cut as it stands")
  func log() {
    let steps = [(1, write(1, steady: true)), (2, .save(number))]
    let later = overlay(steps + [(3, write(2, steady: true))])
    #expect(taken(overlay(steps), .overdue, later: later) == 1)
  }

  @Test("A save whose bytes cannot be read is left out for the one before")
  func unreadable() throws {
    let tree = overlay([(1, write(1)), (2, .save(number)), (5, write(2)), (6, .save(number))])
    let file = try #require(tree.nodes[number]?.file)
    var choice = SaveChoice(.command, settle: 2_000_000_000)
    choice.unreadable[number] = [try #require(file.saved).content]
    #expect(choice.save(of: number, file)?.content.size == 1)
    #expect(choice.leavesOut(number, file))
  }
}
