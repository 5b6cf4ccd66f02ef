import Grammar
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

/// What a mount needs of old versions: for each kind a value that no other kind keeps.
@Suite("Roots of a mount", .timeLimit(.minutes(2)))
struct OutsideRootTests {
  let clock = TurnedClock()

  private struct Sample {
    var space: ControlWorkspace
    var version: VersionNumber
    var handle: LiveHandle?
  }

  private func number(_ space: ControlWorkspace, _ name: String) throws -> VersionNumber {
    try #require(try space.store.version(named: name)).number
  }

  private static func files(below path: String) throws -> Set<String> {
    var (files, open): (Set<String>, [String]) = ([], [path])
    while let next = open.popLast() {
      if try FileSystem.status(next).kind == .directory {
        open += try FileSystem.list(next).map { "\(next)/\($0)" }
      } else {
        files.insert(next)
      }
    }
    return files
  }

  private func make(_ kind: OutsideRootKind) throws -> Sample {
    let space = try ControlWorkspace(clock: clock.clock)
    let folder = space.directory.file("hub")
    func addHub(_ form: String = "") throws {
      try FileSystem.makeDirectory(folder)
      try space.service.setPeer("hub", address: Array("\(form)\(folder)".utf8))
    }
    switch kind {
    case .workingTree:
      let first = try space.fill(1)[0]
      // A change that is not saved is made on the bytes of the first version.
      let status = try space.tree.lookup(TreeSession.rootInode, Array("big.txt".utf8))
      let handle = try space.tree.open(status.node, mode: [.write])
      _ = try [UInt8]([65]).withUnsafeBytes { try space.tree.write(handle, at: 9, $0) }
      return Sample(space: space, version: try number(space, first), handle: handle)
    case .openHistory:
      let versions = try space.fill(3)
      let record = try #require(try space.store.version(named: versions[1]))
      let entry = try #require(try space.store.map(of: record).entry(at: Key("big.txt")))
      _ = space.service.openHistory.insert(entry.stored)
      return Sample(space: space, version: record.number)
    case .unsent:
      let versions = try space.fill(3)
      try addHub()
      return Sample(space: space, version: try number(space, versions[1]))
    case .lastSent:
      try addHub()
      let versions = try space.fill(2)
      try space.run("send")
      try space.fill(3)
      return Sample(space: space, version: try number(space, versions[1]))
    case .lastGiven, .awaited:
      let other = try ControlWorkspace(clock: clock.clock)
      let form = kind == .awaited ? "plain+" : ""
      try addHub(form)
      try other.service.setPeer("hub", address: Array("\(form)\(folder)".utf8))
      let versions = try other.fill(2)
      try other.run("send")
      try space.run("sync")
      if kind == .awaited {
        // The next version is damaged there.
        let before = try Self.files(below: "\(folder)/changes")
        try other.write("big.txt", "next")
        try other.run("sync")
        let new = try Self.files(below: "\(folder)/changes").subtracting(before)
        #expect(new.count == 1)
        for file in new {
          try File(file, [.readWrite, .truncate]).write(Array("damaged".utf8), at: 0)
        }
        #expect(try space.failure("retrieve") == .damaged)
      }
      try space.fill(3)
      _ = try space.failure("send")
      return Sample(space: space, version: try number(space, versions[1]))
    }
  }

  @Test("a value that a mount needs is read after forgetting", arguments: OutsideRootKind.allCases)
  func each(kind: OutsideRootKind) throws {
    let sample = try make(kind)
    let (space, store) = (sample.space, sample.space.store)
    let record = try #require(try store.version(sample.version))
    let entry = try #require(try store.map(of: record).entry(at: Key("big.txt")))
    let own = try space.service.outsideRoots([kind])
    #expect(own.versions.contains(record.number) || own.contents.contains(entry.stored))
    let others = OutsideRootKind.allCases.filter { other in
      // The version that came last is the one that later ones continue from.
      other != kind && !(kind == .awaited && other == .lastGiven)
    }
    let rest = try space.service.outsideRoots(others)
    #expect(!rest.versions.contains(record.number) && !rest.contents.contains(entry.stored))
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    try space.run("compact")
    let reader = try Store.open(path: store.path, mode: .reader)
    #expect(try reader.hasBytes(of: entry.stored))
    #expect(try reader.contents.bytes(entry.stored).count == Int(entry.stored.length))
    #expect(try reader.verify().isSound)
    if let handle = sample.handle { try space.tree.release(handle) }
  }
}
