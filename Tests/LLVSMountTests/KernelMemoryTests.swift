// The tree of LLVS_TREE=posix keeps nothing for names that the kernel remembers.
#if !LLVS_POSIX_TREE
  import FuseSession
  import HistoryTree
  import LLVSCore
  import Platform
  import Synchronization
  import TestSupport
  import Testing

  @testable import Control
  @testable import LLVSMount
  @testable import MountedTree

  extension Mounted {
    @Suite(.serialized, .timeLimit(.minutes(2)))
    struct KernelMemoryTests {
      private static let limit = 2000

      /// Sixty directories of a hundred files, and as many files in one place as they are together.
      private static let make = """
        for d in {100..159}; do mkdir -p t/d$d; (cd t/d$d; for f in {100..199}; do echo $d$f > $f; done); done
        """

      @Test("a walk over more names than may be remembered, with work going on, sees every one")
      func walk() throws {
        try ServedStore.with(names: Self.limit) { served in
          _ = try served.run(Self.make)
          let failures = Mutex<[String]>([])
          let isDone = Atomic<Bool>(false)
          // Work in a directory that everything would like to forget, with its own place as base.
          let ended = Mutex(0)
          try SystemThread.detach {
            do {
              while !isDone.load(ordering: .sequentiallyConsistent) {
                let said = try shell(
                  """
                  cd t/d130; test "$(/bin/pwd -P)" = "\(served.path)/t/d130" && mkdir -p own/a && echo x > own/a/f &&
                  mv own/a/f own/g && cat own/g && rm -r own
                  """, in: served.path, seconds: 20)
                if said.output != "x\n" { failures.withLock { $0.append(said.output) } }
              }
            } catch {
              failures.withLock { $0.append("\(error)") }
            }
            ended.withLock { $0 = 1 }
          }
          for _ in 0..<2 {
            let sum = try served.run(
              """
              find t -type f -path '*/d1??/1??' 2> /dev/null | wc -l
              cat $(find t -type f -path '*/d1??/1??' 2> /dev/null) | md5sum
              for d in {100..159}; do for f in {100..199}; do echo $d$f; done; done | md5sum
              """, seconds: 60
            ).split(separator: "\n")
            #expect(sum.first == "6000")
            #expect(sum.count == 3)
            // Every file has its own bytes, whatever the order.
            let sorted = try served.run(
              "cat $(find t -type f -path '*/d1??/1??' 2> /dev/null | sort) | md5sum")
            #expect(sorted.split(separator: "\n").first == sum.last)
          }
          isDone.store(true, ordering: .sequentiallyConsistent)
          #expect(eventually { ended.withLock { $0 } == 1 })
          #expect(failures.withLock { $0 } == [])
          _ = try served.run("echo commit > .llvs/control")
          #expect(eventually { served.daemon.tree.nodeCount <= Self.limit })
        }
      }

      @Test("files of a directory that stays are forgotten one by one")
      func flat() throws {
        try ServedStore.with(names: Self.limit) { served in
          _ = try served.run("for i in {1..6000}; do : > f$i; done; echo commit > .llvs/control")
          #expect(try served.run("stat -c %s f* | wc -l") == "6000\n")
          #expect(eventually { served.daemon.tree.nodeCount <= Self.limit })
          #expect(try served.run("ls | wc -l; stat -c %n f1 f6000") == "6000\nf1\nf6000\n")
        }
      }

      @Test("where somebody works, and what something is mounted on, stays")
      func spared() throws {
        try ServedStore.with(names: Self.limit) { served in
          _ = try served.run(Self.make + "\necho commit > .llvs/control")
          let isMounted = SystemProcess.user == 0
          if isMounted { _ = try served.run("mount -t tmpfs none t/d100; echo here > t/d100/here") }
          defer { _ = try? shell("umount '\(served.path)/t/d100'") }
          let said = try served.run(
            """
            cd t/d101
            ( cd ../..; for i in 1 2 3; do find t -type f -exec stat -c %s {} + > /dev/null; done; sleep 0.5 )
            /bin/pwd -P
            """)
          #expect(said == "\(served.path)/t/d101\n")
          if isMounted { #expect(try served.run("cat t/d100/here") == "here\n") }
          #expect(eventually { served.daemon.tree.nodeCount <= Self.limit })
        }
      }

      @Test(
        "a walk over many versions is forgotten too, also where they have a mount of their own",
        arguments: SystemProcess.effectiveUser == 0 ? [false, true] : [false])
      func history(hurries: Bool) throws {
        try ServedStore.with(names: Self.limit, hurriesHistory: hurries) { served in
          _ = try served.run(
            """
            mkdir d; for i in {1..100}; do echo $i > d/$i; done
            for v in {1..30}; do
              for i in {1..100}; do echo $v >> d/$i; done; echo commit > .llvs/control
            done
            """)
          let walk = "find .llvs/versions -type f -path '*/d/*' -exec stat -c %s {} + | wc -l"
          let count = try served.run(walk)
          #expect(count == "3000\n")
          #expect(try served.run(walk) == count)
          #expect(eventually { served.daemon.metaNodeCount <= Self.limit })
          // A process that works in a version stays there.
          let said = try served.run(
            "cd .llvs/head/d; (cd '\(served.path)'; \(walk); \(walk)); /bin/pwd -P; cat 7 | wc -l"
          ).split(separator: "\n")
          #expect(said.count == 4 && said[0] == "3000" && said[3] == "31", "\(said)")
          #expect(said[2].hasPrefix(served.path) && said[2].hasSuffix("/d"), "\(said)")
          #expect(eventually { served.daemon.metaNodeCount <= Self.limit })
          #expect(try served.run(walk) == count)
          if hurries {
            #expect(try served.run("umount .llvs/versions; echo done") == "done\n")
            #expect(eventually { served.daemon.metaNodeCount < 100 })
            #expect(try served.run(walk) == count)
          }
        }
      }

      @Test("where history cannot be mounted by itself, the log says why and the mount goes on")
      func noPlaceForHistory() throws {
        try ServedStore.with(names: Self.limit) { served in
          let (daemon, tree) = (served.daemon, served.daemon.tree)
          let meta = MetaTree(live: tree, services: MetaServices(daemon.control))
          let memory = KernelMemory(
            tree: tree, meta: meta, cache: NoCache(), mountPoint: served.path,
            limit: Self.limit, seesUsers: true)
          let history = HistoryMount(
            of: meta, in: tree, below: served.path + "/missing",
            mount: MountOptions(source: "none"), connection: ConnectionOptions(), memory: memory,
            log: daemon.log)
          history.start()
          #expect(history.awaitMount() != nil)
          #expect(history.hasEnded)
          history.end()
          history.wait()
          let said = try served.run(
            "echo x > f; echo commit > .llvs/control; cat .llvs/log .llvs/head/f")
          #expect(said.contains("history as a file system of its own: "), "\(said)")
          #expect(said.hasSuffix("\nx\n"), "\(said)")
        }
      }
    }

    private final class NoCache: KernelCache {
      func invalidate(_ node: NodeID, offset: Int64, length: Int64) {}
      func invalidate(_ name: [UInt8], in parent: NodeID) {}
      func expire(_ name: [UInt8], in parent: NodeID) {}
      func removed(_ name: [UInt8], in parent: NodeID, child: NodeID) {}
      func flush() {}
    }
  }
#endif
