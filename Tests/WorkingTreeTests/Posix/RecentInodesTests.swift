import Inodes
import LLVSCore
import Testing

@testable import TreeSupport
@testable import WorkingTree

@Suite("Recorded inodes that were read last", .timeLimit(.minutes(1)))
struct RecentInodesTests {
  private let recent = RecentInodes()

  private func inode(_ number: UInt64, links: Int = 1) -> BaseInode {
    BaseInode(
      number: InodeNumber(number),
      record: InodeRecord(kind: .regular, changed: .init(seconds: 0, nanoseconds: 0)), links: links)
  }

  @Test("an inode is found for the publication that it was read of, and for no other")
  func publication() {
    #expect(recent.inode(InodeNumber(7), publication: 1) == nil)
    recent.note(inode(7), publication: 1)
    #expect(recent.inode(InodeNumber(7), publication: 1) == inode(7))
    #expect(recent.inode(InodeNumber(7), publication: 2) == nil)
    #expect(recent.inode(InodeNumber(8), publication: 1) == nil)
  }

  @Test("an inode that was read of an older publication does not take the place of a newer one")
  func olderIsLeftOut() {
    recent.note(inode(7, links: 2), publication: 2)
    recent.note(inode(7), publication: 1)
    recent.note(inode(7 + RecentInodes.count), publication: 1)
    #expect(recent.inode(InodeNumber(7), publication: 2)?.links == 2)
    #expect(recent.inode(InodeNumber(7), publication: 1) == nil)
    #expect(recent.inode(InodeNumber(7 + RecentInodes.count), publication: 1) == nil)
  }

  @Test("numbers that share a slot are told apart")
  func sharedSlot() {
    let other = 7 + RecentInodes.count
    recent.note(inode(7), publication: 1)
    #expect(recent.inode(InodeNumber(other), publication: 1) == nil)
    recent.note(inode(other, links: 3), publication: 1)
    #expect(recent.inode(InodeNumber(7), publication: 1) == nil)
    #expect(recent.inode(InodeNumber(other), publication: 1)?.links == 3)
  }
}
