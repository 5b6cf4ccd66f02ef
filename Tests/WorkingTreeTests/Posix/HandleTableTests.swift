import Inodes
import Testing

@testable import TreeSupport
@testable import WorkingTree

struct HandleTableTests {
  private func file(_ number: UInt64, _ mode: OpenMode = [.read, .write]) -> OpenFile {
    OpenFile(inode: InodeNumber(number), mode: mode, process: 1)
  }

  @Test("A handle that was closed stays closed when another file takes its place")
  func closed() {
    var table = HandleTable()
    let first = table.open(file(5))
    #expect(table.close(first)?.inode == InodeNumber(5))
    let second = table.open(file(6))
    #expect(second != first)
    #expect(table[first] == nil && table.close(first) == nil)
    #expect(table[second]?.inode == InodeNumber(6))
    table[first] = file(7)
    table.noteWrite(through: first)
    table.noteSave(through: first)
    #expect(table[first] == nil)
    #expect(table[second]?.wrote == false)
    #expect(table.openInodes == [InodeNumber(6)])
  }

  @Test("Numbers that nobody gave are no handles", arguments: [0, 1, 1 << 32, UInt64.max])
  func unknown(number: UInt64) {
    var table = HandleTable()
    #expect(table[HandleNumber(number)] == nil)
    let handle = table.open(file(5))
    guard handle.rawValue != number else { return }
    #expect(table[HandleNumber(number)] == nil && table.close(HandleNumber(number)) == nil)
  }

  @Test("A file is open, and written, as long as one of its handles is")
  func counts() {
    var table = HandleTable()
    let inode = InodeNumber(5)
    let reader = table.open(file(5, .read))
    let writers = [table.open(file(5)), table.open(file(5))]
    for writer in writers {
      #expect(table.isWritten(inode))
      _ = table.close(writer)
    }
    #expect(table.isOpen(inode) && !table.isWritten(inode))
    _ = table.close(reader)
    #expect(!table.isOpen(inode) && table.openInodes.isEmpty)
  }
}
