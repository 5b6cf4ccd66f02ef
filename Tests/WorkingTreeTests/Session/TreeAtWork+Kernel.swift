import Inodes
import LLVSCore
import Platform
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

extension TreeAtWork {
  /// The names that a kernel has in its cache after a program looked at the whole tree: all names of each directory.
  struct SeenNames {
    var directories: [InodeNumber: [FileName: InodeNumber]] = [:]
    /// The number of times that the kernel was notified before.
    var notices: Int
  }

  func seenNames() throws -> SeenNames {
    var seen = SeenNames(notices: told.withLock { $0.count })
    var open: [InodeNumber] = [.root]
    while let directory = open.popLast() {
      let listing = try tree.openDirectory(directory)
      var names: [FileName: InodeNumber] = [:]
      var page = try tree.list(listing, after: .start)
      while let last = page.last {
        for entry in page {
          names[entry.name] = entry.number
          if entry.kind == .directory { open.append(entry.number) }
        }
        page = try tree.list(listing, after: last.cookie)
      }
      seen.directories[directory] = names
    }
    return seen
  }

  /// Returns the names that lead to something else than `before`, though no notice since then said so. No program
  /// may have changed anything.
  func namesWithoutNotice(since before: SeenNames) throws -> [String] {
    versioner.awaitShown()
    let after = try seenNames()
    let notices = Set(told.withLock { $0.dropFirst(before.notices) }.flatMap(\.notices))
    var found: [String] = []
    for (directory, names) in after.directories {
      guard let old = before.directories[directory] else { continue }
      for name in Set(names.keys).union(old.keys) where names[name] != old[name] {
        let place = InodeName(directory: directory, name: name)
        if !notices.contains(.name(place)) || !notices.contains(.listing(directory)) {
          found.append("\(directory.rawValue)/\(name.text)")
        }
      }
    }
    return found.sorted()
  }
}
