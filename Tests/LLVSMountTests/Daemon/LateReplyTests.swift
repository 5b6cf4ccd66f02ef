import Foundation
import Platform
import Synchronization
import TestSupport
import Testing

extension Served {
  /// Answers that are on their way while a merge changes what they say.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct LateReplyTests {
    @Test("an answer to SETATTR that a merge of attributes overtakes is not believed for good")
    func setattr() throws {
      try ServedStore.with { served in
        _ = try served.run(
          """
          echo set settle=1h > .llvs/control; echo x > f; chmod 644 f; echo commit > .llvs/control
          readlink .llvs/head > ../first; chmod 600 f; echo commit > .llvs/control; stat -c %a f
          """)
        let isHeld = Atomic<Bool>(false)
        let isOver = Atomic<Bool>(false)
        let token = Faults.watch(below: served.directory + "/store/setattr") { _, _ in
          isHeld.store(true, ordering: .sequentiallyConsistent)
          _ = eventually(seconds: 20) { isOver.load(ordering: .sequentiallyConsistent) }
        }
        defer { Faults.unwatch(token) }
        let ended = Mutex(false)
        let path = served.path
        try SystemThread.detach {
          _ = try? shell("touch -c -a -d @1000000000 f", in: path)
          ended.withLock { $0 = true }
        }
        #expect(eventually { isHeld.load(ordering: .sequentiallyConsistent) })
        let restored = try shell(
          "echo restore $(basename $(cat ../first)) > .llvs/control", in: served.path)
        isOver.store(true, ordering: .sequentiallyConsistent)
        #expect(restored.status == 0, "\(restored.output)")
        #expect(eventually { ended.withLock { $0 } })
        // The kernel is told right after the answer.
        #expect(eventually(seconds: 5) { (try? shell("stat -c %a f", in: path).output) == "644\n" })
      }
    }

    @Test(
      "an answer that a change of a directory overtakes is not believed for good",
      arguments: [
        (answer: "getattr", asks: "stat d", change: "mkdir d/e", after: "3"),
        (answer: "readdirplus", asks: "ls -l", change: "mkdir d/e", after: "3"),
        (answer: "getattr", asks: "stat d", change: "mv d/s .", after: "2"),
        (answer: "getattr", asks: "stat d", change: "rmdir d/s", after: "2"),
      ])
    func directory(answer: String, asks: String, change: String, after: String) throws {
      try ServedStore.with { served in
        let path = served.path
        // The kernel knows the directory and its mode, but not the access time: stat asks, the change does not.
        _ = try served.run(
          """
          echo set settle=1h > .llvs/control; mkdir d; touch d/x; \(after == "2" ? "mkdir d/s" : ":")
          stat d; ls d
          """)
        let isHeld = Atomic<Bool>(false)
        let isOver = Atomic<Bool>(false)
        let token = Faults.watch(below: "\(served.directory)/store/\(answer)") { _, _ in
          guard !isHeld.exchange(true, ordering: .sequentiallyConsistent) else { return }
          _ = eventually(seconds: 20) { isOver.load(ordering: .sequentiallyConsistent) }
        }
        defer { Faults.unwatch(token) }
        let ended = Mutex(false)
        try SystemThread.detach {
          _ = try? shell(asks, in: path)
          ended.withLock { $0 = true }
        }
        #expect(eventually { isHeld.load(ordering: .sequentiallyConsistent) })
        let changed = try shell(change, in: path)
        isOver.store(true, ordering: .sequentiallyConsistent)
        #expect(changed.status == 0, "\(changed.output)")
        #expect(eventually { ended.withLock { $0 } })
        #expect(try shell("stat -c %h d", in: path).output == "\(after)\n")
      }
    }

    @Test(
      "a listing goes on behind a page of names that a version removes before they are looked up")
    func listing() throws {
      try ServedStore.with { served in
        let path = served.path
        let order = try served.run(
          "echo set settle=1h > .llvs/control; mkdir d; seq 1200 | (cd d && xargs touch); ls -U d"
        ).split(separator: "\n")
        let last = try #require(order.last)
        let version = try served.run(
          """
          find d -type f ! -name \(last) -delete; echo commit > .llvs/control
          basename $(readlink .llvs/head)
          seq 1200 | (cd d && xargs touch); echo commit > .llvs/control
          """
        ).trimmingCharacters(in: .whitespacesAndNewlines)
        let head = try served.run("readlink .llvs/head")
        let listings = Atomic<Int>(0)
        let token = Faults.watch(below: "\(served.directory)/store/listed") { _, _ in
          guard listings.add(1, ordering: .sequentiallyConsistent).newValue == 2 else { return }
          // The command waits for the kernel, which waits for the listing.
          try? SystemThread.detach {
            _ = try? shell("echo restore \(version) > .llvs/control", in: path)
          }
          #expect(
            eventually(seconds: 20) {
              (try? shell("readlink .llvs/head", in: path)).map { $0.output != head } == true
            })
        }
        defer { Faults.unwatch(token) }
        // A look-up makes the kernel look up also what it lists behind the first names.
        let listed = try served.run(
          """
          python3 -I - <<'END'
          import ctypes, os, struct
          def read():
              room = ctypes.create_string_buffer(4096)
              got, at, names = ctypes.CDLL(None).getdents64(directory, room, 4096), 0, []
              while at < got:
                  length = struct.unpack_from('H', room, at + 16)[0]
                  names.append(room.raw[at + 19:at + length].split(b'\\0')[0].decode())
                  at += length
              return names
          directory = os.open('d', os.O_RDONLY | os.O_DIRECTORY)
          first = read()
          os.stat('d/' + first[-1])
          while names := read(): print(*names)
          END
          """)
        #expect(listings.load(ordering: .sequentiallyConsistent) > 1)
        #expect(listed.split(whereSeparator: \.isWhitespace) == [last])
      }
    }
  }
}
