import Foundation
import FuseSession
import Synchronization
import Testing

@Suite("Notifications", .serialized, .enabled(if: Mounted.isPossible, "no usable /dev/fuse"))
struct NotifierTests {
  @Test("the kernel believes what it cached until it is told", .timeLimit(.minutes(1)))
  func contentIsInvalidated() throws {
    let fileSystem = MemoryFileSystem()
    let node = fileSystem.plant("f", Array("old".utf8))
    try Mounted.with(fileSystem) { mount in
      func change(_ text: String) {
        fileSystem.state.withLock {
          $0.nodes[node]?.bytes = Array(text.utf8)
          $0.nodes[node]?.attributes.size = UInt64(text.utf8.count)
        }
      }
      try #expect(mount.shell("cat f").output == "old")
      change("new")
      try #expect(mount.shell("cat f").output == "old")
      mount.session.notifier.invalidate(node)
      mount.session.notifier.flush()
      try #expect(mount.shell("cat f").output == "new")
    }
  }

  @Test(
    "names that came, went or changed are seen once the kernel is told", .timeLimit(.minutes(1)))
  func namesAreInvalidated() throws {
    let fileSystem = MemoryFileSystem()
    fileSystem.plant("goes")
    try Mounted.with(fileSystem) { mount in
      let notifier = mount.session.notifier
      try #expect(mount.shell("ls; test -e comes || echo absent").output == "goes\nabsent\n")
      fileSystem.state.withLock {
        _ = $0.nodes[.root]?.children.removeValue(forKey: Array("goes".utf8))
      }
      fileSystem.plant("comes")
      notifier.invalidate(Array("comes".utf8), in: .root)
      notifier.invalidate(Array("goes".utf8), in: .root)
      notifier.invalidate(.root)
      notifier.flush()
      try #expect(mount.shell("ls; test -e goes || echo absent").output == "comes\nabsent\n")
    }
  }

  @Test("telling the kernel while the tree is in use does not deadlock", .timeLimit(.minutes(1)))
  func loadDoesNotDeadlock() throws {
    let fileSystem = MemoryFileSystem()
    for index in 0..<50 { fileSystem.plant("f\(index)", Array("x".utf8)) }
    try Mounted.with(fileSystem) { mount in
      let load = Thread.detached {
        try? mount.shell(
          """
          for w in 1 2 3; do (for i in {1..40}; do
            echo $i > w$w.$i; cat f$i > /dev/null; mv w$w.$i w$w; ls > /dev/null; rm w$w
          done) & done; wait; echo done
          """, seconds: 40)
      }
      var rounds = 0
      while !load.isFinished {
        for index in 0..<50 {
          mount.session.notifier.invalidate(Array("f\(index)".utf8), in: .root)
          mount.session.notifier.invalidate(NodeID(UInt64(index + 2)))
          mount.session.notifier.invalidate(Array("w1".utf8), in: .root)
        }
        mount.session.notifier.invalidate(.root)
        mount.session.notifier.flush()
        rounds += 1
      }
      #expect(load.value()?.output == "done\n")
      #expect(rounds > 0)
    }
  }

  @Test("flush returns when there is no mount", .timeLimit(.minutes(1)))
  func flushWithoutMount() throws {
    let session = try FuseSession(MemoryFileSystem(), mount: MountOptions(source: "test"))
    session.notifier.invalidate(.root)
    session.notifier.flush()
  }
}
