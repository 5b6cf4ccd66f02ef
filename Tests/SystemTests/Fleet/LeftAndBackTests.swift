import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

/// What programs save that had a file open while the tree was carried to another line and back.
@Suite(.timeLimit(.minutes(2)))
struct LeftAndBackTests {
  private let directory: TemporaryDirectory
  private let member: FleetMember
  private let old: String

  /// The unnamed line has f and g; what it began with has another f.
  init() throws {
    directory = try TemporaryDirectory()
    member = try FleetMember(directory.path, number: 0)
    try member.run("set settle=1h")
    try member.run("set arbiter=most-recent-change")
    try member.kernel.save("f", Array("old".utf8))
    try member.kernel.save("g", Array("1\n".utf8))
    try member.run("commit")
    old = try member.store.versions(afterName: nil, limit: .max).first?.name ?? ""
    try member.kernel.save("f", Array("base".utf8))
    try member.run("commit")
  }

  private func leaveAndReturn() throws {
    try member.run("switch \(old) as other")
    try member.run("switch -")
    try member.check()
  }

  private func write(_ open: KernelModel.Open, _ text: String, at offset: UInt64 = 0) throws {
    try member.kernel.write(open, Array(text.utf8), at: offset)
    try member.kernel.flush(open)
  }

  private func commit() throws {
    try member.run("commit")
    try member.check()
  }

  private func clashes() throws -> [String] {
    try member.service.openConflicts().map { String(decoding: $0.path, as: UTF8.self) }
  }

  @Test("what a file open over a switch away and back saves clashes with what was made since")
  func detached() throws {
    let open = try member.kernel.open("f", [.read, .write])
    try leaveAndReturn()
    try member.kernel.save("f", Array("edit".utf8))
    try commit()
    try write(open, "mine")
    try commit()
    #expect(try clashes() == ["f"])
    try member.kernel.close(open)
  }

  /// What one saves who has f open from before its name went to another and came back clashes with what one
  /// saves who opened it since.
  private func checkBothSave(whenReturned: () throws -> Void) throws {
    let before = try member.kernel.open("f", [.read, .write])
    try whenReturned()
    let after = try member.kernel.open("f", [.read, .write])
    try write(before, "mine")
    try commit()
    try write(after, "edit")
    try commit()
    #expect(try clashes() == ["f"])
    try member.kernel.close(before)
    try member.kernel.close(after)
  }

  @Test("who opened a name after the switch back has not seen what one from before saves")
  func detachedFirst() throws { try checkBothSave { try leaveAndReturn() } }

  @Test("who has a name open has not seen what one saves that a merge took it from")
  func broughtBack() throws {
    try checkBothSave {
      try member.run("restore \(old)")
      try member.run("undo")
      try member.check()
    }
  }

  @Test("a file that a switch lets stay is one for all that have it open")
  func stays() throws {
    let log = try member.kernel.open("g", [.read, .write])
    try leaveAndReturn()
    let other = try member.kernel.open("g", [.read, .write])
    try write(other, "2\n", at: 2)
    try commit()
    try write(log, "3\n", at: 4)
    try commit()
    #expect(try clashes() == [])
    #expect(try member.live()["g"]?.bytes == Array("1\n2\n3\n".utf8))
    try member.kernel.close(log)
    try member.kernel.close(other)
  }
}
