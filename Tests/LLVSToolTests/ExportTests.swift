import Foundation
import LLVSCore
import TestSupport
import Testing

@Suite("llvs export", .timeLimit(.minutes(2)))
struct ExportTests {
  /// Keys as a program that knows no files writes them: most are no paths.
  static let keys: [(key: String, shown: String)] = [
    ("", "%llvs%"), (".", "%llvs%."), ("..", "%llvs%.."), ("../x", "%llvs%..%2Fx"),
    ("/abs", "%llvs%%2Fabs"), ("a//b", "a/%llvs%a%2F%2Fb"),
    (".llvs/control", "%llvs%.llvs%2Fcontrol"),
    ("nul\0x", "%llvs%nul%00x"), ("a", "%llvs%a"), ("a/plain", "a/plain"), ("d/", "d/%llvs%d%2F"),
  ]

  @Test("Any keys are exported, under the names that a mount shows them by")
  func anyKeys() throws {
    let tool = try Tool()
    let path = tool.directory.path + "/s"
    let long = String(repeating: "n", count: 300)
    var version: Version.ID?
    do {
      let store = try Store.open(path: path, create: true)
      let keys = Self.keys.map(\.key) + [long]
      version = try store.makeVersion(
        basedOnPredecessor: nil,
        inserting: keys.map { Value(id: Value.ID($0), data: Array("<\($0)>".utf8)) }
      ).id
    }
    let id = try #require(version).rawValue
    let result = try tool.run(
      "llvs export '\(id)' out --store s -q; echo $?; find out -type f | wc -l")
    #expect(result.output == "0\n\(Self.keys.count + 1)\n", "\(result.output)")
    for (key, shown) in Self.keys {
      let text = try String(contentsOfFile: "\(tool.directory.path)/out/\(shown)", encoding: .utf8)
      #expect(text == "<\(key)>", "\(shown)")
    }
    let hashed = try tool.run("cat out/%llvs%nnn*; ls s out/.. | grep -c pwned")
    #expect(hashed.output == "<\(long)>0\n", "\(hashed.output)")
  }

  @Test("A directory of a version is exported alone, named by --from or after a colon")
  func part() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir -p d/notes/old; echo 1 > d/notes/a; echo 2 > d/notes/old/b; echo secret > d/top
      llvs init s -q; llvs import d --store s -q
      llvs export head out1 --from notes --store s -q && (cd out1; find . -type f | sort)
      llvs export head:notes/ out2 --store s -q && diff -r out2 d/notes
      llvs export head out3 --from none --store s -q; echo "code $?"; ls out3 2>&1 | wc -l
      llvs export head:top out4 --store s -q; echo "code $?"
      llvs export head:notes out5 --from notes --store s -q; echo "code $?"
      """)
    #expect(
      result.output.replacing(/[0-9T.-]+Z-[0-9A-F]{8}/, with: "V") == """
        ./a
        ./old/b
        llvs: V has no none.
        code 3
        1
        llvs: top is a file; llvs show V:top writes it to standard output.
        code 2
        llvs: VERSION:PATH and --from both name a directory.
        code 2

        """, "\(result.output)")
  }

  @Test("What is damaged is left out and told, the rest is exported")
  func damaged() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir d; for i in $(seq 20); do head -c 200000 /dev/urandom > d/f$i; done; ln d/f3 d/link
      llvs init s -q; llvs import d --store s -q
      # In the middle of the contents, past what the segment begins with.
      printf X | dd of=$(ls s/segments/*.seg | head -1) bs=1 seek=1000000 conv=notrunc status=none
      llvs export head out --store s -q; echo "code $?"; ls d | wc -l; ls out | wc -l
      for f in out/*; do cmp "$f" "d/${f#out/}"; done
      """)
    #expect(
      result.output.wholeMatch(
        of:
          /llvs: out\/f[0-9]+ is left out: [^\n]+\n(llvs: out\/link is [^\n]+\n)?code 12\n21\n(20|19)\n/
      )
        != nil, "\(result.output)")
  }

  @Test("Files are their owner's alone while they are written, and have their modes in the end")
  func modes() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir -p d/open/sub d/closed; chmod 700 d/closed; head -c 60M /dev/zero | tr '\\0' x > d/closed/big
      chmod 600 d/closed/big; echo x > d/open/f; chmod 4755 d/open/f; echo x > d/plain
      llvs init s -q; llvs import d --store s -q
      llvs export head out --store s -q & export=$!
      while kill -0 $export 2>/dev/null; do
        stat -c '%a %n' out/closed out/closed/big 2>/dev/null
      done | sort -u > seen
      wait $export; echo $?; grep -cv '^[67]00 ' seen; test -s seen; echo $?
      stat -c '%a %u %n' out/*/* out/* | sort > a; cd d; stat -c '%a %u out/%n' */* * | sort | cmp - ../a
      """)
    #expect(result.output == "0\n0\n0\n", "\(result.output)")
  }

  @Test("A hole is exported as one, however long it is")
  func hole() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir d; truncate -s 4T d/hole; truncate -s 4T d/ends
      printf first | dd of=d/ends conv=notrunc status=none
      head -c 300000 /dev/urandom > data; dd if=data of=d/ends bs=1M seek=2M conv=notrunc status=none
      truncate -s +3M d/ends; truncate -s 100K d/short; printf x >> d/short
      llvs init s -q; llvs import d --store s -q
      llvs export head out --store s -q; echo $?
      cmp d/short out/short; du -k out/hole out/ends | awk '$1 > 4000'; stat -c %s out/*
      head -c 1M out/ends | cmp - <(head -c 1M d/ends)
      for f in out d; do dd if=$f/ends bs=1M skip=2M count=1 status=none | sha256sum; done | uniq | wc -l
      """)
    #expect(result.output == "0\n4398049656832\n4398046511104\n102401\n1\n", "\(result.output)")
  }
}
