import Control
import LLVSCore
import Testing

@Suite("How often a key is written anew", .timeLimit(.minutes(1)))
struct RewriteLimitsTests {
  @Test("a key is written anew so often a day, also over restarts")
  func restarts() {
    var stored: [UInt8]?
    var count = 0
    for now: Int64 in 1000..<1010 {
      let limits = RewriteLimits(stored, most: 3, now: now)
      if limits.mayRewrite(Key("a\u{e9} b")) { count += 1 }
      #expect(limits.hasChanged == (count <= 3 && now < 1003))
      stored = limits.text
    }
    #expect(count == 3)
    #expect(RewriteLimits(stored, most: 3, now: 1010).mayRewrite(Key("other")))
    #expect(RewriteLimits(stored, most: 3, now: 1000 + 86_401).mayRewrite(Key("a\u{e9} b")))
  }

  @Test(
    "what is no such text counts nothing",
    arguments: ["", "\n\n", "zz 1000", "616 1000", "61", "61 x", "61 99999999999", " 1000"])
  func damaged(text: String) {
    let limits = RewriteLimits(Array(text.utf8), most: 1, now: 1000)
    #expect(limits.mayRewrite(Key("a")))
  }
}
