import Testing

@testable import HistoryTree

@Suite struct PermissionsTests {
  /// What a user of some groups may do, as the kernel decides it.
  private func bits(_ permissions: Permissions, _ uid: UInt32, _ groups: Set<UInt32>) -> UInt32 {
    if permissions.uid == uid { return permissions.mode >> 6 & 7 }
    if groups.contains(permissions.gid) { return permissions.mode >> 3 & 7 }
    return permissions.mode & 7
  }

  private var random: [Permissions] {
    var generator = SystemRandomNumberGenerator()
    return (0..<2000).map { _ in
      Permissions(
        uid: .random(in: 1...3, using: &generator), gid: .random(in: 1...3, using: &generator),
        mode: .random(in: 0...0o777, using: &generator))
    }
  }

  @Test("Nobody may do what one of the two denies him, whoever he is")
  func narrowing() {
    let all = random
    for (a, b) in zip(all, all.reversed()) {
      let narrow = a.narrowed(by: b)
      let passing = a.narrowed(bySearchOf: b)
      for uid: UInt32 in 1...4 {
        for set in 0..<8 {
          let groups = Set((1...3).filter { set >> ($0 - 1) & 1 == 1 }.map { UInt32($0) })
          let (first, second) = (bits(a, uid, groups), bits(b, uid, groups))
          #expect(bits(narrow, uid, groups) & ~(first & second) == 0, "\(a) \(b) \(uid) \(groups)")
          let passage: UInt32 = second & 1 == 1 ? 7 : 0
          #expect(
            bits(passing, uid, groups) & ~(first & passage) == 0, "\(a) \(b) \(uid) \(groups)")
        }
      }
    }
  }

  @Test("What both allow all classes stays")
  func staying() {
    for a in random {
      #expect(a.narrowed(by: Permissions(uid: 9, gid: 9, mode: 0o777)) == a)
      #expect(a.narrowed(bySearchOf: Permissions(uid: 9, gid: 9, mode: 0o711)) == a)
      let same = Permissions(uid: a.uid, gid: a.gid, mode: 0o750)
      #expect(a.narrowed(by: same).mode == a.mode & 0o750)
    }
  }
}
