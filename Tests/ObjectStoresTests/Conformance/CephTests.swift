import Foundation
import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport
import Testing

/// The cluster of three disks that `mount-scripts/servers start ceph` runs, of which `LLVS_TEST_CEPH` names a
/// file with the process of one disk.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct CephTests {
  @Test("a disk of three that is killed while objects are put and read loses none of them")
  func killedDisk() throws {
    guard let path = SystemProcess.environment("LLVS_TEST_CEPH"),
      let server = TestServers.named("ceph")
    else {
      print("Ceph is not here: mount-scripts/test-remotes runs it.")
      return
    }
    let words = String(decoding: try FileSystem.read(path, atMost: 99), as: UTF8.self)
      .split(whereSeparator: \.isWhitespace)
    let disk = try #require(words.first.flatMap { Int32($0) })
    #expect(SystemProcess.isRunning(disk))
    let store = try TestServers.opening(server, TransferControl()).open()
    let folder = "killed-\(SystemRandom.hex(6))"
    let failures = Mutex<[String]>([])
    let count = Atomic<Int>(0)
    let threads = try (0..<8).map { thread in
      try TestThread {
        for round in 0..<60 {
          guard let name = ObjectName("\(folder)/\(thread)-\(round)") else { return }
          do {
            let bytes = [UInt8].random(seed: UInt64(thread * 1000 + round), 50_000)
            try store.put(name, ObjectBody(bytes))
            guard try store.bytes(of: name, atMost: 100_000) == bytes else {
              failures.withLock { $0.append("\(name): other bytes") }
              continue
            }
          } catch {
            failures.withLock { $0.append("\(name): \(error)") }
          }
          // In the middle, while seven others are at work.
          if count.add(1, ordering: .relaxed).newValue == 100 { kill(disk, SIGKILL) }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    #expect(!SystemProcess.isRunning(disk))
    let found = try store.all(try #require(ObjectPrefix("\(folder)/")))
    #expect(found.count == 480)
    #expect(found.allSatisfy { $0.length == 50_000 })
    for object in found { try store.delete(object.name) }
  }
}
