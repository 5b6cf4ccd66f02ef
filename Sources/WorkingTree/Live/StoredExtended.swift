import LLVSCore
import Platform

/// A map of the store in which entries have long extended attributes, for all nodes that refer to them there.
final class AttributeSource: Sendable {
  let map: ValueMap

  init(_ map: ValueMap) { self.map = map }
}

/// Where the long extended attributes of an entry stand in the store: what a node has in the place of them.
///
/// Maps never change, so it stays true whatever head is put under the tree.
///
/// - Concurrency: immutable; any thread. ``read()`` is for when no lock is held.
final class StoredExtended: Sendable {
  let source: AttributeSource
  let key: Key
  let isDirectory: Bool
  /// That of the entry: another one has other attributes.
  let revision: UInt64

  init(in source: AttributeSource, key: Key, isDirectory: Bool, revision: UInt64) {
    self.source = source
    self.key = key
    self.isDirectory = isDirectory
    self.revision = revision
  }

  /// Where those of an entry of a map stand.
  convenience init(of entry: Entry, in source: AttributeSource) {
    self.init(
      in: source, key: entry.key, isDirectory: entry.isDirectory, revision: entry.revision)
  }

  /// Reads them.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` where they are damaged, or not there.
  /// - Complexity: O(log *n*), and the bytes of the node that they stand in.
  func read() throws(StoreError) -> [Attributes.Extended] {
    guard let entry = try source.map.entry(at: key, directory: isDirectory),
      entry.revision == revision
    else { throw .corrupt("extended attributes of \(key.rawValue) are not where they were") }
    return entry.attributes.extended
  }
}

/// An entry of a map as a node keeps it: without its extended attributes where those are long.
struct KeptEntry {
  let entry: Entry
  /// Where they are.
  let extended: StoredExtended?

  init(_ entry: Entry, of source: AttributeSource) {
    self.entry = entry.shortened
    extended = self.entry.isShortened ? StoredExtended(of: entry, in: source) : nil
  }
}

/// The extended attributes that were read last: who asks for one asks for its length before, and for all after
/// each other.
///
/// - Concurrency: any thread; never locked while reading.
final class ExtendedCache: Sendable {
  private static let most = 8
  /// About how many times as long as what is read of it a node of the map is.
  private static let neighbours = 64
  /// After reading so many bytes of nodes, what they took is given back: they are of all lengths, and what one
  /// leaves seldom fits the next.
  private static let tidied = 256 << 20

  private struct Known {
    let place: StoredExtended
    let extended: [Attributes.Extended]
  }

  private struct State {
    /// The newest last.
    var known: [Known] = []
    /// Bytes of nodes that were read since the last time.
    var read = 0
  }

  // A leaf in every lock order.
  private let state = Monitor(State())

  /// What stands at a place.
  ///
  /// - Throws: what ``StoredExtended/read()`` throws.
  func extended(at place: StoredExtended) throws(StoreError) -> [Attributes.Extended] {
    let found = state.withLock { s -> [Attributes.Extended]? in
      guard let index = s.known.firstIndex(where: { $0.place === place }) else { return nil }
      s.known.append(s.known.remove(at: index))
      return s.known.last?.extended
    }
    if let found { return found }
    let extended = try place.read()
    let isUntidy = state.withLock { s in
      if s.known.count >= Self.most { s.known.removeFirst() }
      s.known.append(Known(place: place, extended: extended))
      s.read += extended.reduce(0) { $0 + $1.value.count } * Self.neighbours
      guard s.read >= Self.tidied else { return false }
      s.read = 0
      return true
    }
    if isUntidy { SystemMemory.trim() }
    return extended
  }
}

extension LiveTree {
  /// Lets go of long extended attributes that a plan's nodes hold and the base has; call without the lock.
  ///
  /// - Returns: whether there were any.
  /// - Complexity: O(*k* log *n*) for *k* nodes that hold such, and the bytes of those.
  func shedExtended(of plan: CutPlan) -> Bool {
    let (source, held) = lock.withLock { _ in
      // Here and not when somebody asks for them: the lock guards what nodes have.
      let held = plan.items.compactMap { item -> (node: LiveNode, entry: Entry)? in
        guard case .put(let state, _) = item.action else { return nil }
        return state.node.heldEntry.map { (state.node, $0) }
      }
      return (self.source, held)
    }
    guard !held.isEmpty else { return false }
    // Neighbours stand in one node of the map.
    for (node, entry) in held.sorted(by: { $0.entry.key < $1.entry.key }) {
      // What cannot be read, or is another's there, the node goes on holding.
      guard let found = try? source.map.entry(at: entry.key, directory: entry.isDirectory),
        found.revision == entry.revision,
        found.attributes.extended == entry.attributes.extended
      else { continue }
      let kept = KeptEntry(found, of: source)
      lock.withLock { _ in
        guard let now = node.heldEntry, now.key == entry.key, now.revision == entry.revision else {
          return
        }
        node.shed(kept.extended)
      }
    }
    return true
  }
}

extension LiveNode {
  /// The entry of a node that holds long extended attributes which its entry has as well; nil for any other.
  fileprivate var heldEntry: Entry? {
    guard baseExtended == nil, storedExtended == nil, let entry, entry.attributes.hasLongExtended,
      attributes.extended == entry.attributes.extended
    else { return nil }
    return entry
  }

  /// Lets go of the extended attributes that it holds, which its entry has as well.
  fileprivate func shed(_ extended: StoredExtended?) {
    guard let short = entry?.shortened else { return }
    (storedExtended, baseExtended) = (extended, extended)
    attributes.extended = short.attributes.extended
    entry = short
    compact()
  }
}
