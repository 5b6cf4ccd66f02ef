package import LLVS
import Platform

// Reading directories: the names as they were when the listing was begun.

/// The names of a directory at one instant.
///
/// A name's offset follows from the name, and is the same in every listing that has it: the kernel goes
/// on in the listing of one handle where another's ended, where the directory changed meanwhile, and
/// what nobody touched must be met there exactly once. So telldir(3) and seekdir(3) work whatever
/// happens to the directory.
///
/// - Complexity: 24 bytes and the name for each entry while it is open.
package final class DirectoryListing: Sendable {
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
    var (low, high) = (0, items.count)
    while low < high {
      let middle = (low + high) / 2
      if items[middle].offset > offset { high = middle } else { low = middle + 1 }
    }
    return items[low...]
  }
}

extension LiveTree {
  /// Lists a directory: `.` and `..` first.
  package func list(_ inode: UInt64) throws(FSError) -> DirectoryListing {
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
        DirectoryListing.Item(name: [0x2E], kind: .directory, inode: inode),
        DirectoryListing.Item(name: [0x2E, 0x2E], kind: .directory, inode: above),
      ]
      var implied: [(Int, [UInt8])] = []
      if let basePath {
        do throws(StoreError) {
          var listing = view.list(basePath)
          while let item = try listing.next() {
            guard overrides.isEmpty || overrides[item.name] == nil else { continue }
            if let inode = item.entry?.inode, inode != 0 {
              items.append(.init(name: item.name, kind: item.kind, inode: inode))
            } else {
              implied.append(
                (items.count, basePath.isEmpty ? item.name : basePath + [0x2F] + item.name))
              items.append(.init(name: item.name, kind: item.kind, inode: 0))
            }
          }
          try learnImplied(implied.map(\.1))
        } catch {
          throw .store(error)
        }
        let isCurrent = try lock.withLock { _ throws(FSError) -> Bool in
          guard baseStamp == stamp else { return false }
          let node = try directory(inode)
          for (index, path) in implied {
            items[index].inode = impliedInode(path, at: items[index].name, of: node)
          }
          guard !detachedNodes.isEmpty else { return true }
          for index in items.indices.dropFirst(2)
          where detachedNodes[items[index].inode]?.node.parent == nil
            && detachedNodes[items[index].inode] != nil
          {
            items[index].inode = partedInode(items[index].inode)
          }
          return true
        }
        guard isCurrent else { continue }
      }
      for (name, child) in overrides {
        if let (inode, kind) = child { items.append(.init(name: name, kind: kind, inode: inode)) }
      }
      return DirectoryListing(items: items)
    }
  }

  /// Finds out the numbers that the store keeps for directories that no entry stands for; call without
  /// the lock.
  func learnImplied(_ paths: [[UInt8]]) throws(StoreError) {
    let unknown = lock.withLock { _ in paths.filter { impliedInodes[ImpliedName($0)] == nil } }
    guard !unknown.isEmpty else { return }
    let numbers = try store.inodes(ofImplied: unknown)
    lock.withLock { _ in
      for (path, number) in zip(unknown, numbers) where impliedInodes[ImpliedName(path)] == nil {
        impliedInodes[ImpliedName(path)] = number
      }
    }
  }

  /// The number of a directory that no entry stands for; call with the lock held.
  func impliedInode(_ path: [UInt8]) -> UInt64 {
    impliedInodes[ImpliedName(path)] ?? renewedInode(path)
  }

  /// The same for one that stands at a name: another where a directory which went from there bears it.
  private func impliedInode(
    _ path: [UInt8], at name: [UInt8], of parent: LiveNode
  ) -> UInt64 {
    let inode = impliedInode(path)
    guard let known = nodes[inode], !known.stands(at: name, of: parent) else { return inode }
    return renewedInode(path)
  }

  /// The number of a value whose own one a file bears that lives on for its handles alone, at each of its
  /// names.
  func partedInode(_ inode: UInt64) -> UInt64 { impliedInode(partedName(inode)) }

  /// What stands for a number where paths do: no path begins with a slash.
  func partedName(_ inode: UInt64) -> [UInt8] { [0x2F] + String(inode).utf8 }

  /// Another number for a path whose own one a file bears that is no longer there.
  func renewedInode(_ path: [UInt8]) -> UInt64 {
    let inode = takeSpareInode()
    impliedInodes[ImpliedName(path)] = inode
    return inode
  }
}
