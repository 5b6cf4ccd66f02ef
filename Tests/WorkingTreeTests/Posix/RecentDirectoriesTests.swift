import Inodes
import LLVSCore
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Recorded directories that are read whole", .timeLimit(.minutes(1)))
struct RecentDirectoriesTests {
  private let cookies = CookieHash(key: 7)
  private let directories = RecentDirectories(CookieHash(key: 7))
  private let directory = InodeNumber(5)

  private func entry(_ name: String, _ number: UInt64, links: Int = 1) -> BaseEntry {
    BaseEntry(
      name: FileName(name), cookie: cookies.first(of: FileName(name)),
      inode: BaseInode(
        number: InodeNumber(number),
        record: InodeRecord(kind: .regular, changed: .init(seconds: 0, nanoseconds: 0)),
        links: links), key: nil)
  }

  private func note(
    _ entries: [BaseEntry], of directory: InodeNumber, publication: UInt64
  ) {
    directories.note(
      RecentDirectories.Listing(entries.sorted { $0.cookie < $1.cookie }), of: directory,
      publication: publication)
  }

  private func found(
    _ name: String, in directory: InodeNumber, publication: UInt64 = 1
  ) -> String {
    switch directories.child(of: directory, named: FileName(name), publication: publication) {
    case .unknown: "unknown"
    case .absent: "absent"
    case .entry(let found):
      "\(found.number.rawValue) \(found.entry.name == FileName(name))"
    }
  }

  @Test(
    "a directory is read at its 4th, 16th, 64th and 256th look-up, if it has 32 times as many names"
  )
  func times() {
    var limits: [Int: Int] = [:]
    for count in 1...2000 {
      if let most = directories.noteLookUp(in: directory, publication: 1) { limits[count] = most }
    }
    #expect(limits == [4: 128, 16: 512, 64: 2048, 256: 8192])
  }

  @Test("a directory that was read answers for all names of its publication, and for no other")
  func answers() {
    #expect(found("a", in: directory) == "unknown")
    _ = directories.noteLookUp(in: directory, publication: 1)
    #expect(found("a", in: directory) == "unknown")
    note([entry("a", 7), entry("b", 8, links: 2)], of: directory, publication: 1)
    #expect(found("a", in: directory) == "7 true")
    #expect(found("b", in: directory) == "8 true")
    #expect(found("c", in: directory) == "absent")
    #expect(found("a", in: directory, publication: 2) == "unknown")
    #expect(found("a", in: InodeNumber(6)) == "unknown")
    #expect(found("a", in: InodeNumber(5 + 256)) == "unknown")
  }

  @Test("what was read of an older publication is not noted, and counts nothing")
  func older() {
    _ = directories.noteLookUp(in: directory, publication: 2)
    note([entry("a", 7)], of: directory, publication: 1)
    #expect(found("a", in: directory, publication: 1) == "unknown")
    #expect(found("a", in: directory, publication: 2) == "unknown")
    #expect(directories.noteLookUp(in: directory, publication: 1) == nil)
    note([entry("a", 7)], of: directory, publication: 2)
    #expect(found("a", in: directory, publication: 2) == "7 true")
  }

  @Test(
    "a bounded number of names is in memory, and a directory is read again after it was dropped")
  func bounded() {
    let many = (0..<6000).map { entry("n\($0)", UInt64(100 + $0)) }
    for number in 1...3 as ClosedRange<UInt64> {
      _ = directories.noteLookUp(in: InodeNumber(number), publication: 1)
      note(many, of: InodeNumber(number), publication: 1)
    }
    #expect(found("n1", in: InodeNumber(1)) == "unknown")
    #expect(found("n1", in: InodeNumber(2)) == "unknown")
    #expect(found("n1", in: InodeNumber(3)) == "101 true")
    _ = directories.noteLookUp(in: InodeNumber(1), publication: 1)
    note(many, of: InodeNumber(1), publication: 1)
    #expect(found("n1", in: InodeNumber(1)) == "101 true")
  }
}
