import Foundation
import TestSupport
import Testing

@Suite("llvs import and export: stores of the original", .timeLimit(.minutes(2)))
struct OriginalStoresTests {
  @Test(
    "all versions go into a store of the original and come back from it",
    arguments: ["llvs-store", "llvs-store-sqlite"])
  func roundTrip(_ format: String) throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir -p d/sub; echo one > d/a; echo two > d/sub/b; llvs init s -q
      llvs import d --store s -q; echo three > d/a; llvs import d --store s -q
      llvs export --as \(format) old --store s; echo $?
      ls old | sort | tr '\\n' ' '; echo
      llvs export --as \(format) old --store s
      llvs init t -q; llvs import --from \(format) old --store t; echo $?
      llvs export head out --store t -q; cat out/a out/sub/b
      llvs verify --store t -q; echo $?
      """)
    #expect(
      result.output == """
        2 versions added to old
        0
        maps values versions \

        0 versions added to old
        2 versions of old came in
        0
        three
        two
        0

        """, "\(result.output)")
  }

  @Test("what is no store of the original, and a format that is none, are refused with a sentence")
  func refused() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      llvs init s -q; mkdir empty
      llvs import --from llvs-store empty --store s 2>&1; echo $?; ls empty
      llvs import --from zip empty --store s >/dev/null 2>&1; echo $?
      llvs export --as zip out --store s >/dev/null 2>&1; echo $?
      llvs export --as llvs-store s --store s >/dev/null 2>&1; test $? -ne 0 && echo refused
      """)
    #expect(
      result.output == """
        llvs: there is no store of the original in empty.
        3
        2
        2
        refused

        """, "\(result.output)")
  }
}
