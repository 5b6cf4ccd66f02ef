import LLVSCore
import Platform
import TestSupport
import Testing

@Suite("Forgotten versions in the tool", .timeLimit(.minutes(3)))
struct ForgottenTests {
  let tool: Tool

  /// Makes three versions, and forgets the first two. `big` is other bytes in each, `small` is short in each, `once` is
  /// of the first.
  init() throws {
    tool = try Tool()
    let made = try tool.run(
      """
      mkdir d; llvs init s -q; seq 30000 > d/once
      for n in 1 2 3; do
        head -c 60000 /dev/urandom | base64 > d/big; echo $n > d/small; cp d/big big$n
        llvs import d --store s -q -m "number $n"
      done
      """)
    #expect(made.status == 0, "\(made.output)")
    let store = try Store.open(path: tool.directory.file("s"))
    let report = try store.forget(
      try KeepPolicy("all:1h"), at: SystemClock.now() + 7200 * 1_000_000_000)
    #expect(report.forgotten == 2)
  }

  /// Runs a script with the names of the versions in V1, V2 and V3, and replaces them by these words in the output.
  private func run(_ script: String) throws -> String {
    let result = try tool.run(
      """
      cd d; l() { llvs "$@" --store ../s; }
      set -- $(l log --all --oneline | cut -d' ' -f1); V1=$3 V2=$2 V3=$1
      { \(script)
      } 2>&1 | sed "s/$V1/V1/g; s/$V2/V2/g; s/$V3/V3/g"
      """)
    return result.output.replacing(/on \d+ [A-Z][a-z]+ \d\d\d\d by/, with: "on DAY by")
  }

