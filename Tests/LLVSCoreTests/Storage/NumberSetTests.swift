import Testing

@testable import LLVSCore

/// Sets of version numbers.
@Suite("A set of version numbers", .timeLimit(.minutes(1)))
struct NumberSetTests {
  @Test(
    "it tells up to which number all are in it",
    arguments: [
      ([], 0), ([2...9], 0), ([1...1], 1), ([1...63], 63), ([1...64], 64), ([1...200], 200),
      ([1...62, 64...90], 62), ([1...127, 129...300], 127), ([65...128, 1...64], 128),
    ] as [([ClosedRange<UInt32>], UInt32)])
  func beginning(_ runs: [ClosedRange<UInt32>], _ expected: UInt32) {
    var set = NumberSet()
    for run in runs { set.insert(run) }
    #expect(set.beginning == expected)
    for number in 0..<expected { #expect(set.contains(VersionNumber(number + 1))) }
    #expect(!set.contains(VersionNumber(expected + 1)))
  }
}
