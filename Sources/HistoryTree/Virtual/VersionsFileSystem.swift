import Inodes
import LLVSCore
import Synchronization
package import TreeNames
import WorkingTree

// `.llvs/versions` of the root as a file system without open files. Nothing below a version changes. The top has
// the time of the newest version, so that a cached listing is recognised as old.

/// - Concurrency: any thread; a leaf lock, held for memory only.
package final class VersionsFileSystem: Sendable {
  /// The nodes, separate from those of the original tree.
  package let meta: MetaTree
  /// The directory of versions, which is the root.
  package let top: UInt64

  private struct Place: Equatable {
    var directory: UInt64
    var offset: UInt64
  }

  /// Listings between two requests, because a restart would read all earlier names again.
  private let listings = Mutex(RecentlyUsed<Place, MetaDirectory>(limit: 64))

  package init(of tree: MetaTree) throws(FSError) {
    meta = MetaTree(sizing: tree)
    let above = try meta.metaDirectory(of: TreeSession.rootInode)
    // Never forgotten, because it is a root.
    top = try meta.lookup(above.status.number.rawValue, MetaName.versions.bytes).status.number
      .rawValue
  }

  /// Returns a node's attributes, which change only at the root.
  package func entry(of inode: UInt64) throws(FSError) -> MetaEntry {
    var entry = try meta.entry(of: inode)
    guard inode == top, let time = try newestTime() else { return entry }
    entry.status.mtime = time
    entry.status.ctime = time
    return entry
  }

  /// Returns the time of the newest version to the microsecond. A part of its number, and the number of forgotten
  /// versions, are added in nanoseconds. So the time changes with the listing even if the clock does not.
  private func newestTime() throws(FSError) -> Attributes.Time? {
    let number = meta.store.lastNumber
    guard number > 0 else { return nil }
    let stored = try meta.snapshots.snapshot(VersionNumber(number)).record.storedAt
    let seconds = stored >= 0 ? stored / 1_000_000_000 : 0
    let microseconds = max(0, stored) % 1_000_000_000 / 1000
    let forgotten = try FSError.translating(try meta.store.forgottenVersions()).count
    let nanoseconds = microseconds * 1000 + Int64(number % 1000) + Int64(forgotten)
    return Attributes.Time(
      seconds: seconds + nanoseconds / 1_000_000_000,
      nanoseconds: UInt32(nanoseconds % 1_000_000_000))
  }

  package func directory(
    _ inode: UInt64, from offset: UInt64
  ) throws(FSError) -> MetaDirectory {
    let place = Place(directory: inode, offset: offset)
    if offset != 0, let known = listings.withLock({ $0.take(place) }) { return known }
    return try meta.openDirectory(inode)
  }

  package func keep(_ directory: MetaDirectory, of inode: UInt64, at offset: UInt64) {
    listings.withLock { $0.add(directory, for: Place(directory: inode, offset: offset)) }
  }

  /// Opens a file; ``FSError/isDirectory``, or ``FSError/invalid`` without bytes.
  package func file(_ inode: UInt64) throws(FSError) -> MetaFile {
    let node = try meta.nodes.node(inode)
    switch node.content {
    case .info, .changes:
      if let sized = meta.sized { return try sized.file(of: node, in: meta) }
    default: break
    }
    return try MetaFile(tree: meta, node: node)
  }
}
