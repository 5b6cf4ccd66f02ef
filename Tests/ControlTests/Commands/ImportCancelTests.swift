import Foundation
import Grammar
import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport

/// A cancelled import leaves nothing behind.
@Suite("Cancelled imports", .timeLimit(.minutes(2)))
struct ImportCancelTests {
  private func bytes(ofSegmentsIn space: ControlWorkspace) throws -> UInt64 {
    let segments = "\(space.store.path)/segments"
    return try FileManager.default.contentsOfDirectory(atPath: segments).reduce(0) {
      try $0 + FileSystem.status("\(segments)/\($1)").size
    }
  }

  /// Runs an import that is cancelled at the `last` look whether it is.
  private func cancelled(_ source: String, _ space: ControlWorkspace, at last: Int) throws -> String
  {
    let looks = Atomic<Int>(0)
    var context = CommandContext()
    context.isCancelled = { looks.add(1, ordering: .relaxed).newValue >= last }
    do throws(ControlError) {
      try space.service.run(["import", source].map { Array($0.utf8) }, context: context)
      return "done"
    } catch {
      #expect(error.kind == .interrupted)
      return error.message
    }
  }

  @Test("its files are in no version, and their copies are removed", arguments: [40, 90])
  func files(last: Int) throws {
    let space = try ControlWorkspace()
    try space.write("a", "before")
    try space.run("commit")
    // The later segments are filled within one import.
    space.store.limitSegments(to: 1 << 20)
    let source = space.directory.file("source")
    try FileSystem.makeDirectory(source)
    for number in 0..<100 {
      try Data(SystemRandom.bytes(60_000)).write(to: URL(filePath: "\(source)/\(number)"))
    }
    let before = try (head: space.head, bytes: bytes(ofSegmentsIn: space))
    let message = try cancelled(source, space, at: last)
    #expect(message.hasPrefix("interrupted; the copies of "), "\(message)")
    #expect(message.hasSuffix(" are removed, none is in a version"), "\(message)")
    #expect(try space.head == before.head)
    #expect(try bytes(ofSegmentsIn: space) < before.bytes + 4096)
    #expect(try space.read("1") == nil)
    try space.write("b", "after")
    try space.run("import \(source)")
    #expect(try space.read("1")?.isEmpty == false)
    #expect(try space.store.verify().damage.isEmpty)
  }

  @Test("it ends within a big file")
  func bigFile() throws {
    let space = try ControlWorkspace()
    let source = space.directory.file("source")
    try FileSystem.makeDirectory(source)
    try Data(SystemRandom.bytes(12 << 20)).write(to: URL(filePath: "\(source)/big"))
    let message = try cancelled(source, space, at: 6)
    #expect(message.hasPrefix("interrupted; the copies of 0 files and directories"), "\(message)")
    #expect(try space.head == nil)
  }
}
