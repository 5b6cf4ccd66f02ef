package import LLVSCore
import Platform
package import TreeNames

// Reading directories: the names as they were when the listing was begun.

/// The names of a directory at one instant.
///
/// A name's offset follows from the name, and is the same in every listing that has it: the kernel goes
/// on in the listing of one handle where another's ended, where the directory changed meanwhile, and
/// what nobody touched must be met there exactly once. So telldir(3) and seekdir(3) work whatever
/// happens to the directory.
///
/// - Complexity: 24 bytes and the name for each entry while it is open.
package final class NameListing: Sendable {
  /// One name.
  package struct Item: Sendable {
    package var name: [UInt8]
    package var kind: EntryKind
    package var inode: UInt64
    /// Greater than that of every name before it, and than 0.
    package fileprivate(set) var offset: Int64 = 0
  }

  /// `.` and `..`, then the others by their offsets.
  package let items: [Item]

  /// Creates one of `.` and `..`, at the beginning, and other names in any order.
  ///
  /// - Complexity: O(*n* log *n*).
  init(items: [Item]) {
    var items = items
    for index in items.indices {
      items[index].offset = index < 2 ? Int64(index) + 1 : Self.offset(of: items[index].name)
    }
    items[min(2, items.count)...].sort { $0.offset < $1.offset }
    for index in items.indices.dropFirst() where items[index].offset <= items[index - 1].offset {
      items[index].offset = items[index - 1].offset + 1
    }
    self.items = items
  }

  /// The first three bytes of the name, so that listings are about alphabetical and files that were made
  /// after each other are met after each other, and 38 bits of its hash: of a million names that begin
  /// alike one or two meet another there, and are one further.
  private static func offset(of name: [UInt8]) -> Int64 {
    var prefix: UInt64 = 0
    for index in 0..<3 { prefix = prefix << 8 | UInt64(index < name.count ? name[index] : 0) }
    return Int64(prefix << 38 | Checksum.of(name) >> 26)
  }

  /// The names behind an offset that a listing of the directory gave.
  ///
  /// - Complexity: O(log *n*).
  package func items(after offset: Int64) -> ArraySlice<Item> {
    items[items.partitioningIndex { $0.offset > offset }...]
  }
}

extension LiveTree {
  /// Lists a directory: `.` and `..` first.
  package func list(_ inode: UInt64) throws(FSError) -> NameListing {
    while true {
      let (view, basePath, overrides, stamp, above) = try lock.withLock {
        _ throws(FSError) -> (TreeView, [UInt8]?, [[UInt8]: (UInt64, EntryKind)?], UInt64, UInt64)
        in
        let node = try directory(inode)
        let overrides = (node.directory?.overrides ?? [:]).mapValues { override in
          override.node.map { ($0.inode, $0.kind) }
        }
        return (
          names, node.directory?.basePath, overrides, baseStamp,
          node.parent?.inode ?? Self.rootInode
        )
      }
      var items = [
        NameListing.Item(name: [0x2E], kind: .directory, inode: inode),
        NameListing.Item(name: [0x2E, 0x2E], kind: .directory, inode: above),
      ]
      if let basePath {
        var entries: [ListedEntry] = []
        try FSError.wrapping { () throws(StoreError) in
          var implied: [[UInt8]] = []
          var listing = view.list(basePath)
          while let item = try listing.next() {
            guard overrides.isEmpty || overrides[item.name] == nil else { continue }
            if item.entry?.inode ?? 0 == 0 { implied.append(view.join(basePath, item.name)) }
            entries.append(ListedEntry(item))
            items.append(.init(name: item.name, kind: item.kind, inode: 0))
          }
          try learnImplied(implied)
        }
        let isCurrent = try lock.withLock { _ throws(FSError) -> Bool in
          guard baseStamp == stamp else { return false }
          let node = try directory(inode)
          for (index, entry) in zip(items.indices.dropFirst(2), entries) {
            items[index].inode = shownInode(
              of: entry, at: items[index].name, of: node, basePath: basePath)
          }
          return true
        }
        guard isCurrent else { continue }
      }
      for (name, child) in overrides {
        if let (inode, kind) = child { items.append(.init(name: name, kind: kind, inode: inode)) }
      }
      return NameListing(items: items)
    }
  }
}
