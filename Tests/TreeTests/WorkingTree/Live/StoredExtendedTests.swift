import LLVSCore
import Platform
import TestSupport
import Testing

@testable import HistoryTree
@testable import MountedTree
@testable import TreeNames

/// Long extended attributes that a version has stay out of memory, and are there all the same.
@Suite(.timeLimit(.minutes(2)))
struct StoredExtendedTests {
  let mount: MountedTree
  let directory: TemporaryDirectory
  private static let name = Array("user.long".utf8)
  private static let short = Array("user.short".utf8)

  init() throws {
    directory = try TemporaryDirectory()
    mount = try MountedTree.unhurried(directory.path)
    try mount.makeDirectory("d")
    try mount.save("d/f", "text")
    try mount.save("g", "other")
    for path in ["d/f", "g", "d"] { try set(Self.name, Self.value(path), of: path) }
    try mount.cut()
  }

  private static func value(_ text: String) -> [UInt8] {
    Array(repeatElement(Array((text + " ").utf8), count: 5000).joined())
  }

  private func set(_ name: [UInt8], _ value: [UInt8], of path: String) throws {
    try with(path) { try mount.tree.setxattr($0, name, value, mode: .either) }
  }

  private func with<R>(_ path: String, in tree: MountedTree? = nil, _ body: (UInt64) throws -> R)
    throws -> R
  {
    let mount = tree ?? mount
    return try mount.with(path) { parent, name in
      let status = try mount.tree.lookup(parent, name)
      defer { mount.forget(status.node) }
      return try body(status.node)
    }
  }

  private func value(
    _ path: String, of name: [UInt8] = name, in tree: MountedTree? = nil
  ) throws -> [UInt8] {
    try with(path, in: tree) { try (tree ?? mount).tree.getxattr($0, name) }
  }

  /// How many bytes of extended attributes the nodes hold.
  private func held(in tree: MountedTree? = nil) -> Int {
    let tree = (tree ?? mount).tree
    return tree.lock.withLock { _ in
      tree.nodes.values.reduce(0) { sum, node in
        let entry = node.entry?.attributes.extended ?? []
        return sum + (node.attributes.extended + entry).reduce(0) { $0 + $1.value.count }
      }
    }
  }

  /// Keeps nodes in memory, as the kernel does that knows their names.
  private func remember(_ paths: String...) throws -> [UInt64] {
    try paths.map { path in
      try mount.with(path) { parent, name in try mount.tree.lookup(parent, name).node }
    }
  }

