import LLVSCore
import Platform
package import TreeNames
package import WorkingTree

// Access to the working tree for the tree below `.llvs`.

extension LiveTree {
  /// The head's tree, as the working tree shows it.
  var shownBase: TreeView { lock.withLock { _ in base } }

  /// The version that the working tree continues from; nil before the first version.
  var shownHead: VersionNumber? { lock.withLock { _ in head } }

  /// The ignore patterns in force.
  var shownIgnore: IgnorePatterns { lock.withLock { _ in ignore } }

  /// Returns the status of a path; nil if nothing is there.
  package func status(at path: [UInt8]) throws(FSError) -> NodeStatus? {
    var found: [NodeStatus] = []
    // A look-up count keeps a directory in memory while its names are looked up.
    defer { for status in found { forget(status.inode, count: 1) } }
    do throws(FSError) {
      for name in path.split(separator: 0x2F) {
        found.append(try lookup(found.last?.inode ?? Self.rootInode, Array(name)))
      }
    } catch .noEntry, .notDirectory, .nameTooLong {
      // A path of history need not exist any more.
      return nil
    }
    return found.last
  }
}
