import Testing

@testable import MountedTree

@Test(
  "A table keeps the newest of what was noted, at least as many as it says, and at most twice as many"
)
func recentTable() {
  var table = RecentTable<Int>(limit: 100)
  for number in 0..<1000 {
    table[UInt64(number)] = number
    let first = max(0, number - 99)
    #expect((first...number).allSatisfy { table[UInt64($0)] == $0 })
    #expect(number < 200 || table[UInt64(number - 200)] == nil)
  }
  table[999] = nil
  table[998] = 5
  #expect(table[999] == nil && table[998] == 5 && table[997] == 997)
}
