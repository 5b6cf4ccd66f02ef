import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import TreeSupport

/// Versions of so many files that two threads share the work.
@Suite(.timeLimit(.minutes(3)))
struct LongCutTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test("a version of many files holds each as it was saved, whatever kind of change it is")
  func kinds() throws {
    let mount = try MountedTree(directory.path)
    var random = SeededRandom(seed: 71)
    var wanted: [String: [UInt8]] = [:]
    func save(_ path: String, _ bytes: [UInt8]) throws {
      try mount.save(path, bytes)
      wanted[path] = bytes
      if path == "d3/f3" {
        for link in wanted.keys.filter({ $0.contains("link") }) { wanted[link] = bytes }
      }
    }
    for number in 0..<4 { try mount.makeDirectory("d\(number)") }
    for round in 0..<3 {
      for index in 0..<400 {
        // Empty, in the map, in a chunk, in several; texts, chance, and the same twice.
        let length = [0, 5, 128, 129, 1500, 4096, 65_536, 65_537][index % 8]
        var bytes =
          index % 3 == 0
          ? Array("line \(index % 30) of round \(round)\n".utf8) : random.bytes(length)
        while bytes.count < length, !bytes.isEmpty { bytes += bytes }
        try save("d\(index % 4)/f\(index)", bytes)
      }
      let outcome = try mount.cut()
      if round == 0 { #expect(outcome.summary.new == 404) }
      if round > 0 { #expect(outcome.summary.changed > 200) }
      // Removed, renamed and linked beside the many that change.
      for index in stride(from: 1, to: 400, by: 40) {
        try mount.unlink("d\(index % 4)/f\(index)")
        wanted["d\(index % 4)/f\(index)"] = nil
      }
      for index in stride(from: 2, to: 400, by: 40) {
        let (old, new) = ("d\(index % 4)/f\(index)", "d0/moved\(index)")
        try mount.rename(old, new)
        wanted[new] = wanted.removeValue(forKey: old)
      }
      try mount.link("d3/f3", "d1/link\(round)")
      wanted["d1/link\(round)"] = wanted["d3/f3"]
    }
    _ = try mount.cut()
    let head = try #require(try mount.store.state().head)
    let record = try #require(try mount.store.version(head))
    let map = mount.store.map(of: record)
    #expect(map.count == UInt64(wanted.count + 4))
    for (path, bytes) in wanted {
      let entry = try #require(try map.entry(at: Key(path)))
      #expect(try mount.store.contents.bytes(entry.stored) == bytes, "\(path)")
      #expect(try mount.bytes(path) == bytes, "\(path)")
    }
    #expect(try mount.store.verify().isSound)
  }

  @Test("bytes that rotted in one of many files keep that one out, and no other")
  func rot() throws {
    let mount = try MountedTree(directory.path)
    var random = SeededRandom(seed: 72)
    let all = (0..<300).map { _ in random.bytes(2000) }
    for (index, bytes) in all.enumerated() { try mount.save("f\(index)", bytes) }
    try mount.tree.sync()
    let name = try #require(
      try FileSystem.list(mount.path + "/journal").filter { $0.hasSuffix(".journal") }.max())
    let path = "\(mount.path)/journal/\(name)"
    let journal = try FileSystem.read(path, atMost: 64 << 20)
    let bad = all[217]
    let place = try #require(
      journal.indices.first { journal.count - $0 >= 2000 && journal[$0...].starts(with: bad) })
    try File(path, .readWrite).write([journal[place + 100] ^ 1], at: UInt64(place + 100))
    let outcome = try mount.cut()
    #expect(outcome.damagedPaths == [Array("f217".utf8)])
    #expect(outcome.summary.new == 299)
    for (index, bytes) in all.enumerated() where index != 217 {
      #expect(try mount.bytes("f\(index)") == bytes)
    }
  }

  @Test("a write that fails while many files are stored leaves all of them pending")
  func failure() throws {
    let mount = try MountedTree(directory.path)
    var random = SeededRandom(seed: 73)
    let all = (0..<600).map { _ in random.bytes(4000) }
    for (index, bytes) in all.enumerated() { try mount.save("f\(index)", bytes) }
    let fault = Faults.arm(
      Faults.Plan(
        calls: [.write], below: mount.path + "/segments", action: .fail(Errno.inputOutput))
    )
    #expect(throws: StoreError.self) { _ = try mount.cut() }
    Faults.disarm(fault)
    #expect(try mount.store.state().head == nil)
    #expect(mount.tree.pending().new == 600)
    #expect(try mount.cut().summary.new == 600)
    for (index, bytes) in all.enumerated() { #expect(try mount.bytes("f\(index)") == bytes) }
  }
}
