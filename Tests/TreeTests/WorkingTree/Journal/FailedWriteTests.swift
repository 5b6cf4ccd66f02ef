import TestSupport
import Testing

@testable import HistoryTree
@testable import LLVSCore
@testable import MountedTree
@testable import Platform
@testable import TreeNames

/// What could not be recorded is not shown, whatever the disk said.
@Suite(.timeLimit(.minutes(1)))
struct FailedWriteTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func arm(_ code: Int32) -> Faults.Token {
    Faults.arm(
      Faults.Plan(
        calls: [.write], below: directory.path + "/s/journal", nth: 1, times: .max,
        action: .fail(code)))
  }

  /// The errno that a body throws.
  private func code(_ body: () throws -> Void) -> Int32? {
    do {
      try body()
      return nil
    } catch FSError.system(let error) {
      return error.errno
    } catch {
      return -1
    }
  }

  /// Everything that makes a name.
  private static let makers: [@Sendable (MountedTree, [UInt8]) throws -> Void] = [
    { mount, name in
      _ = try mount.tree.create(
        LiveTree.rootInode, name, mode: 0o644, open: .write, caller: MountedTree.caller)
    },
    { mount, name in
      _ = try mount.tree.makeDirectory(
        LiveTree.rootInode, name, mode: 0o755, caller: MountedTree.caller)
    },
    { mount, name in
      _ = try mount.tree.makeSymlink(
        LiveTree.rootInode, name, target: [65], caller: MountedTree.caller)
    },
    { mount, name in
      _ = try mount.tree.makeNode(
        LiveTree.rootInode, name, kind: .fifo, mode: 0o644, caller: MountedTree.caller)
    },
    { mount, name in try mount.link("before", String(decoding: name, as: UTF8.self)) },
    { mount, name in try mount.rename("other", String(decoding: name, as: UTF8.self)) },
  ]

  @Test(
    "a name whose making failed is not shown, and is none in the next mount",
    arguments: [Errno.fileTooBig, Errno.inputOutput, Errno.quota, Errno.noSpace], 0..<6)
  func making(code: Int32, maker: Int) throws {
    do {
      let mount = try MountedTree.unhurried(directory.path)
      try mount.save("before", "before")
      try mount.save("other", "other")
      let token = arm(code)
      for turn in 0..<3 {
        let name = Array("new\(turn)".utf8)
        #expect(self.code { try Self.makers[maker](mount, name) } == code)
        #expect(try mount.names() == ["before", "other"], "\(turn)")
        #expect(try mount.status("before").links == 1)
      }
      Faults.disarm(token)
      #expect(try mount.names() == ["before", "other"])
      try Self.makers[maker](mount, Array("made".utf8))
      try mount.save("after", "after")
      let names = try mount.names()
      #expect(names.subtracting(["other"]) == ["before", "made", "after"])
      try mount.cut()
      #expect(mount.text("before") == "before")
      #expect(try mount.names() == names)
    }
    let mount = try MountedTree(directory.path)
    #expect(mount.recovery.losses == [])
    #expect(try mount.names().isSuperset(of: ["before", "made", "after"]))
    #expect(try mount.names().isDisjoint(with: ["new0", "new1", "new2"]))
  }

  /// Everything that changes what is there, each with what it leaves at the names.
  private static let breakers: [@Sendable (MountedTree) throws -> Void] = [
    { try $0.unlink("file") },
    { try $0.unlink("new") },
    { try $0.unlink("linked") },
    { try $0.removeDirectory("empty") },
    { try $0.rename("file", "other") },
    { try $0.rename("new", "file") },
    { try $0.rename("linked", "d/inner") },
    { try $0.rename("d", "empty") },
    { try $0.rename("new", "d/moved") },
    { try $0.rename("file", "d/inner", .exchange) },
    { try $0.change("file") { $0.mode = 0o600 } },
    { try $0.change("new") { $0.mtime = Attributes.Time(seconds: 1, nanoseconds: 2) } },
    { try $0.change("d") { $0.mode = 0o700 } },
    { try $0.change("file") { $0.size = 2 } },
    { try $0.change("new") { $0.size = 9000 } },
    { mount in
      try mount.change("file") {
        $0.size = 2
        $0.mode = 0o600
      }
    },
    { mount in
      try mount.change("new") {
        $0.size = 3
        $0.mtime = Attributes.Time(seconds: 1, nanoseconds: 2)
      }
    },
    { mount in
      try mount.with("file") {
        let status = try mount.tree.lookup($0, $1)
        defer { mount.forget(status.node) }
        try mount.tree.setxattr(status.node, Array("user.x".utf8), [1], mode: .either)
      }
    },
    { mount in
      try mount.with("new") {
        let status = try mount.tree.lookup($0, $1)
        defer { mount.forget(status.node) }
        try mount.tree.removexattr(status.node, Array("user.kept".utf8))
      }
    },
    { try closing($0.open("file", [.write, .truncate]), of: $0) { _, _ in } },
    { try closing($0.open("new", .write), of: $0) { try $1.write($0, [1, 2, 3], at: 1) } },
    { try closing($0.open("file", .write), of: $0) { try $1.write($0, [1, 2], at: 100) } },
    { mount in
      try closing(mount.open("file", .write), of: mount) {
        try $1.write($0, [UInt8](repeating: 7, count: 200_000))
      }
    },
    { mount in
      try closing(mount.open("new", .write), of: mount) {
        try $1.tree.allocate($0, range: 1..<40, zeroing: true, keepingSize: false)
      }
    },
  ]

  /// Runs a body with a handle, which is closed whatever happens.
  private static func closing(
    _ handle: LiveHandle, of mount: MountedTree, _ body: (LiveHandle, MountedTree) throws -> Void
  ) throws {
    defer { try? mount.tree.release(handle) }
    try body(handle, mount)
  }

  /// What a tree shows, or what of it the next mount shows too.
  private func shown(_ mount: MountedTree, lasting: Bool = false) throws -> [String: String] {
    var shown: [String: String] = [:]
    func look(_ path: String) throws {
      var status = try mount.status(path)
      status.atime = status.mtime
      if lasting {
        let none = Attributes.Time(seconds: 0, nanoseconds: 0)
        status.ctime = none
        if status.kind == .directory { status.mtime = none }
        status.atime = status.mtime
      }
      var lines = ["\(status)"]
      if status.kind == .directory {
        let names = try mount.names(path).sorted()
        lines += names
        for name in names { try look(path.isEmpty ? name : "\(path)/\(name)") }
      } else {
        lines.append(MountedTree.text(try mount.bytes(path)))
      }
      try mount.with(path) { parent, name in
        let inode = path.isEmpty ? LiveTree.rootInode : try mount.tree.lookup(parent, name).node
        defer { mount.forget(inode) }
        lines.append(String(decoding: try mount.tree.listxattr(inode), as: UTF8.self))
      }
      shown[path] = lines.joined(separator: "\n")
    }
    try look("")
    return shown
  }

  @Test(
    "a change that failed is not shown, of files with and without a version, and is none in the next mount",
    arguments: [Errno.fileTooBig, Errno.inputOutput, Errno.quota, Errno.noSpace],
    Array(breakers.indices))
  func breaking(code: Int32, breaker: Int) throws {
    let lasting: [String: String]
    do {
      let mount = try MountedTree.unhurried(directory.path)
      try mount.save("file", "in a version")
      try mount.save("other", "other")
      try mount.save("first", "of two names")
      try mount.makeDirectory("d")
      try mount.save("d/inner", "inner")
      try mount.makeDirectory("empty")
      try mount.link("first", "linked")
      try mount.cut()
      try mount.save("new", "in no version")
      try mount.with("new") {
        let status = try mount.tree.lookup($0, $1)
        defer { mount.forget(status.node) }
        try mount.tree.setxattr(status.node, Array("user.kept".utf8), [1], mode: .either)
      }
      let before = try shown(mount)
      lasting = try shown(mount, lasting: true)
      let token = Faults.arm(
        Faults.Plan(
          calls: [.write], below: mount.tree.journal.state.withLock { $0.file.path }, nth: 1,
          times: .max, action: .fail(code)))
      for _ in 0..<2 {
        #expect(self.code { try Self.breakers[breaker](mount) } == code)
        #expect(try shown(mount) == before)
        let fault = try mount.tree.fault()
        #expect(fault == nil)
      }
      Faults.disarm(token)
      #expect(try shown(mount) == before)
      try mount.save("after", "after")
      try mount.unlink("after")
    }
    do {
      let mount = try MountedTree.unhurried(directory.path)
      #expect(mount.recovery.losses == [])
      #expect(try shown(mount, lasting: true) == lasting)
      let before = try shown(mount)
      try Self.breakers[breaker](mount)
      #expect(try shown(mount) != before)
      try mount.cut()
      let fault = try mount.tree.fault()
      #expect(fault == nil)
    }
  }

  @Test(
    "a size and a mode that come in one call are both there or neither is, whichever write fails",
    arguments: 1...3)
  func together(nth: Int) throws {
    let mount = try MountedTree.unhurried(directory.path)
    try mount.save("file", "in a version")
    try mount.change("file") { $0.mode = 0o4755 }
    try mount.cut()
    try mount.save("other", "so that the journal knows more")
    let before = try shown(mount)
    let token = Faults.arm(
      Faults.Plan(
        calls: [.write], below: mount.tree.journal.state.withLock { $0.file.path }, nth: nth,
        times: 1, action: .fail(Errno.inputOutput)))
    let failure = code {
      try mount.change("file") {
        $0.size = 2
        $0.mode = 0o755
      }
    }
    Faults.disarm(token)
    if failure != nil { return #expect(try shown(mount) == before) }
    #expect(try mount.status("file").mode & 0o7777 == 0o755)
    #expect(mount.text("file") == "in")
  }

  @Test("a size and a mode that come in one call are both there after a crash, or neither is")
  func togetherAfterCrash() throws {
    let mount = try MountedTree.unhurried(directory.path)
    try mount.save("file", "in a version")
    try mount.change("file") { $0.mode = 0o4755 }
    try mount.cut()
    try mount.change("file") { $0.mtime = Attributes.Time(seconds: 1, nanoseconds: 2) }
    let start = mount.tree.journalEnd
    try mount.change("file") {
      $0.size = 2
      $0.mode = 0o755
    }
    let end = mount.tree.journalEnd
    let copies = try TemporaryDirectory()
    var found: Set<String> = []
    for at in start...end where at == end || (at - start) % 9 == 0 || at < start + 2 {
      // As a process leaves it that is killed while it writes.
      let path = copies.file("\(at)")
      try FileSystem.makeDirectory(path, permissions: 0o700)
      try copyTree(mount.path, path + "/s")
      let generation = mount.tree.journal.state.withLock { $0.generation }
      let file = "\(path)/s/journal/\(Journal.journalName(generation))"
      try File(file, .readWrite).truncate(to: at)
      let again = try MountedTree.unhurried(path)
      #expect(again.recovery.losses == [])
      found.insert(
        "\(String(try again.status("file").mode & 0o7777, radix: 8)) \(again.text("file") ?? "")")
      #expect(try again.tree.fault() == nil)
    }
    #expect(found == ["4755 in a version", "755 in"])
  }

  @Test("zeros and a size that come in one call are both there after a crash, or neither is")
  func zerosAfterCrash() throws {
    let mount = try MountedTree.unhurried(directory.path)
    try mount.save("file", "0123456789")
    try mount.cut()
    let handle = try mount.open("file", .write)
    try mount.write(handle, Array("x".utf8))
    let start = mount.tree.journalEnd
    try mount.tree.allocate(handle, range: 4..<20, zeroing: true, keepingSize: false)
    let end = mount.tree.journalEnd
    let copies = try TemporaryDirectory()
    var found: Set<String> = []
    for at in start...end {
      // As a process leaves it that is killed while it writes.
      let path = copies.file("\(at)")
      try FileSystem.makeDirectory(path, permissions: 0o700)
      try copyTree(mount.path, path + "/s")
      let generation = mount.tree.journal.state.withLock { $0.generation }
      let file = "\(path)/s/journal/\(Journal.journalName(generation))"
      try File(file, .readWrite).truncate(to: at)
      let again = try MountedTree.unhurried(path)
      #expect(again.recovery.losses == [])
      found.insert(again.text("file") ?? "none")
      #expect(try again.tree.fault() == nil)
    }
    #expect(found == ["x123456789", "x123" + String(repeating: "\0", count: 16)])
    try mount.tree.release(handle)
  }

  @Test("once the disk refused something, nothing is changed before it took what is recorded")
  func later() throws {
    do {
      let mount = try MountedTree.unhurried(directory.path)
      try mount.save("before", "before")
      try mount.save("gone", "gone")
      let token = arm(Errno.inputOutput)
      #expect(code { try mount.makeDirectory("d") } == Errno.inputOutput)
      #expect(code { try mount.unlink("gone") } == Errno.inputOutput)
      #expect(code { try mount.rename("before", "gone") } == Errno.inputOutput)
      #expect(code { try mount.change("before") { $0.mode = 0o600 } } == Errno.inputOutput)
      let handle = try mount.open("before", .write)
      #expect(code { try mount.write(handle, [88]) } == Errno.inputOutput)
      try mount.tree.release(handle)
      #expect(try mount.names() == ["before", "gone"])
      #expect(mount.text("before") == "before")
      #expect(try mount.status("before").mode == 0o644)
      Faults.disarm(token)
      try mount.unlink("gone")
      try mount.cut()
      #expect(try mount.head() == ["before": "before"])
    }
    #expect(try MountedTree(directory.path).names() == ["before"])
  }
}
