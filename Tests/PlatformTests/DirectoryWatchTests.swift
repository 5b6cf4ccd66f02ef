import Synchronization
import TestSupport
import Testing

@testable import Platform

@Suite("Watched directories", .timeLimit(.minutes(1)))
struct DirectoryWatchTests {
  /// A watch with a thread that notes what changes.
  private final class Notes: Sendable {
    let watch: DirectoryWatch
    private let seen = Monitor<(changes: [DirectoryWatch.Change], isEnded: Bool)>(([], false))

    init() throws {
      watch = try DirectoryWatch()
      try SystemThread.detach { [self] in
        while let changes = watch.changes() {
          seen.withLock { $0.changes += changes }
          seen.broadcast()
        }
        seen.withLock { $0.isEnded = true }
        seen.broadcast()
      }
    }

    func has(_ name: String?, in directory: String) -> Bool {
      let change = DirectoryWatch.Change(directory: directory, name: name)
      return seen.wait(nanoseconds: 20_000_000_000) { seen in
        seen.changes.contains(change) ? true : nil
      } == true
    }

    func clear() { seen.withLock { $0.changes = [] } }

    func end() -> Bool {
      watch.end()
      return seen.wait(nanoseconds: 20_000_000_000) { $0.isEnded ? true : nil } == true
    }
  }

  @Test("a name that is made, written or replaced is told, and so is that a watch begins")
  func told() throws {
    let directory = try TemporaryDirectory()
    let notes = try Notes()
    notes.watch.watch([directory.path])
    #expect(notes.has(nil, in: directory.path))
    try FileSystem.replace(directory.file("a"), with: [1])
    #expect(notes.has("a", in: directory.path))
    notes.clear()
    do { try File(directory.file("a"), .write).write([2], at: 0) }
    #expect(notes.has("a", in: directory.path))
    #expect(notes.end())
  }

  @Test("directories that are removed, and such as come later")
  func directories() throws {
    let directory = try TemporaryDirectory()
    let (one, two) = (directory.file("one"), directory.file("two"))
    try FileSystem.makeDirectory(one)
    let notes = try Notes()
    notes.watch.watch([one, two])
    #expect(notes.has(nil, in: one))
    notes.clear()
    try FileSystem.removeTree(one)
    #expect(notes.has(nil, in: one))
    try FileSystem.makeDirectory(one)
    try FileSystem.makeDirectory(two)
    notes.clear()
    // Directories that were not there are looked for when the wish changes.
    notes.watch.watch([one])
    notes.watch.watch([one, two])
    #expect(notes.has(nil, in: two))
    try FileSystem.replace("\(two)/b", with: [1])
    #expect(notes.has("b", in: two))
    #expect(notes.end())
  }
}
