package import Inodes
package import LLVSCore
import Synchronization
package import TreeNames

/// The working tree's inode numbers for files and directories that a program made or moved and the cut took.
/// The head's map says what is where; a hint that does not fit it, because of a merge, is ignored.
package struct NumberHints: Sendable {
  package struct File: Hashable, Sendable {
    package var number: InodeNumber
    /// Nil for a new file that only this cut took: the head has no other at its paths.
    package var identity: FileIdentity?
    package var linkID: [UInt8]?
    /// All its paths in the working tree when it was taken.
    package var paths: [TreePath]

    func isFile(_ other: FileIdentity) -> Bool { identity.map { $0 == other } ?? true }
  }

  package struct Times: Hashable, Sendable {
    package var modified: Attributes.Time
    package var changed: Attributes.Time
  }

  package var files: [File] = []
  /// The directories that the cut took, made or moved, by their paths in the working tree.
  package var directories: [TreePath: InodeNumber] = [:]
  /// The paths of ``directories`` that took a name of the rows.
  package var replacing: Set<TreePath> = []
  /// The shown times of files that the cut took, by their paths: they stay.
  package var times: [TreePath: Times] = [:]
  /// The tree of the version with only what was taken; nil for the new head's. Where the head differs, the clock's
  /// time counts.
  package var own: TreeView?
  /// The trees of the versions that took the paths, if the cut made one next to the head.
  package var takers: [TreePath: TreeView] = [:]
  /// The trees of versions next to the head, by the directories in which the cut took names into them.
  package var above: [TreePath: TreeView] = [:]
  /// The pending changes at the cut's instant, which programs saw; nil without a cut.
  package var frozen: Overlay?
  /// True if the head has only what was taken: programs see all times already.
  package var isOwn = false
  /// Returns the working tree's cookies of names of a directory without rows: a name keeps its cookie.
  package var cookies: @Sendable (InodeNumber) -> [FileName: EntryCookie] = { _ in [:] }
  package init() {}

  /// Returns the tree of the version next to the head that took a path or the nearest directory above; nil for
  /// ``own``.
  func taker(of path: TreePath) -> TreeView? {
    guard !takers.isEmpty else { return nil }
    var path = path
    while true {
      if let tree = takers[path] { return tree.map.root == own?.map.root ? nil : tree }
      if path.isRoot { return nil }
      path = path.parent
    }
  }

  /// The trees of versions next to the head.
  var others: [TreeView] {
    var trees = Dictionary(takers.values.map { ($0.map.root, $0) }) { first, _ in first }
    if let own { trees[own.map.root] = nil }
    return Array(trees.values)
  }
}

/// The properties with which a file keeps its inode number under a new head: kind, bytes and device, not
/// attributes.
package struct FileIdentity: Hashable, Sendable {
  private let kind: EntryKind
  private let length: UInt64
  private let digest: Digest
  private let device: Attributes.Device?

  package init(_ entry: Entry) {
    kind = entry.kind
    length = entry.stored.length
    digest = entry.stored.digest
    device = entry.attributes.device
  }

  package init(_ record: InodeRecord) {
    kind = record.kind
    length = record.stored.length
    digest = record.stored.digest
    device = record.attributes.device
  }
}

/// Hands out unused inode numbers, which it reserves in batches.
///
/// - Concurrency: any thread.
package final class NumberSource: Sendable {
  private static let batch: UInt64 = 4096
  private let allot: @Sendable (UInt64) throws(StoreError) -> UInt64
  // A leaf lock.
  private let spare = Mutex<Range<UInt64>>(0..<0)

  /// Creates a source; `allot` reserves N numbers and returns the first.
  package init(_ allot: @escaping @Sendable (UInt64) throws(StoreError) -> UInt64) {
    self.allot = allot
  }

  package convenience init(of store: Store) {
    self.init { (count) throws(StoreError) in try store.allotInodes(count) }
  }

  package func number() throws(StoreError) -> InodeNumber {
    while true {
      let next = spare.withLock { $0.popFirst() }
      if let next { return InodeNumber(next) }
      let first = try allot(Self.batch)
      // If two threads reserved at once, the numbers of one are unused.
      spare.withLock { if $0.isEmpty { $0 = first..<(first + Self.batch) } }
    }
  }
}
