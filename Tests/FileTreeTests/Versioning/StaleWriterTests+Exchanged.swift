import LLVS
import Platform
import TestSupport
import Testing

@testable import FileTree

/// Names that change places: what a process had seen of each is told apart.
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
    _ = try mount.versioner.transition(.command, reasonText: "merge") { _, _ in number }
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
    if isKilled { try copyTree(mount.path, copy.file("s")) }
    let mount = isKilled ? try MountedTree(copy.path) : mount
    #expect(try mount.cut().head?.second != nil)
    #expect(try mount.head() == ["f": Self.both, "g": "g"])
    #expect(mount.text("f") == Self.both)
  }
}
