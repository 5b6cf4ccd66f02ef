import LLVSCore
import Platform
import TestSupport
import Testing

@testable import MountedTree

/// A journal beside a catalog that it does not belong to.
@Suite(.timeLimit(.minutes(1)))
struct StrayJournalTests {
  let directory: TemporaryDirectory
  var store: String { directory.file("s") }

  init() throws { directory = try TemporaryDirectory() }

  func catalog() throws -> [UInt8] {
    try FileSystem.read(store + "/store.sqlite", atMost: 64 << 20)
  }

  func restore(_ catalog: [UInt8]) throws {
    for suffix in ["", "-wal", "-shm"] where try FileSystem.exists("\(store)/store.sqlite\(suffix)")
    {
      try FileSystem.unlink("\(store)/store.sqlite\(suffix)")
    }
    try FileSystem.replace(store + "/store.sqlite", with: catalog, permissions: 0o600)
  }

  @Test(
    "pending changes made on versions that the catalog has lost stand on the head",
    arguments: [0, 1])
  func lostPredecessor(known: Int) throws {
    do {
      let mount = try MountedTree(directory.path)
      try mount.save("a", "one")
      if known > 0 { try mount.cut() }
    }
    let older = try catalog()
    do {
      let mount = try MountedTree(directory.path)
      for index in 0..<3 {
        try mount.save("b\(index)", "two")
        try mount.cut()
      }
      try mount.save("c", "pending")
      try mount.save("a", "pending, too")
    }
    try restore(older)
    do {
      let reader = try Store.open(path: store, mode: .reader)
      let faults = try LiveTree.faults(ofJournalIn: reader)
      #expect(faults.contains { $0.contains("lost") })
      #expect(try reader.verify().damage.contains { $0.contains("lost") })
    }
    do {
      let mount = try MountedTree(directory.path)
      #expect(mount.recovery.losses.contains { $0.contains("that were committed are lost") })
      #expect(mount.recovery.losses.contains { $0.contains("they apply to its newest now") })
      #expect(mount.text("c") == "pending" && mount.text("a") == "pending, too")
      let made = try #require(try mount.cut().cut)
      #expect(made.number.rawValue == UInt32(known + 1))
      #expect(made.first?.rawValue == (known > 0 ? 1 : nil))
      try mount.save("d", "later")
      try mount.cut()
    }
    let mount = try MountedTree(directory.path)
    #expect(mount.recovery.losses == [])
    #expect(mount.text("c") == "pending" && mount.text("d") == "later")
    #expect(try mount.store.verify().damage == [])
    #expect(try LiveTree.faults(ofJournalIn: mount.store) == [])
  }

  @Test("the journal of another store is refused by name, and the store opens without it")
  func foreign() throws {
    let other = try TemporaryDirectory()
    do {
      let mount = try MountedTree(other.path)
      try mount.save("theirs", "theirs")
    }
    do {
      let mount = try MountedTree(directory.path)
      try mount.save("ours", "ours")
      try mount.cut()
    }
    try FileSystem.removeTree(store + "/journal")
    try FileSystem.rename(other.file("s/journal"), to: store + "/journal")
    #expect(
      try LiveTree.faults(ofJournalIn: Store.open(path: store, mode: .reader)).contains {
        $0.contains("another store")
      })
    do {
      _ = try MountedTree(directory.path)
      Issue.record("it was replayed")
    } catch let error as StoreError {
      guard case .corrupt(let reason) = error else { throw error }
      #expect(reason.contains("belongs to another store"))
    }
    try FileSystem.removeTree(store + "/journal")
    let mount = try MountedTree(directory.path)
    #expect(mount.text("ours") == "ours")
  }

  @Test("a header that does not say whose it is is read as before")
  func silentHeader() throws {
    let header = JournalHeader(bootID: [1], head: 2, root: .empty, cut: 3)
    #expect(try JournalHeader(decoding: header.encoded()).store == nil)
    let telling = JournalHeader(
      bootID: [1], head: 2, root: .empty, cut: 3, store: [UInt8](repeating: 4, count: 16))
    #expect(try JournalHeader(decoding: telling.encoded()) == telling)
    #expect(telling.encoded().starts(with: header.encoded()))
  }
}