  @Test("log and completion have the kept versions, log --all has the forgotten ones too, marked")
  func log() throws {
    let output = try run(
      """
      l log --oneline; echo; l log --all --oneline; echo; l log --all | grep bytes
      l log --all --json | grep -c '"isForgotten":true'
      llvs completion words -- --store ../s show "${V1%?????}"; llvs completion words -- --store ../s show "$V1"
      """)
    #expect(
      output
        == """
        V3 (head) number 3

        V3 (head) number 3
        V2 (forgotten) number 2
        V1 (forgotten) number 1

        bytes   were forgotten on DAY by keep=all:1h
        bytes   were forgotten on DAY by keep=all:1h
        2
        V1

        """, "\(output)")
  }

  @Test("a file of a forgotten version is shown if its bytes are here, and else the reason is told")
  func show() throws {
    let output = try run(
      """
      l show $V1:small; l show $V1:once | cmp - once; l show $V1:big; echo $?
      l show $V1:big --json; l show $V1:
      """)
    #expect(
      output.replacing(/"message":"[^"]*"/, with: "M") == """
        1
        llvs: the bytes of big in V1 were forgotten on DAY by keep=all:1h.
        14
        {"ok":false,"error":"forgotten",M,"code":14}
        big
        once
        small

        """, "\(output)")
  }

  @Test("differences name the files that cannot be compared, and show all others")
  func diff() throws {
    let output = try run(
      """
      l diff $V1 head > patch; echo $?; grep -v '^index' patch; l diff $V1 head --name-status; echo $?
      l diff $V1 head --stat; echo $?; l show head --stat | tail -3; l log --patch > log; echo $?
      grep -c '^+3' log; git init -q . && git apply --check patch; echo $?
      l diff $V1 head --json --stat
      """)
    let words = "llvs: the bytes of big in V1 were forgotten on DAY by keep=all:1h."
    #expect(
      output.hasPrefix(
        """
        \(words)
        14
        big: bytes are forgotten
        diff --git a/big b/big
        Binary files a/big and b/big differ
        diff --git a/small b/small
        --- a/small
        +++ b/small
        @@ -1 +1 @@
        -1
        +3
        * big
        * small
        0
         big   | bytes are forgotten
         small | 2 +-
         2 files changed, 1 insertion(+), 1 deletion(-)
        \(words)
        14
        \(words.replacing("V1", with: "V2"))
         big   | bytes are forgotten
         small | 2 +-
        """), "\(output)")
    // git does not apply the patch without the bytes.
    #expect(output.contains("\n128\n"), "\(output)")
    #expect(output.contains(#""newMode":"644","forgotten":true"#), "\(output)")
  }

  @Test("restore brings back the files that have bytes, leaves the others, and undo takes it back")
  func restore() throws {
    let output = try run(
      """
      show() { l show head:small; l show head:big | cmp - ../big3; }
      l restore $V1 > out 2>&1; echo $?; sed 's/^[^ ]* as/V as/' out; show
      l undo -q; echo $?; show; l restore $V1 big; echo $?; show
      l restore $V1 big --json | grep -o '"code":14'
      l switch $V1 as old; echo $?; show; l log --oneline | wc -l
      """)
    let words = "llvs: the bytes of big in V1 were forgotten on DAY by keep=all:1h"
    #expect(
      output == """
        14
        V as V1, 1 changed: small
        \(words).
        1
        0
        3
        nothing is restored
        \(words).
        14
        3
        "code":14
        \(words); "llvs restore" brings back the files that are left.
        14
        3
        3

        """, "\(output)")
  }

  @Test("an export leaves out the files without bytes")
  func export() throws {
    let output = try run("l export $V1 ../out; echo $?; ls ../out; cat ../out/small")
    #expect(
      output == """
        llvs: the bytes of big in V1 were forgotten on DAY by keep=all:1h.
        V1 is in ../out
        14
        once
        small
        1

        """, "\(output)")
  }

  @Test("grep, blame and history use what is here, and name what is not")
  func searching() throws {
    let output = try run(
      """
      l grep -l '^29999$'; echo $?; l grep -l '^1$' $V1; echo $?
      l blame big | cut -d' ' -f1 | uniq; l blame once | cut -d' ' -f1 | uniq
      l blame big $V1 | tail -1; l history big | wc -l; l history once | wc -l; l history big -u | tail -1
      """)
    func words(_ version: String) -> String {
      "llvs: the bytes of big in \(version) were forgotten on DAY by keep=all:1h."
    }
    #expect(
      output == """
        V1:once
        \(words("V2"))
        \(words("V1"))
        14
        V1:once
        V1:small
        \(words("V1"))
        14
        \(words("V2"))
        \(words("V1"))
        V3
        V1
        \(words("V1"))
        1
        1
        \(words("V2"))
        Binary files a/big and b/big differ

        """, "\(output)")
  }

  @Test(
    "log -S finds the texts of a kept version, also where its predecessor's bytes are forgotten")
  func content() throws {
    let output = try run(
      """
      new=$(tail -1 big | cut -c1-20); l log -S "$new" --oneline; echo $?
      l log -S 29999 --oneline; echo $?; l log -S 29999 --all --oneline; echo $?
      """)
    #expect(
      output == """
        V3 (head) number 3
        0
        0
        llvs: 2 versions not searched for the text, because bytes are forgotten.
        14

        """, "\(output)")
  }

  @Test("history --all has the revisions of forgotten versions too, marked")
  func allRevisions() throws {
    let output = try run(
      """
      l history small | wc -l; l history small --all | cut -d' ' -f1,2
      l history small --all --json | grep -c '"isForgotten":true'
      """)
    #expect(output == "1\nV3 (head)\nV2 (forgotten)\nV1 (forgotten)\n2\n", "\(output)")
  }

  @Test("search --history marks a file whose bytes are forgotten")
  func words() throws {
    let output = try run(
      """
      l search --history name:big --sort path; echo $?
      l search --history name:big --json 2> /dev/null | grep -c '"isForgotten":true'
      l search --history name:once; echo $?
      """)
    #expect(
      output == """
        V3:big
        V2:big: bytes are forgotten
        V1:big: bytes are forgotten
        llvs: the bytes of big in V2 were forgotten on DAY by keep=all:1h.
        llvs: the bytes of big in V1 were forgotten on DAY by keep=all:1h.
        14
        2
        V1:once
        0

        """, "\(output)")
  }

  @Test("space tells what is forgotten by path and by month")
  func space() throws {
    let output = try run(
      """
      l space; l space --json | grep -o '"path":"big"[^}]*'
      """)
    #expect(output.contains("\nOn disk:\n"), "\(output)")
    #expect(output.contains("\n2 versions forgotten, which had "), "\(output)")
    #expect(output.contains(" on disk.\n"), "\(output)")
    #expect(output.contains("\nFiles whole: in all versions, forgotten of these, and in head:\n"))
    #expect(output.contains("\n    243 kB    162 kB   81.1 kB  big\n"), "\(output)")
    #expect(output.contains("3 versions, 2 of them forgotten\n"), "\(output)")
    #expect(output.contains(#""historyBytes":243159,"forgottenBytes":162106"#), "\(output)")
  }

  @Test(
    "a conflict whose common version is forgotten is listed, and merged in a tool with an empty base",
    .enabled(if: MountedStore.isPossible))
  func conflict() throws {
    let result = try tool.run(
      """
      { mkdir m n; llvs mount t m -q; cd m; llvs set settle=1h -q
      head -c 90000 /dev/urandom | base64 -w 60 > f; cp f ../base; llvs commit -q; cd ..
      llvs unmount m -q; cp -a t u; llvs mount t m -q; llvs mount u n -q
      (cd n; llvs set replica=new -q; sed -i '1000s/.*/theirs/' f; llvs commit -q); llvs unmount n -q
      cd m; trap 'cd ..; llvs unmount m -q' EXIT
      for i in 1 2; do head -c 90000 /dev/urandom | base64 -w 60 > f; echo $i >> f; llvs commit -q; done
      sleep 1.2; llvs keep all:1s -q; llvs compact -q
      llvs peer u "$PWD/../u" -q; llvs retrieve u -q; llvs peer u rm -q
      head=$(basename "$(readlink .llvs/head)"); llvs merge -q "$(ls .llvs/heads | grep -v "$head")"
      ls .llvs/conflicts/f; cat .llvs/conflicts/f/base > /dev/null; cmp .llvs/conflicts/f/ours f
      cp -r .llvs/conflicts ../c; ls ../c/f; llvs status | grep -c '^1 conflict open'
      printf '#!/bin/sh\\nwc -c < "$1"; cat "$2" > "$3"\\n' > ../tool; chmod +x ../tool
      llvs mergetool --tool 'true MERGED'; echo $?
      llvs mergetool --tool '../tool BASE THEIRS MERGED'; echo $?; sed -n 1000p f; llvs conflicts
      } 2>&1
      """)
    #expect(
      result.output == """
        base
        merged
        ours
        theirs
        cat: .llvs/conflicts/f/base: No data available
        cp: error reading '.llvs/conflicts/f/base': No data available
        base
        merged
        ours
        theirs
        1
        llvs: the bytes of the common version of f are forgotten, so its base is empty.
        llvs: f is left as it is: markers remain.
        1
        llvs: the bytes of the common version of f are forgotten, so its base is empty.
        0
        f is settled
        0
        theirs
        no conflicts

        """, "\(result.output)")
  }

  @Test("bytes that an old machine's version took from a forgotten one were forgotten")
  func inherited() throws {
    do {
      let store = try Store.open(path: tool.directory.file("s"))
      let first = try #require(try store.version(VersionNumber(1)))
      _ = try store.makeVersion(
        basedOnPredecessor: first.id,
        storing: [.insert(Value(id: Value.ID("new"), data: [65]))])
    }
    let output = try run(
      """
      l show $V3:big; l show $V3:new
      """)
    #expect(
      output == """
        llvs: the bytes of big in V3 were forgotten on DAY by keep=all:1h.
        A
        """, "\(output)")
  }
}
