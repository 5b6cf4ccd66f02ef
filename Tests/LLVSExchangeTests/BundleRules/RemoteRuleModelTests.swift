import Platform
import TestSupport
import Testing

@testable import LLVSExchange

/// The rules of a remote of bundles lose nothing, in any order of steps; without any one of them they
/// do.
@Suite("The rules of a remote of bundles", .timeLimit(.minutes(4)))
struct RemoteRuleModelTests {
  private static func expectNoLoss(_ model: RemoteModel, atLeast states: Int) {
    let (loss, count) = model.search()
    #expect(loss == nil, "\(loss?.joined(separator: "; ") ?? "")")
    #expect(count >= states, "only \(count) states")
  }

  private static func expectLoss(_ model: RemoteModel) {
    let (loss, count) = model.search()
    #expect(loss != nil, "nothing lost in \(count) states")
  }

  @Test(
    "a sender and a remover lose nothing with a grace of twice the lag less one", arguments: 1...3)
  func senderAndRemover(lag: Int) {
    Self.expectNoLoss(RemoteModel(lag: lag, grace: 2 * lag - 1), atLeast: 200)
  }

  @Test("two removers that drop what the other has lose nothing", arguments: 1...3)
  func twoRemovers(lag: Int) {
    for twice in [false, true] where !(twice && lag == 3) {
      Self.expectNoLoss(
        RemoteModel(
          lag: lag, grace: 2 * lag - 1, replacesTwice: twice, writers: ["B", "C"], isNeeded: true),
        atLeast: 200)
    }
  }

  @Test("a sender and two removers that are interrupted lose nothing", arguments: 1...2)
  func allThree(lag: Int) {
    Self.expectNoLoss(
      RemoteModel(
        lag: lag, grace: 2 * lag - 1, writers: ["A", "B", "C"], removerCrashes: lag == 1 ? 1 : 0),
      atLeast: 2000)
  }

  @Test("if announced bundles counted, two removers would lose something")
  func announcedCount() {
    Self.expectLoss(
      RemoteModel(
        lag: 1, grace: 4, announcedCountForNobody: false, writers: ["B", "C"], isNeeded: true))
  }

  @Test("if announcements were not repeated, two removers would lose something")
  func notRepeated() {
    Self.expectLoss(
      RemoteModel(
        lag: 1, grace: 4, repeats: false, replacesTwice: true, writers: ["B", "C"],
        isNeeded: true))
    // That is all that makes the difference.
    Self.expectNoLoss(
      RemoteModel(lag: 1, grace: 4, replacesTwice: true, writers: ["B", "C"], isNeeded: true),
      atLeast: 200)
  }

  @Test("if a list could be of any age and none followed the PUT, a sender would lose something")
  func oldList() {
    Self.expectLoss(RemoteModel(lag: 1, grace: 4, listAge: nil, listsAgain: false))
  }

  @Test("a grace of twice the lag less two would lose something", arguments: 1...3)
  func shortGrace(lag: Int) {
    Self.expectLoss(RemoteModel(lag: lag, grace: 2 * lag - 2))
  }

  @Test("small bundles go without a grace period, because no other writer relies on them")
  func small() {
    for lag in 1...2 {
      for writers: Set<String> in [["A", "B"], ["A", "B", "C"]] {
        Self.expectNoLoss(
          RemoteModel(
            lag: lag, grace: 0, writers: writers, removerCrashes: writers.count == 2 ? 1 : 0,
            areSmall: true), atLeast: 100)
      }
      Self.expectNoLoss(
        RemoteModel(
          lag: lag, grace: 0, replacesTwice: lag == 1, writers: ["B", "C"], isNeeded: true,
          areSmall: true), atLeast: 100)
    }
    for writers: Set<String> in [["A", "B"], ["B", "C"]] {
      Self.expectLoss(
        RemoteModel(
          lag: 1, grace: 0, writers: writers, isNeeded: writers.contains("C"), areSmall: true,
          smallCountForAll: true))
    }
  }

