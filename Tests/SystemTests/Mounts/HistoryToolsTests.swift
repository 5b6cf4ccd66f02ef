import Foundation
import LLVSCore
import TestSupport
import Testing

extension Mounted {
  /// Ordinary programs beside and inside `.llvs` (docs/mounted-tree.md).
  @Suite(.serialized) struct HistoryToolsTests {
    @Test("find, grep, rsync, du, tar, cp and rm never enter .llvs", .timeLimit(.minutes(1)))
    func walkersStayOut() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run(
          """
          mkdir -p d/e; echo needle > d/e/f; echo needle > top; echo commit > .llvs/control
          echo more >> top; echo commit > .llvs/control
          [ "$(find . | sort | tr '\\n' ' ')" = '. ./d ./d/e ./d/e/f ./top ' ]
          [ "$(grep -r needle . | wc -l)" = 2 ]
          [ "$(ls -A | tr '\\n' ' ')" = 'd top ' ]; [ "$(ls -A d | tr '\\n' ' ')" = 'e ' ]
          rsync -a ./ ../rsynced/; cp -a . ../copied; tar c . | tar t > ../tarred; ! grep llvs ../tarred
          for copy in ../rsynced ../copied; do [ "$(find $copy | wc -l)" = 5 ]; done
          [ "$(du -a . | wc -l)" = 5 ]
          shopt -s dotglob; rm -rf ./* ; [ -z "$(ls -A)" ]; [ -d .llvs ]
          ls .llvs/versions | wc -l | grep -qx 2
          ! rm -r .llvs/versions 2> /dev/null; ! rmdir .llvs 2> /dev/null; ! mv .llvs x 2> /dev/null
          ls .llvs/versions | wc -l | grep -qx 2; [ -z "$(ls -A)" ]
          """)
      }
    }

    @Test(
      "Comparing two versions of 10,000 files reads none that is the same in both",
      .timeLimit(.minutes(2)))
    func diffReadsNothingEqual() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run(
          """
          for d in $(seq 100); do mkdir $d; for f in $(seq 100); do echo $d $f > $d/$f; done; done
          echo commit > .llvs/control; echo changed > 50/50; echo commit > .llvs/control
          """, seconds: 90)
        let told = try mounted.run(
          """
          cd .llvs/versions; set -- *
          strace -f -o ../../../trace -e trace=openat,read diff -r "$1" "$2" || [ $? = 1 ]
          grep -c '^[0-9]* *openat(.*"[^"]*/[0-9]*/[0-9]*", O_RDONLY[^D]*$' ../../../trace || true
          """, seconds: 60)
        // Only the two files that differ were opened at all.
        #expect(told.contains(" changed\n") && told.hasSuffix("\n2\n"), "\(told)")
      }
    }

    @Test(
      "A version, a history and the live tree show the same bytes by every alias",
      .timeLimit(.minutes(1)))
    func aliases() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run(
          """
          mkdir d; for i in 1 2 3; do echo $i > d/f; touch other; echo "commit number $i" > .llvs/control; done
          echo x > elsewhere; echo commit > .llvs/control
          diff -r . .llvs/head/; diff -r . .llvs/at/now/ 2> /dev/null || diff -r . .llvs/at/-0s/
          [ "$(ls .llvs/versions | wc -l)" = 4 ]; [ "$(ls d/.llvs/versions | wc -l)" = 3 ]
          [ "$(cat .llvs/history/d/f/* | sort | tr '\\n' ' ')" = '1 2 3 ' ]
          cd d; [ "$(cat .llvs/versions/*/f | sort | tr '\\n' ' ')" = '1 2 3 ' ]; cd ..
          first=$(ls .llvs/versions | head -1)
          ! touch .llvs/versions/$first/d/f 2> ../err; grep -q 'Read-only' ../err
          ! sh -c "echo x > .llvs/versions/$first/d/f" 2> ../err; grep -q 'Read-only' ../err
          cp -a .llvs/versions/$first/d ../copy; cat ../copy/f
          cat .llvs/README .llvs/status .llvs/log > /dev/null; python3 -m json.tool < .llvs/status.json > /dev/null
          """)
      }
    }

    @Test("A hundred thousand versions list in bounded memory", .timeLimit(.minutes(3)))
    func manyVersions() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      let count = 100_000
      do {
        let store = try Store.open(path: mounted.store, mode: .writer, create: true)
        var last: VersionNumber?
        for _ in 0..<10 {
          last = try store.write { (transaction) throws(StoreError) -> VersionNumber? in
            var last = last
            for _ in 0..<(count / 10) {
              let map = ValueMap(emptyIn: transaction.nodes, cache: store.nodeCache)
              last = try transaction.add(
                AuthoredVersion(
                  number: try transaction.reserveVersion(), first: last, base: map, map: map,
                  line: nil, author: nil, message: nil)
              ).number
            }
            return last
          }
        }
      }
      try mounted.mount()
      let before = try memory(mounted)
      #expect(try mounted.run("ls .llvs/versions | wc -l", seconds: 90) == "\(count)\n")
      let after = try memory(mounted)
      #expect(after - before < 100 << 10, "\(before) KiB grew to \(after) KiB")
    }

    private func memory(_ mounted: MountedStore) throws -> Int {
      let text = try TestSupport.shell(
        "awk '/VmRSS/ { print $2 }' /proc/\(mounted.daemon)/status"
      ).output
      return Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
    }
  }
}
