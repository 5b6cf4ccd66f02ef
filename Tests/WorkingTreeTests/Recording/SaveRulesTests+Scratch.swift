import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

// Files that work and are in no version: docs/writes.md, rule 5.

extension SaveRulesTests {
  @Test("scratch names work and stay out of versions; versioned names match no pattern")
  func scratch() throws {
    let mount = try mounted()
    try mount.save("f", "one")
    try mount.cut()
    // As an editor does that keeps a backup.
    try mount.rename("f", "f~")
    try mount.save("f", "two")
    try mount.cut()
    #expect(try mount.head() == ["f": "two"])
    #expect(mount.text("f~") == "one")
    #expect(
      try mount.tree.getxattr(try lookedUp(mount, "f~"), Array("user.llvs.state".utf8))
        == Array("scratch".utf8))
    // Bytes of a scratch file outlive cuts.
    try mount.save("g~", "kept")
    try mount.cut()
    #expect(mount.text("g~") == "kept")
    // A scratch name that becomes another is versioned.
    try mount.rename("g~", "g")
    try mount.cut()
    #expect(try mount.head() == ["f": "two", "g": "kept"])
  }

  func lookedUp(_ mount: MountedTree, _ path: String) throws -> UInt64 {
    try mount.with(path) { try mount.tree.lookup($0, $1).inode }
  }

  @Test("a versioned directory below a scratch one stays versioned")
  func directoryInScratch() throws {
    let mount = try MountedTree.unhurried(directory.path)
    try mount.makeDirectory("src")
    try mount.save("src/f", "x")
    try mount.cut()
    try mount.makeDirectory("build~")
    try mount.rename("src", "build~/src")
    try mount.cut()
    #expect(mount.text("build~/src/f") == "x")
    try mount.save("build~/src/f", "y")
    try mount.cut()
    #expect(mount.text("build~/src/f") == "y")
    #expect(try mount.names() == ["build~"])
  }

  @Test("a renamed directory is one record, and what the kernel knows below it stays")
  func directoryRename() throws {
    let mount = try mounted()
    try mount.makeDirectory("d")
    try mount.makeDirectory("d/sub")
    for index in 0..<300 { try mount.save("d/sub/\(index)", "\(index)") }
    try mount.cut()
    let inner = try mount.with("d/sub") { try mount.tree.lookup($0, $1).inode }
    let file = try mount.with("d/sub/7") { try mount.tree.lookup($0, $1).inode }
    let before = mount.tree.journalEnd
    try mount.rename("d", "e")
    #expect(mount.tree.journalEnd - before < 600)
    try mount.cut()
    #expect(mount.text("e/sub/7") == "7")
    #expect(try mount.tree.list(inner).items.count == 302)
    #expect(try mount.inode("e/sub") == inner && mount.inode("e/sub/7") == file)
    #expect(try mount.head().count == 302)
    // A handle's write below goes where the directory is now.
    let handle = try mount.tree.open(file, mode: .write)
    try mount.write(handle, Array("seven".utf8))
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head()["e/sub/7"] == "seven")
  }

  @Test("scratch files written over many cuts keep few data files, and their bytes")
  func scatteredScratch() throws {
    let mount = try mounted()
    for round in 0..<150 {
      try mount.save("f\(round)~", "scratch \(round)")
      if round % 10 == 0 {
        try mount.save("big\(round)~", [UInt8](repeating: UInt8(round), count: 50_000))
      }
      try mount.save("f", "\(round)")
      try mount.cut()
    }
    #expect(try FileSystem.list(mount.path + "/journal").count < 80)
    for round in 0..<150 { #expect(mount.text("f\(round)~") == "scratch \(round)") }
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, to: copy.file("s"))
    let again = try MountedTree(copy.path)
    #expect(again.recovery.losses == [])
    for round in 0..<150 { #expect(again.text("f\(round)~") == "scratch \(round)") }
    #expect(try again.bytes("big140~") == [UInt8](repeating: 140, count: 50_000))
  }

  @Test("a removed directory that is open shows nothing")
  func removedDirectory() throws {
    let mount = try mounted()
    try mount.makeDirectory("d")
    try mount.save("d/f", "x")
    try mount.cut()
    let inode = try lookedUp(mount, "d")
    try mount.unlink("d/f")
    try mount.removeDirectory("d")
    #expect(try mount.tree.list(inode).items.count == 2)
    #expect(throws: FSError.self) { try mount.tree.lookup(inode, Array("f".utf8)) }
    #expect(throws: FSError.self) {
      try mount.tree.create(
        inode, Array("g".utf8), mode: 0o644, open: .write, caller: MountedTree.caller)
    }
  }
}
