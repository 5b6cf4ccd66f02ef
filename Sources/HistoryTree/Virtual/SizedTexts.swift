import Synchronization
import TreeNames

/// The texts of versions that are read without a handle, and their lengths.
/// - Concurrency: any thread; a leaf lock, not held while a text is made.
final class SizedTexts: Sendable {
  private struct State {
    var files = RecentlyUsed<UInt64, MetaFile>(limit: 16)
    var sizes = RecentlyUsed<UInt64, UInt64>(limit: 1024)
  }

  private let state = Mutex(State())

  /// Returns the text of a node, the same for the next reader.
  func file(of node: MetaNode, in tree: MetaTree) throws(FSError) -> MetaFile {
    if let known = state.withLock({ $0.files.use(node.inode) }) { return known }
    let file = try MetaFile(tree: tree, node: node)
    return state.withLock { state in
      if let other = state.files.use(node.inode) { return other }
      state.files.add(file, for: node.inode)
      return file
    }
  }

  func size(of node: MetaNode, in tree: MetaTree) throws(FSError) -> UInt64 {
    if let known = state.withLock({ $0.sizes.use(node.inode) }) { return known }
    let size = try file(of: node, in: tree).length()
    state.withLock { $0.sizes.add(size, for: node.inode) }
    return size
  }
}

/// A small cache that drops the least recently used value.
struct RecentlyUsed<Key: Equatable, Value> {
  private var items: [(key: Key, value: Value)] = []
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  mutating func use(_ key: Key) -> Value? {
    guard let value = take(key) else { return nil }
    items.append((key, value))
    return value
  }

  mutating func take(_ key: Key) -> Value? {
    guard let index = items.lastIndex(where: { $0.key == key }) else { return nil }
    return items.remove(at: index).value
  }

  mutating func add(_ value: Value, for key: Key) {
    _ = take(key)
    if items.count >= limit { items.removeFirst() }
    items.append((key, value))
  }
}
