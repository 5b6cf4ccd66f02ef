import LLVSCore
import Platform
import TreeNames
import WorkingTree

// What the tree below `.llvs` asks of the live tree.

extension LiveTree {
  /// The head's tree as the live tree shows it.
  var shownBase: TreeView { lock.withLock { _ in base } }

  /// The version that the live tree continues from; nil before the first.
  var shownHead: VersionNumber? { lock.withLock { _ in head } }

  /// The ignore patterns in force.
  var shownIgnore: IgnorePatterns { lock.withLock { _ in ignore } }

  /// What stands at a path; nil where nothing does.
  func status(at path: [UInt8]) throws(FSError) -> NodeStatus? {
    var found: [NodeStatus] = []
    // A count keeps a directory while its names are looked for.
    defer { for status in found { forget(status.inode, count: 1) } }
    do throws(FSError) {
      for name in path.split(separator: 0x2F) {
        found.append(try lookup(found.last?.inode ?? Self.rootInode, Array(name)))
      }
    } catch .noEntry, .notDirectory, .nameTooLong {
      // A path of history need not lead anywhere any more.
      return nil
    }
    return found.last
  }
}
