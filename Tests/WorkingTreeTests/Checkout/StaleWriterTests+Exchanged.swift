import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Names that change places, and attributes: what a process had seen of each name is told apart.
extension StaleWriterTests {
  private func exchange(_ one: String, _ other: String) throws {
    try mount.with(one) { parent, name in
      try mount.with(other) {
        try mount.tree.rename(parent, name, $0, $1, mode: .exchange, thread: editor)
      }
    }
  }

  private func mergeElsewhere(_ text: String) throws {
    let number = try edited(text, on: nil, of: "elsewhere")
    _ = try mount.tree.transition(.command, headReason: .merge) { _, _ in number }
  }

  private func openConflicts() throws -> Int {
    try mount.store.openConflicts(at: #require(mount.store.state().head)).count
  }

  @Test(
    "A process that makes names change places is not at odds with what it saved at one of them",
    arguments: [false, true])
  func exchanged(isTurned: Bool) throws {
    try load("g", by: editor)
    try mergeElsewhere("1")
    try load("f", by: editor)
    try save("saved", .truncating, by: editor)
    try mount.cut()
    if isTurned { try exchange("g", "f") } else { try exchange("f", "g") }
    #expect(try mount.cut().head?.second == nil)
    #expect(try mount.head() == ["f": "g", "g": "saved", "elsewhere": "1"])
    #expect(try openConflicts() == 0)
  }

  @Test(
    "An editor that saves by making names change places saves beside a merge, whichever it names first",
    arguments: [false, true], [false, true])
  func exchangedStale(isTurned: Bool, isKilled: Bool) throws {
    try load("f", by: editor)
    try retrieve(Self.there)
    try fill(try create("f.tmp", by: editor), Self.here)
    if isTurned { try exchange("f", "f.tmp") } else { try exchange("f.tmp", "f") }
    try mount.unlink("f.tmp")
    #expect(mount.text("f") == Self.here)
    let copy = try TemporaryDirectory()
    if isKilled { try copyTree(mount.path, to: copy.file("s")) }
    let mount = isKilled ? try MountedTree(copy.path) : mount
    #expect(try mount.cut().head?.second != nil)
    #expect(try mount.head() == ["f": Self.both, "g": "g"])
    #expect(mount.text("f") == Self.both)
  }

  /// What changes of a file besides its bytes.
  enum Setting: CaseIterable { case mode, time, extended }

  private func set(_ setting: Setting, of name: String) throws {
    try mount.with(name) { parent, child in
      let inode = try mount.tree.lookup(parent, child).node
      defer { mount.forget(inode) }
      switch setting {
      case .mode:
        var change = StatusChange()
        change.mode = 0o600
        _ = try mount.tree.setattr(inode, change, thread: editor)
      case .time:
        var change = StatusChange()
        change.mtime = Attributes.Time(seconds: 1_000_000_000, nanoseconds: 0)
        _ = try mount.tree.setattr(inode, change, thread: editor)
      case .extended:
        try mount.tree.setxattr(
          inode, Array("user.x".utf8), [1], mode: .either, thread: editor)
      }
    }
  }

  @Test(
    "Who sets attributes of a file that it has seen as it is has seen those",
    arguments: Setting.allCases)
  func set(setting: Setting) throws {
    try load("f", by: editor)
    try mergeElsewhere("1")
    try set(setting, of: "f")
    try mount.cut()
    try mergeElsewhere("2")
    try save("anew", .renaming, by: editor)
    let before = try mount.status("f")
    #expect(try mount.cut().head?.second == nil)
    #expect(try mount.head()["f"] == "anew")
    let after = try mount.status("f")
    #expect(after.mode == before.mode && after.mtime == before.mtime)
    try mount.with("f") { parent, child in
      let inode = try mount.tree.lookup(parent, child).node
      #expect(try mount.tree.listxattr(inode).isEmpty)
      mount.forget(inode)
    }
  }

  @Test(
    "Who sets attributes of a file as a merge left it has not seen its bytes",
    arguments: Setting.allCases)
  func setUnseen(setting: Setting) throws {
    try load("f", by: editor)
    try retrieve(Self.there)
    try set(setting, of: "f")
    try mount.cut()
    try save(Self.here, .renaming, by: editor)
    #expect(try mount.cut().head?.second != nil)
    #expect(try mount.head()["f"] == Self.both)
  }
}
