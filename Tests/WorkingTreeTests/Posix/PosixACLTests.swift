import Inodes
import LLVSCore
import Platform
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Access control lists as the kernel hands them over.
struct PosixACLTests {
  private func list(_ entries: [(tag: UInt8, permissions: UInt8, id: UInt32)]) -> [UInt8] {
    [2, 0, 0, 0]
      + entries.flatMap { entry in
        [entry.tag, 0, entry.permissions, 0]
          + (0..<4).map { UInt8(truncatingIfNeeded: entry.id >> (8 * $0)) }
      }
  }

  private static let none = UInt32.max

  private var whole: [UInt8] {
    list([
      (1, 7, Self.none), (2, 5, 1000), (2, 6, 70_000), (4, 4, Self.none), (8, 7, 5),
      (16, 6, Self.none),
      (32, 1, Self.none),
    ])
  }

  @Test("a list comes back as it was read, and its mode has the mask for the group")
  func read() throws {
    let acl = try #require(PosixACL(whole))
    #expect(acl.bytes == whole && acl.mode == 0o761 && !acl.isMode)
    let plain = try #require(
      PosixACL(list([(1, 6, Self.none), (4, 4, Self.none), (32, 0, Self.none)])))
    #expect(plain.isMode && plain.mode == 0o640)
  }

  @Test("bytes that the kernel would not take are no list")
  func refused() {
    let owner: (UInt8, UInt8, UInt32) = (1, 7, Self.none)
    let group: (UInt8, UInt8, UInt32) = (4, 7, Self.none)
    let other: (UInt8, UInt8, UInt32) = (32, 7, Self.none)
    let mask: (UInt8, UInt8, UInt32) = (16, 7, Self.none)
    let bad: [[UInt8]] = [
      [], [2, 0, 0, 0], Array(whole.dropLast()), [1] + whole.dropFirst(), list([owner, group]),
      list([owner, other]), list([group, other]), list([owner, owner, group, other]),
      list([owner, (2, 7, 9), group, other]), list([owner, group, (8, 7, 9), other]),
      list([owner, other, group]), list([owner, group, mask, mask, other]),
      list([(1, 8, Self.none), group, other]),
      list([owner, (2, 7, Self.none), group, mask, other]),
      list([owner, (3, 7, 9), group, mask, other]),
      list([owner] + (0..<600).map { (2, 7, $0) } + [group, mask, other]),
    ]
    for bytes in bad { #expect(PosixACL(bytes) == nil, "\(bytes)") }
  }

  @Test("chmod changes three entries, and what is made gets no more than both allow")
  func changed() throws {
    let acl = try #require(PosixACL(whole))
    let changed = acl.changed(to: 0o2405)
    #expect(changed.mode == 0o405)
    #expect(changed.changed(to: 0o761) == acl)
    let (inherited, mode) = acl.inherited(with: 0o2644)
    #expect(mode == 0o2640 && inherited.mode == 0o640)
  }

  @Test("the mode goes before a list, and a default list is a directory's")
  func shown() throws {
    var attributes = Attributes(mode: 0o640)
    let acl = try #require(PosixACL(whole))
    attributes.set(acl, ExtendedName.accessACL)
    attributes.set(acl, ExtendedName.defaultACL)
    attributes.setExtended([1], Array("user.a".utf8))
    #expect(attributes.fault == nil && attributes.extended.count == 3)
    let shown = attributes.shownACL(ExtendedName.accessACL, of: .regular, mode: 0o640)
    #expect(shown == acl.changed(to: 0o640).bytes)
    #expect(attributes.shownACL(ExtendedName.defaultACL, of: .directory, mode: 0o640) == whole)
    #expect(attributes.shownACL(ExtendedName.defaultACL, of: .regular, mode: 0o640) == nil)
    #expect(attributes.shownACL(ExtendedName.accessACL, of: .symlink, mode: 0o777) == nil)
    attributes.set(nil, ExtendedName.accessACL)
    attributes.setExtended([2], Array("user.a".utf8))
    #expect(attributes.extended.map(\.name) == [ExtendedName.defaultACL, Array("user.a".utf8)])
    #expect(attributes.extended.last?.value == [2])
  }
}
