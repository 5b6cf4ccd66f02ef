import LLVSCore
import Platform
import TestSupport
import Testing

@testable import MountedTree

@Suite(.timeLimit(.minutes(1)))
struct EpochsTests {
  @Test("runs of epochs say the same as a table with a row for each", arguments: 0..<50)
  func model(_ number: Int) {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    func version() -> VersionNumber? {
      let number = UInt32.random(in: 0...6, using: &random)
      return number == 0 ? nil : VersionNumber(number)
    }
    let first = version()
    var (epochs, table) = (Epochs(first: first), [UInt64(1): first])
    for _ in 0..<200 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let (old, new) = (version(), version())
        epochs.replace(old, with: new)
        for (epoch, seen) in table where seen == old { table[epoch] = .some(new) }
      case 1:
        let (epoch, new) = (UInt64.random(in: 1...epochs.last, using: &random), version())
        epochs.set(epoch, new)
        table[epoch] = .some(new)
      default:
        let (epoch, new) = (epochs.last + 1, version())
        epochs.begin(epoch, new)
        epochs.begin(UInt64.random(in: 1...epoch, using: &random), version())
        table[epoch] = .some(new)
      }
      var again = Epochs()
      for (epoch, version) in epochs.beginnings { again.begin(epoch, version) }
      #expect(again == epochs, "seed \(seed)")
    }
    for epoch in 1...epochs.last {
      #expect(epochs[epoch] == table[epoch], "\(epoch), seed \(seed)")
    }
    #expect(epochs[epochs.last + 1] == nil && epochs.last == table.keys.max())
    #expect(epochs.runCount <= table.count)
  }

  @Test("what is forgotten is taken for the oldest that is known")
  func bound() {
    var epochs = Epochs(first: nil)
    for epoch in 2...30_000 as ClosedRange<UInt64> {
      epochs.begin(epoch, VersionNumber(UInt32(epoch)))
    }
    #expect(epochs.runCount <= 10_000 && epochs.runCount >= 5000)
    #expect(epochs[30_000] == .some(VersionNumber(30_000)))
    #expect(epochs[25_001] == .some(VersionNumber(25_001)))
    let oldest = 30_000 - UInt64(epochs.runCount) + 1
    #expect(epochs[3] == .some(VersionNumber(UInt32(oldest))))
  }

  @Test("versions of a session's own leave one run, in memory and in the journal")
  func ownVersions() throws {
    let directory = try TemporaryDirectory()
    let last: UInt64
    do {
      let mount = try MountedTree.unhurried(directory.path)
      for index in 0..<200 {
        try mount.save("f\(index % 7)", "\(index)")
        try mount.cut()
      }
      #expect(mount.tree.epochs.runCount == 1)
      last = mount.tree.epochs.last
      #expect(last >= 200)
      let journal = try FileSystem.list(mount.path + "/journal").filter { $0.hasSuffix(".journal") }
      for name in journal {
        let bytes = try FileSystem.read("\(mount.path)/journal/\(name)", atMost: 1 << 24)
        let kept = bytes.lastIndex { $0 != 0 } ?? 0
        #expect(kept < 4096, "\(name)")
      }
    }
    let mount = try MountedTree.unhurried(directory.path)
    #expect(mount.tree.epoch >= last)
    try mount.save("f0", "again")
    try mount.cut()
    #expect(try mount.head()["f0"] == "again")
    #expect(mount.tree.epochs.runCount == 1)
  }
}
