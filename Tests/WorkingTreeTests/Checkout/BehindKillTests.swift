import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Kills between the instant of a cut and its end, while programs are behind (docs/writes.md, rules 7 and 8).
@Suite(.timeLimit(.minutes(5)))
struct BehindKillTests {
  /// What comes together in a transition.
  enum Story: CaseIterable {
    case savesAgain, emptiesWhatIsTaken, removesDirectory, replacesDirectory, savesThroughHandle
    case savesByRename, unlinks
  }

  /// A tree before the transition.
  private struct Scene {
    let behind: BehindWork
    var window: () throws -> Void = {}
    var other: VersionNumber?
  }

  private func scene(_ story: Story) throws -> Scene {
    var scene = Scene(behind: try BehindWork())
    let behind = scene.behind
    let work = behind.work
    let (p, q) = (BehindWork.p, BehindWork.q)
    let text = BehindWork.text
    func others(_ values: [String: String?]) throws { scene.other = try work.others(values) }
    switch story {
    case .savesAgain, .savesByRename:
      let way: BehindWork.Way = story == .savesAgain ? .emptying : .renaming
      try behind.read("f")
      try behind.transition(["f": text([4: "four F"])])
      try behind.save("f", text([1: "one P"]), way)
      scene.window = { try behind.save("f", text([1: "one P and P"]), way) }
    case .emptiesWhatIsTaken:
      try behind.read("f", by: p)
      try behind.transition(["f": text([4: "four F"])])
      try behind.read("f", by: q)
      try behind.save("f", text([3: "three Q", 4: "four F"]), by: q)
      scene.window = { try behind.save("f", text([1: "one P"])) }
    case .removesDirectory, .replacesDirectory:
      for name in ["d", "e"] { try work.makeDirectory(name) }
      for name in ["d/x", "e/z"] { try work.save(name, name) }
      try behind.transition()
      try others(["d/y": "theirs", "f": text([4: "four F"])])
      scene.window = {
        try work.unlink("d/x")
        if story == .removesDirectory { return try work.removeDirectory("d") }
        try work.rename("e", "d")
      }
    case .savesThroughHandle:
      let (_, handle) = try work.open("f")
      try behind.transition(["f": text([4: "four F"])])
      try work.write("ONE", through: handle)
      try work.tree.flush(handle)
      try others(["f": text([3: "three F", 4: "four F"])])
      scene.window = {
        try work.write("TWO", through: handle, at: 4)
        try work.tree.flush(handle)
      }
    case .unlinks:
      try behind.read("f")
      try others(["f": text([4: "four F"])])
      scene.window = {
        try work.unlink("f")
        try behind.create("f", text([1: "one P"]))
      }
    }
    return scene
  }

  private func end(_ behind: BehindWork, _ other: VersionNumber?) throws -> [String: String] {
    try behind.transition(to: other)
    let texts = try behind.settled()
    try behind.expectNoConflict()
    return texts
  }

  @Test(
    "Whenever it is killed, the tree is as it was, and ends as without the kill",
    arguments: Story.allCases)
  func kills(story: Story) throws {
    DatabaseFaults.install()
    let plain = try scene(story)
    let without = try end(plain.behind, plain.other)
    // A kill before the commit leaves what programs did meanwhile to the next cut.
    let early = try scene(story)
    try early.window()
    let before = try end(early.behind, early.other)
    let scene = try scene(story)
    let (behind, images) = (scene.behind, try TemporaryDirectory(inMemory: true))
    var shown = [try behind.work.texts()]
    let isActing = Monitor(false)
    let calls = Monitor<[Bool]>([])
    let hasActed = Monitor(false)
    let disk = try PowerDisk(behind.path) { disk, call, _ in
      guard [.write, .sync, .truncate, .rename].contains(call), !isActing.withLock({ $0 }) else {
        return
      }
      let index = calls.withLock { calls in
        calls.append(hasActed.withLock { $0 })
        return calls.count
      }
      try? disk.image(at: images.file("\(index)"), .everything)
    }
    try behind.transition(
      to: scene.other,
      window: {
        isActing.withLock { $0 = true }
        try scene.window()
        shown.append(try behind.work.texts())
        isActing.withLock { $0 = false }
        hasActed.withLock { $0 = true }
      })
    disk.stop()
    shown.append(try behind.work.texts())
    let with = try end(behind, scene.other)
    let all = calls.withLock { $0 }
    #expect(all.contains(true) && all.contains(false))
    for (index, hasActed) in all.enumerated() {
      let note: Comment = "call \(index + 1) of \(all.count), \(hasActed)"
      let again = try BehindWork(opening: images.file("\(index + 1)"))
      #expect(again.work.opened.losses == [], note)
      let texts = try again.work.texts()
      #expect(hasActed ? shown[1...].contains(texts) : texts == shown[0], note)
      try again.check()
      #expect((hasActed ? [with, before] : [without]).contains(try end(again, scene.other)), note)
    }
  }
}
