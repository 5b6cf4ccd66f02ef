import Control
import Events
import HistoryTree
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames
import WorkingTree

@testable import Grammar
@testable import TreeSupport

/// A value of many chunks whose own nodes rotted.
@Suite(.timeLimit(.minutes(1)))
struct DamagedValueTests {
  @Test(
    "a value whose nodes are damaged is listed, told by name when it is read, and can be replaced")
  func nodes() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("")
    var random = SeededRandom(seed: 3)
    let place: Location
    do {
      let mount = try MountedTree(path)
      try mount.save("long", random.bytes(2_000_000))
      try mount.save("other", "other")
      try mount.cut()
      let head = try #require(try mount.store.state().headMap)
      let entry = try #require(try mount.store.map(head).entry(at: Key("long")))
      guard case .tree(let found) = entry.stored.content else {
        Issue.record("a long value is a tree of chunks")
        return
      }
      place = found
    }
    let segments = directory.file("s/segments")
    let name = try #require(
      FileSystem.list(segments).first { Int($0.split(separator: ".")[0]) == Int(place.segment) }
    )
    let file = try File("\(segments)/\(name)", .readWrite)
    let at = UInt64(place.offset) + UInt64(place.length) / 2
    try file.write([try file.read(1, at: at)[0] ^ 4], at: at)
    let mount = try MountedTree(path)
    #expect(try mount.status("long").size == 2_000_000)
    #expect(throws: FSError.self) { try mount.bytes("long") }
    #expect(try mount.bytes("other") == Array("other".utf8))
    let log = EventLog(directory: mount.path).lastLines(10)
    #expect(log.contains { $0.contains(" error ") && $0.contains(" long: ") }, "\(log)")
    // So it is in versions.
    let service = ControlService(
      mount.tree, log: EventLog(directory: mount.path), opener: .standard)
    let meta = MetaTree(live: mount.tree, services: ControlMetaServices(service), calendar: .utc)
    var shown = try meta.metaDirectory(of: TreeSession.rootInode)
    for name in ["versions", try service.version("head").name, "long"] {
      shown = try meta.lookup(shown.status.inode, Array(name.utf8))
    }
    #expect(shown.status.size == 2_000_000)
    let long = try meta.open(shown.status.inode)
    #expect(throws: FSError.self) { try MetaWorkspace.text(long) }
    let after = EventLog(directory: mount.path).lastLines(10)
    #expect(after.contains { $0.contains(" long in version ") }, "\(after)")
    // A change of one block is taken, and waits for what cannot be read; a new content does not.
    let handle = try mount.open("long", .write)
    try mount.write(handle, [1], at: 700_000)
    try mount.close(handle)
    try mount.save("other", "changed")
    try mount.cut()
    #expect(try mount.bytes("other") == Array("changed".utf8))
    try mount.save("long", "short")
    try mount.cut()
    #expect(try mount.bytes("long") == Array("short".utf8))
  }
}
