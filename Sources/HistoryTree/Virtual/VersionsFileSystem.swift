import LLVSCore
import Synchronization
package import TreeNames
import WorkingTree

// `.llvs/versions` of a live tree's top as a file system of its own, in which nothing is opened: what is
// read or listed is named by its number alone.
//
// Nothing below a version ever changes. At the top names are added: its time says when the last was, and is
// another after every commit that added some, so that who kept a listing finds out.

/// The versions of a store as a file system without handles.
///
/// - Concurrency: any thread; a leaf lock, held for memory only.
package final class VersionsFileSystem: Sendable {
  /// The nodes; none is one of the tree that this was made of.
  package let hidden: MetaTree
  /// The number of the directory of versions, the root.
  package let top: UInt64

  private struct Place: Equatable {
    var directory: UInt64
    var offset: UInt64
  }

  /// Listings between two requests: to begin anew would cost as much as all that was listed before.
  private let listings = Mutex(RecentlyUsed<Place, MetaDirectory>(limit: 64))

  /// Makes the file system of the versions that a tree shows.
  package init(of tree: MetaTree) throws(FSError) {
    hidden = MetaTree(sizing: tree)
    let above = try hidden.hidden(of: LiveTree.rootInode)
    // Counted once and never given back, as a root is.
    top = try hidden.lookup(above.status.inode, MetaName.versions.bytes).status.inode
  }

  /// A node's attributes, and whether they hold for good; those of the root do until versions are added.
  package func entry(of inode: UInt64) throws(FSError) -> MetaEntry {
    var entry = try hidden.entry(of: inode)
    guard inode == top, let time = try newestTime() else { return entry }
    entry.status.mtime = time
    entry.status.ctime = time
    return entry
  }

  /// When the newest version was stored, to the microsecond; what is below tells it from those before, also
  /// where the clock stood still.
  private func newestTime() throws(FSError) -> Attributes.Time? {
    let number = hidden.store.lastNumber
    guard number > 0 else { return nil }
    let stored = try hidden.snapshots.snapshot(VersionNumber(number)).record.storedAt
    let seconds = stored >= 0 ? stored / 1_000_000_000 : 0
    let microseconds = UInt32(truncatingIfNeeded: max(0, stored) % 1_000_000_000) / 1000
    return Attributes.Time(seconds: seconds, nanoseconds: microseconds * 1000 + number % 1000)
  }

  /// A directory to be listed from an offset.
  package func directory(
    _ inode: UInt64, from offset: UInt64
  ) throws(FSError) -> MetaDirectory {
    let place = Place(directory: inode, offset: offset)
    if offset != 0, let known = listings.withLock({ $0.take(place) }) { return known }
    return try hidden.openDirectory(inode)
  }

  /// Keeps a listing for who goes on at an offset.
  package func keep(_ directory: MetaDirectory, of inode: UInt64, at offset: UInt64) {
    listings.withLock { $0.add(directory, for: Place(directory: inode, offset: offset)) }
  }

  /// A file to be read.
  ///
  /// - Throws: ``FSError/isDirectory``, ``FSError/invalid`` for what has no bytes.
  package func file(_ inode: UInt64) throws(FSError) -> MetaFile {
    let node = try hidden.nodes.node(inode)
    switch node.content {
    case .info, .changes:
      if let sized = hidden.sized { return try sized.file(of: node, in: hidden) }
    default: break
    }
    return try MetaFile(tree: hidden, node: node)
  }
}
