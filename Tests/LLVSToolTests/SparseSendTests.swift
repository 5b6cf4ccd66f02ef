import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SparseSendTests {
  @Test(
    "A value that cannot fit into a plain folder is refused before it fills the disk"
  )
  func tooLong() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir d hub bundles; truncate -s 8T d/sparse; echo small > d/small
      llvs init s -q; llvs import d --store s -q
      llvs peer hub "plain+$PWD/hub" --store s -q; llvs send hub --store s; echo "code $?"
      find hub -type f | wc -l; du -sm s | cut -f 1
      """)
    #expect(
      result.output.contains(" is full (") && result.output.contains("code 7\n0\n"),
      "\(result.output)")
  }
}