  /// The store as a kill leaves it, mounted again.
  private func killed(_ body: (MountedTree) throws -> Void) throws {
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, copy.file("s"))
    let again = try MountedTree.unhurried(copy.path)
    #expect(again.recovery.losses == [])
    try body(again)
  }

  @Test("a node holds what differs from the base, and nothing of it after the cut")
  func held() throws {
    let nodes = try remember("d/f", "g")
    #expect(held() == 0)
    let status = try mount.tree.getattr(nodes[0])
    #expect(status.mode == 0o644)
    #expect(try mount.tree.listxattr(nodes[0]) == Self.name + [0])
    #expect(try value("d/f") == Self.value("d/f") && value("d") == Self.value("d"))
    try set(Self.name, Self.value("new"), of: "g")
    #expect(held() >= Self.value("new").count)
    try mount.cut()
    #expect(held() == 0)
    #expect(try value("g") == Self.value("new"))
    #expect(try mount.entry("g")?.attributes.extended.first?.value == Self.value("new"))
  }

  @Test("what changes besides them is recorded without them, and the version has them")
  func besides() throws {
    let nodes = try remember("d/f", "g", "d")
    let before = mount.tree.checkpointSize()
    try mount.save("d/f", "changed")
    try mount.change("g") { $0.mode = 0o600 }
    try mount.change("d") { $0.mtime = Attributes.Time(seconds: 5, nanoseconds: 0) }
    #expect(mount.tree.checkpointSize() - before < 4096)
    #expect(held() == 0)
    try mount.cut()
    #expect(held() == 0)
    for path in ["d/f", "g", "d"] {
      #expect(try mount.entry(path)?.attributes.extended.first?.value == Self.value(path))
      #expect(try value(path) == Self.value(path))
    }
    #expect(try mount.entry("g")?.attributes.mode == 0o600)
    #expect(nodes.count == 3)
  }

  @Test("a short one beside a long one, set, changed and removed, is in the version with it")
  func beside() throws {
    let node = try remember("g")[0]
    try set(Self.short, [1], of: "g")
    #expect { try mount.tree.setxattr(node, Self.name, [1], mode: .create) } throws: { error in
      guard case .exists? = error as? FSError else { return false }
      return true
    }
    try mount.cut()
    #expect(try value("g") == Self.value("g") && value("g", of: Self.short) == [1])
    try mount.tree.removexattr(node, Self.name)
    #expect { try value("g") } throws: { error in
      guard case .noData? = error as? FSError else { return false }
      return true
    }
    try mount.cut()
    #expect(try mount.entry("g")?.attributes.extended.map(\.name) == [Self.short])
    #expect(try value("g", of: Self.short) == [1])
  }

  @Test("names that move, part and come back keep them")
  func moves() throws {
    _ = try remember("d/f", "g")
    try mount.rename("d", "e")
    try mount.rename("g", "e/g")
    try mount.link("e/f", "l")
    for (path, text) in [("e/f", "d/f"), ("l", "d/f"), ("e/g", "g"), ("e", "d")] {
      #expect(try value(path) == Self.value(text))
    }
    try mount.cut()
    #expect(held() == 0)
    try mount.save("l", "through the link")
    try mount.cut()
    for (path, text) in [("e/f", "d/f"), ("l", "d/f"), ("e/g", "g"), ("e", "d")] {
      #expect(try value(path) == Self.value(text))
      #expect(try mount.entry(path)?.attributes.extended.first?.value == Self.value(text))
    }
    #expect(try mount.status("l").links == 2 && mount.text("e/f") == "through the link")
  }

  @Test("what was pending is so after a kill, with the attributes of the base it was made on")
  func killed() throws {
    _ = try remember("d/f", "g")
    try mount.save("d/f", "changed")
    try mount.rename("g", "h")
    try mount.change("d") { $0.mode = 0o700 }
    // A generation that begins anew has images of what is pending.
    try mount.tree.renewJournal()
    try mount.change("h") { $0.mode = 0o640 }
    try killed { again in
      #expect(held(in: again) == 0)
      for (path, text) in [("d/f", "d/f"), ("h", "g"), ("d", "d")] {
        #expect(try value(path, in: again) == Self.value(text))
      }
      try again.cut()
      for (path, text) in [("d/f", "d/f"), ("h", "g"), ("d", "d")] {
        #expect(try again.entry(path)?.attributes.extended.first?.value == Self.value(text))
      }
      #expect(try again.entry("h")?.attributes.mode == 0o640)
      #expect(again.text("d/f") == "changed")
    }
  }

  @Test("a head that others made brings its own, and leaves theirs to who has a file open")
  func replaced() throws {
    let first = try mount.store.state().head
    try set(Self.name, Self.value("second"), of: "g")
    try mount.save("g", "second")
    try mount.cut()
    let nodes = try remember("g", "d/f")
    let handle = try mount.open("g", .write)
    _ = try mount.versioner.transition(.command, headReason: .other("undo")) { _, _ in first }
    #expect(held() == 0)
    #expect(try value("g") == Self.value("g") && mount.text("g") == "other")
    #expect(try mount.tree.getxattr(nodes[0], Self.name) == Self.value("second"))
    // Saved now, it is an edit of what it was, and its attributes are those.
    try mount.write(handle, Array("edited".utf8))
    try mount.close(handle)
    try killed { again in
      try again.cut()
      #expect(try again.text("g") == "edited" && value("g", in: again) == Self.value("second"))
    }
    try mount.cut()
    #expect(try mount.text("g") == "edited" && value("g") == Self.value("second"))
  }

  @Test("where the map is damaged they are an error, and the rest of the file is there")
  func damaged() throws {
    let node = try remember("g")[0]
    let place = StoredExtended(
      in: AttributeSource(mount.tree.base.map), key: Key(bytes: Array("gone".utf8)),
      isDirectory: false, revision: 1)
    mount.tree.lock.withLock { _ in
      mount.tree.nodes[node]?.storedExtended = place
    }
    #expect { try mount.tree.getxattr(node, Self.name) } throws: { error in
      guard case .store(.corrupt)? = error as? FSError else { return false }
      return true
    }
    #expect(try mount.tree.getattr(node).size == 5)
    #expect(mount.text("g") == "other")
  }
}
