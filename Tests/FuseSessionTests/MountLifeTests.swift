import Foundation
import FuseSession
import Synchronization
import Testing

@Suite("A mount's life", .serialized, .enabled(if: Mounted.isPossible, "no usable /dev/fuse"))
struct MountLifeTests {
  @Test(
    "unmounting from outside ends the session", .timeLimit(.minutes(1)),
    arguments: ["umount", "fusermount3 -u", "umount -l"])
  func unmountedFromOutside(command: String) throws {
    try withTemporaryDirectory { path in
      let session = try FuseSession(MemoryFileSystem(), mount: MountOptions(source: "test"))
      try session.mount(at: path)
      #expect(session.mountPoint == path)
      let ended = Thread.detached { () -> Bool? in
        do throws(FuseError) {
          try session.run()
          return true
        } catch { return false }
      }
      try #expect(run("echo hi > f; cat f", in: path).output == "hi\n")
      try #expect(run("\(command) '\(path)'").status == 0)
      #expect(ended.value() == true)
      #expect(session.mountPoint == nil)
      try session.requestUnmount()
      try #expect(run("ls -A", in: path).output == "")
    }
  }

  @Test("a mount in use refuses to go, unless lazily", .timeLimit(.minutes(1)))
  func busy() throws {
    try Mounted.with { mount in
      let user = Thread.detached { try? mount.shell("echo x > f; exec 3< f; sleep 1; cat <&3") }
      // The file is made, and then held open.
      #expect(eventually { mount.fileSystem.calls("open") > 0 })
      #expect(throws: FuseError.unmount(path: mount.path, errno: EBUSY)) {
        try mount.session.requestUnmount()
      }
      try mount.session.requestUnmount(lazily: true)
      #expect(user.value()?.output == "x\n")
      mount.session.waitUntilEnded()
    }
  }

  @Test("a mount that cannot be made says why", .timeLimit(.minutes(1)))
  func refused() throws {
    let session = try FuseSession(MemoryFileSystem(), mount: MountOptions(source: "test"))
    do throws(FuseError) {
      try session.mount(at: "/nonexistent/mount/point")
      Issue.record("It was mounted.")
    } catch {
      guard case .mount(_, let reason) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(reason.contains("/nonexistent/mount/point"))
      #expect(reason.contains("No such file or directory"))
    }
  }

  @Test("options that libfuse does not know are refused with its words")
  func unknownOption() {
    var options = MountOptions(source: "test")
    options.others = ["no_such_option"]
    #expect {
      _ = try FuseSession(MemoryFileSystem(), mount: options)
    } throws: { error in
      "\(error)".contains("no_such_option")
    }
  }

  @Test("the table of mounts shows source and type as they were given", .timeLimit(.minutes(1)))
  func mountTable() throws {
    try Mounted.with { mount in
      let found = try MountTable().mount(at: Array(mount.path.utf8))
      #expect(found?.type == "fuse.llvs")
      #expect(found?.isFuse == true)
      #expect(found.map { String(decoding: $0.source, as: UTF8.self) } == "a,b \\c")
    }
  }

  @Test("what was agreed with the kernel is what was asked for", .timeLimit(.minutes(1)))
  func negotiation() throws {
    try Mounted.with { mount in
      _ = try mount.shell("ls")
      let connection = mount.fileSystem.state.withLock { $0.connection }
      #expect(connection?.largestWrite == 1 << 20)
      #expect(connection?.hasReaddirPlus == true)
      #expect(connection?.hasExplicitInvalidation == true)
    }
  }

  @Test("a mount whose daemon was killed is recognised and replaced", .timeLimit(.minutes(1)))
  func killed() async throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("llvs-fuse-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer {
      _ = try? MountPoint.removeStale(path)
      rmdir(path)
    }
    #expect(!MountPoint.isStale(path))
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let session = try FuseSession(MemoryFileSystem(), mount: MountOptions(source: "test"))
      try session.mount(at: path)
      try session.start()
      _ = try run("echo hi > f; cat f", in: path)
      kill(getpid(), SIGKILL)
    }
    #expect(eventually { MountPoint.isStale(path) })
    try #expect(MountPoint.removeStale(path))
    #expect(!MountPoint.isStale(path))
    try #expect(!MountPoint.removeStale(path))
    let session = try FuseSession(MemoryFileSystem(), mount: MountOptions(source: "test"))
    try session.mount(at: path)
    try session.start()
    try #expect(run("echo hi > f; cat f", in: path).output == "hi\n")
    try session.requestUnmount(lazily: true)
    session.waitUntilEnded()
  }

  @Test("a reply that is dropped stops a debug build", .timeLimit(.minutes(1)))
  func dropped() async {
    #if DEBUG
      let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("llvs-fuse-\(UUID().uuidString)").path
      mkdir(path, 0o700)
      defer {
        _ = try? MountPoint.removeStale(path)
        rmdir(path)
      }
      await #expect(processExitsWith: .failure) { [path = path as String] in
        let dropping = MemoryFileSystem()
        dropping.state.withLock { $0.isDropping = true }
        let session = try FuseSession(dropping, mount: MountOptions(source: "test"))
        try session.mount(at: path)
        try session.start()
        _ = try run("ls", in: path)
      }
    #endif
  }
}
