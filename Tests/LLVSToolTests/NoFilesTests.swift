import TestSupport
import Testing

/// What stands in a store under the name of a file and is none.
@Suite("FIFOs in the place of a store's files", .timeLimit(.minutes(3)))
struct NoFilesTests {
  private static let names = [
    "lock", "log", "readers", "store.sqlite", "store.sqlite-wal", "index.sqlite",
    "journal/*.journal",
    "segments/00000001.seg",
  ]

  @Test("commands end, whichever it is", arguments: names)
  func commands(name: String) throws {
    let result = try Tool().run(
      """
      llvs init s -q; mkdir d; echo 1 > d/a; llvs import d --store s -q
      llvs commit --store s -q; for file in s/\(name); do rm -f $file; mkfifo $file; done
      for verb in log status verify commit 'show head:a' 'backup b' 'export head e'; do
        timeout -s KILL 20 '\(MountedStore.program)' $verb --store s > said 2>&1 < /dev/null; code=$?
        [ $code -lt 124 ] || { echo "$verb: $code"; cat said; }
      done
      """)
    #expect(result.output == "", "\(result.output)")
  }

  @Test("a mount answers, whichever it is", .enabled(if: MountedStore.isPossible), arguments: names)
  func mounted(name: String) throws {
    let mounted = try MountedStore()
    defer { mounted.tearDown() }
    _ = try TestSupport.shell(
      """
      '\(MountedStore.program)' init store; mkdir d; echo 1 > d/a
      '\(MountedStore.program)' import d --store store; '\(MountedStore.program)' commit --store store
      for file in store/\(name); do rm -f $file; mkfifo $file; done
      """, in: mounted.directory)
    // A store that is refused is an answer, too.
    do { try mounted.mount() } catch { return }
    let result = try mounted.shell(
      """
      for file in log status control; do
        timeout -s KILL 20 cat .llvs/$file > /dev/null 2>&1; [ $? -lt 124 ] || echo "$file waits"
      done
      { echo x > f; } 2> /dev/null; timeout -s KILL 20 bash -c 'echo commit > .llvs/control' 2> /dev/null; [ $? -lt 124 ] || echo waits
      """)
    #expect(result.output == "", "\(name): \(result.output)")
  }
}