  @Test(
    "a sender that cannot read an announcement relies on no bundle that it may name",
    arguments: 1...2)
  func unreadable(lag: Int) {
    let grace = 2 * lag - 1
    for twice in [false, true] {
      Self.expectNoLoss(
        RemoteModel(lag: lag, grace: grace, replacesTwice: twice, isUnreadable: true), atLeast: 200)
    }
    Self.expectLoss(
      RemoteModel(lag: lag, grace: grace, isUnreadable: true, ignoresUnreadable: true))
  }

  @Test(
    "four writers lose nothing in long random runs with late and doubled PUTs",
    arguments: 0..<12, [false, true])
  func random(seed: Int, hasSmall: Bool) {
    var options = RandomRemote.Options()
    options.hasSmall = hasSmall
    options.hasPatches = seed % 3 != 0
    if seed % 2 == 1 { options.unreadable = 0.1 }
    var world = RandomRemote(seed: UInt64(seed), options)
    let lost = world.run(steps: 2000)
    #expect(lost == nil, "seed \(seed): \(lost ?? "")")
    #expect(world.sent > 20 && world.removed > 5, "\(world.sent) sent, \(world.removed) removed")
  }

  @Test("if a patch were enough where a whole item goes, patches would lose their bases")
  func patchesForWhole() {
    var options = RandomRemote.Options()
    options.hasPatches = true
    options.patchesReplaceWhole = true
    let seed = (0..<60).first { seed in
      var world = RandomRemote(seed: UInt64(seed), options)
      return world.run(steps: 2000) != nil
    }
    #expect(seed != nil)
  }

  @Test("damaged bundles that are named once they are filled lose nothing", arguments: 0..<12)
  func filled(seed: Int) {
    var options = RandomRemote.Options()
    options.hasFilled = true
    options.hasSmall = seed % 2 == 1
    var world = RandomRemote(seed: UInt64(seed), options)
    let lost = world.run(steps: 2000)
    #expect(lost == nil, "seed \(seed): \(lost ?? "")")
    #expect(world.damaged > 2 && world.removed > 5, "\(world.damaged), \(world.removed)")
  }

  @Test("random runs find a loss where filled bundles count")
  func filledCount() {
    var options = RandomRemote.Options()
    (options.hasFilled, options.filledCount) = (true, true)
    let seed = (0..<60).first { seed in
      var world = RandomRemote(seed: UInt64(seed), options)
      return world.run(steps: 2000) != nil
    }
    #expect(seed != nil)
  }

  /// Lives in which objects are damaged and lost, as many as `LLVS_TEST_LIVES` says.
  private static let damagedLives = Int(SystemProcess.environment("LLVS_TEST_LIVES") ?? "") ?? 40

  private static func damaged(_ change: (inout RandomRemote.Options) -> Void = { _ in })
    -> RandomRemote.Options
  {
    var options = RandomRemote.Options()
    options.hasDamage = true
    change(&options)
    return options
  }

  @Test(
    "after damage, whatever a new store cannot read is a hole, and after a verification no hole stays"
  )
  func unneeded() {
    var (damaged, mended) = (0, 0)
    for seed in 0..<Self.damagedLives {
      var world = RandomRemote(
        seed: UInt64(seed),
        Self.damaged {
          $0.hasSmall = seed % 2 == 1
          $0.hasPatches = seed % 3 != 0
        })
      let lost = world.run(steps: 300)
      #expect(lost == nil, "seed \(seed): \(lost ?? "")")
      damaged += world.damaged
      mended += world.mendedVersions
    }
    #expect(damaged > Self.damagedLives / 2 && mended > Self.damagedLives, "\(damaged), \(mended)")
  }

  @Test(
    "random runs find a loss if a store compares nothing after a bundle was stated as not needed")
  func unneededLosses() {
    let options = Self.damaged { $0.comparesAgain = false }
    let seed = (0..<40).first { seed in
      var world = RandomRemote(seed: UInt64(seed), options)
      return world.run(steps: 300) != nil
    }
    #expect(seed != nil)
  }

  @Test("random runs find a loss where announced bundles count")
  func randomLosses() {
    // Losses that take a rarer coincidence are found above, where every order is tried.
    var options = RandomRemote.Options()
    options.crash = 0.05
    options.announcedCount = true
    let seed = (0..<60).first { seed in
      var world = RandomRemote(seed: UInt64(seed), options)
      return world.run(steps: 2000) != nil
    }
    #expect(seed != nil)
  }
}
