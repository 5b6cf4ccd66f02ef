import Testing

@testable import TreeSupport
@testable import WorkingTree

@Suite("Lists of which copies are cheap")
struct SharedListTests {
  @Test("elements come back in their order, also over the ends of parts")
  func order() {
    for count in [0, 1, 511, 512, 513, 1024, 5000] {
      var list = SharedList<Int>()
      for number in 0..<count { list.append(number) }
      #expect(list.count == count)
      #expect(list.isEmpty == (count == 0))
      #expect(Array(list) == Array(0..<count))
    }
  }

  @Test("a copy stays as it was")
  func copies() {
    var list = SharedList<Int>()
    var copies: [SharedList<Int>] = []
    for number in 0..<1500 {
      if number % 100 == 0 { copies.append(list) }
      list.append(number)
    }
    for (index, copy) in copies.enumerated() { #expect(Array(copy) == Array(0..<(index * 100))) }
    #expect(copies[3] == copies[3])
    #expect(copies[3] != copies[4])
  }
}
