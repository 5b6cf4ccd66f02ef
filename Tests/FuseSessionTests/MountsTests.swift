import Foundation
import FuseSession
import Testing

@Suite("Mount points and the table of mounts")
struct MountsTests {
  @Test("lines are read with their escapes, others are left out")
  func parsing() throws {
    let table = MountTable(
      parsing: Array(
        #"""
        36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
        37 36 0:50 / /a\040b\011c\012d\134e rw shared:7 master:3 - fuse.llvs a\040store\134x rw
        38 36 0:51 / /same rw - tmpfs tmpfs rw
        39 38 0:52 / /same rw - fuse.llvs top\999 rw
        short line
        40 x 0:53 / /bad rw - tmpfs tmpfs rw
        41 38 0:53 / /no/dash rw tmpfs tmpfs rw x y z
        42 38 0:53 / /end rw shared:1 -
        """#.utf8))
    #expect(table.entries.map(\.id) == [36, 37, 38, 39])
    #expect(table.entries[0].root == Array("/mnt1".utf8))
    #expect(table.entries[1].path == Array("/a b\tc\nd\\e".utf8))
    #expect(table.entries[1].source == Array("a store\\x".utf8))
    #expect(table.entries[1].isFuse && !table.entries[0].isFuse)
    #expect(table.mount(at: Array("/same".utf8))?.type == "fuse.llvs")
    #expect(table.entries[3].source == Array("top\\999".utf8))
  }

  @Test("any bytes are read without harm")
  func parsingAnything() {
    var random = SystemRandomNumberGenerator()
    let alphabet = Array(" \\-/\n0123789ab:".utf8)
    for _ in 0..<2000 {
      let bytes = (0..<100).map { _ in alphabet.randomElement(using: &random) ?? 0 }
      _ = MountTable(parsing: bytes)
    }
  }

  @Test("a mount point and a store are compared by what they are")
  func relations() throws {
    try withTemporaryDirectory { directory in
      _ = try run(
        "mkdir -p store/in mount other; ln -s store link; ln -s ../store/in other/deep",
        in: directory)
      defer { _ = try? run("rm -r store mount other link", in: directory) }
      func relation(_ mount: String, _ store: String) throws -> PathRelation {
        try PathRelation.of(
          mountPoint: directory + "/" + mount, toStore: directory + "/" + store)
      }
      try #expect(relation("mount", "store") == .separate)
      try #expect(relation("store", "store") == .equal)
      try #expect(relation("link", "store/.") == .equal)
      try #expect(relation(".", "store") == .above)
      try #expect(relation("other/deep", "store") == .inside)
      try #expect(relation("store", "link/in") == .above)
      try #expect(relation("mount", "mount/new/er") == .above)
      try #expect(relation("new", "new") == .equal)
      try #expect(relation("new/er", "new") == .inside)
      try #expect(relation("new", "new/er") == .above)
      try #expect(relation("new", "newer") == .separate)
      try #expect(relation("store/new", "store") == .inside)
    }
  }

  @Test("what is mounted nowhere cannot be unmounted")
  func unmountNothing() throws {
    try withTemporaryDirectory { directory in
      #expect(throws: FuseError.self) { try MountPoint.unmount(directory) }
      try #expect(!MountPoint.removeStale(directory))
    }
  }
}
