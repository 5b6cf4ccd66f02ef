import TestSupport
import Testing

@Suite(
  "Renamed directories", .enabled(if: MountedStore.isPossible), .timeLimit(.minutes(2)))
struct DirectoryRenameTests {
  private static let setup = """
    exec 2>&1; top=$PWD; trap 'cd $top; llvs unmount m -q; [ ! -d n ] || llvs unmount n -q' EXIT
    V() { sed -E 's/[0-9T.-]+Z-[0-9A-F]{8}/V/g'; }
    mkdir m; llvs mount s m -q; cd m; mkdir -p photos/sub; for i in 1 2 3; do echo $i > photos/sub/$i; done
    touch photos/empty; echo same > photos/a; echo same > photos/b; echo 1 > todo; llvs commit -q

    """

  @Test("replies, both logs and --stat name the directory, not its files")
  func told() throws {
    let result = try Tool().run(
      Self.setup + """
        mv photos pictures; echo 2 > todo; llvs commit | V; llvs log --oneline -1 | V
        grep -o 'renamed.*' .llvs/log
        llvs diff --stat head~ head; llvs undo | V; llvs log --json -1 | grep -o '"new":.*'
        mv photos pictures; echo 4 > pictures/sub/1; echo 5 > pictures/new; llvs commit | V
        """)
    #expect(
      result.output == """
        V renamed photos/ to pictures/ (6 files); 1 changed: todo
        V (head) renamed photos/ to pictures/ (6 files); 1 changed: todo
        renamed photos/ to pictures/ (6 files); 1 changed: todo
         photos/ -> pictures/ | 6 files
         todo                 | 2 +-
         7 files changed, 1 insertion(+), 1 deletion(-)
        V as V, renamed pictures/ to photos/ (6 files); 1 changed: todo
        "new":8,"changed":1,"removed":8,"renamed":[{"from":"pictures","to":"photos","files":6}]}
        V renamed photos/ to pictures/ (5 files); 2 new, 1 removed: photos/sub/1, pictures/new, pictures/sub/1

        """, "\(result.output)")
  }

  @Test("a merge says what it did not move along")
  func merged() throws {
    let result = try Tool().run(
      Self.setup + """
        mkdir ../p ../n; llvs peer p bundle+$top/p -q; llvs sync -q; llvs mount ../t ../n -q; cd ../n
        llvs peer p $top/p -q; llvs sync -q; echo new > photos/new; llvs sync -q
        cd ../m; mv photos pictures; llvs sync; ls photos
        cd ../n; llvs sync -q; mv pictures views; llvs sync -q
        cd ../m; mv pictures images; llvs sync
        """)
    #expect(
      result.output.contains(
        "renamed photos/ to pictures/ (6 files) on one side, files that the other side added there were not moved"
      ) && result.output.contains("\nnew\n"), "\(result.output)")
    let (one, other) = ("renamed pictures/ to ", " (6 files) on one side and to ")
    #expect(
      result.output.contains("\(one)images/\(other)views/ on the other")
        || result.output.contains("\(one)views/\(other)images/ on the other"), "\(result.output)")
  }
}
