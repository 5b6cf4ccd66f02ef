import LLVSCore
import Synchronization
import TreeNames

// Inode numbers: those of the working tree are below 2^40. A value of history has 2^40 + its revision, in every
// version. Directories of history count from 2^41, and those at the top of the root's `versions` have 2^41 + their
// version's number. Everything else counts from 2^42. No number is used twice in a session.

/// The nodes below `.llvs` that the kernel knows.
/// - Concurrency: any thread; one leaf lock, held for memory only.
final class MetaNodes: Sendable {
  static let values: UInt64 = 1 << 40
  static let directories: UInt64 = 1 << 41
  static let others: UInt64 = 1 << 42
  private static let counted = directories + (1 << 33)
  /// The most numbers that are kept for listed names without a look-up.
  private static let promiseLimit = 32_768

  enum Numbering: Hashable {
    case revision(UInt64)
    case version(UInt32)
    case directory
    case other
    /// A new number for every look-up.
    case fresh
    case given(UInt64)

    /// The number, unless it is counted.
    var fixed: UInt64? {
      switch self {
      case .revision(let revision) where revision > 0 && revision < MetaNodes.values:
        MetaNodes.values + revision
      case .version(let number): MetaNodes.directories + UInt64(number)
      case .given(let number): number
      default: nil
      }
    }

    /// False for a node without a name of its own.
    var isPlaced: Bool {
      switch self {
      case .revision: fixed == nil
      case .given, .fresh: false
      default: true
      }
    }
  }

  struct Place: Hashable {
    var parent: UInt64
    var name: [UInt8]
  }

  private struct State {
    var nodes: [UInt64: MetaNode] = [:]
    var children: [Place: UInt64] = [:]
    /// Numbers that listings showed, for look-ups; in two halves; the older is dropped.
    var promised: [Place: UInt64] = [:]
    var promisedBefore: [Place: UInt64] = [:]
    var nextDirectory = MetaNodes.counted
    var nextOther = MetaNodes.others
    /// Directories of history among ``nodes``, which the kernel can be made to forget.
    var directories: [UInt64: MetaNode] = [:]
    /// Increases with every look-up.
    var uses: UInt32 = 0
    var crowd = Crowd()
    var count: Int { nodes.count + crowd.weight }
  }

  private let state = Mutex(State())

  /// The number of nodes, weighted by their paths.
  var count: Int { state.withLock { $0.count } }

  func node(_ inode: UInt64) throws(FSError) -> MetaNode {
    guard let node = state.withLock({ $0.nodes[inode] }) else { throw .stale }
    return node
  }

  /// Counts a look-up of a number; ``FSError/stale`` if no node has it.
  func again(_ inode: UInt64) throws(FSError) -> MetaNode {
    try state.withLock { state throws(FSError) in
      guard let node = state.nodes[inode] else { throw .stale }
      node.lookups += 1
      return node
    }
  }

  func allot() -> UInt64 { state.withLock { Self.allot(.other, &$0) } }

  private static func allot(_ numbering: Numbering, _ state: inout State) -> UInt64 {
    if let number = numbering.fixed { return number }
    let next: WritableKeyPath<State, UInt64> =
      numbering == .directory ? \.nextDirectory : \.nextOther
    defer { state[keyPath: next] += 1 }
    return state[keyPath: next]
  }

  /// Counts a look-up.
  func adopt(
    _ content: MetaContent, numbering: Numbering, under parent: UInt64, _ above: MetaNode?,
    name: [UInt8]
  ) -> MetaNode {
    state.withLock { state in
      let place = Place(parent: parent, name: name)
      let node =
        Self.known(content, numbering, place, state)
        ?? Self.make(content, numbering, place, above, &state)
      node.lookups += 1
      state.uses &+= 1
      above?.used = state.uses
      above?.given &+= 1
      return node
    }
  }

  private static func known(
    _ content: MetaContent, _ numbering: Numbering, _ place: Place, _ state: State
  ) -> MetaNode? {
    guard numbering.isPlaced else { return numbering.fixed.flatMap { state.nodes[$0] } }
    guard let inode = state.children[place], let node = state.nodes[inode], node.content == content
    else { return nil }
    return node
  }

  private static func make(
    _ content: MetaContent, _ numbering: Numbering, _ place: Place, _ above: MetaNode?,
    _ state: inout State
  ) -> MetaNode {
    let isPlaced = numbering.isPlaced
    var inode: UInt64?
    if isPlaced {
      // A name with a new node gets a new number, unless a listing has shown one.
      inode =
        state.promised.removeValue(forKey: place)
        ?? state.promisedBefore.removeValue(forKey: place)
    }
    var number = inode ?? allot(numbering, &state)
    if state.nodes[number] != nil { number = allot(.other, &state) }
    let node = MetaNode(
      inode: number, content: content, parent: isPlaced || numbering == .fresh ? above : nil,
      name: isPlaced ? place.name : [])
    state.nodes[number] = node
    state.crowd.weight += Crowd.weight(ofPath: content.pathLength)
    if isPlaced { state.children[place] = number }
    if isPlaced, content.kind == .directory, content.isHistory, above != nil {
      state.directories[number] = node
    }
    if state.count > state.crowd.threshold {
      state.crowd.threshold = Int.max
      state.crowd.isCrowded?()
    }
    node.parent?.pins += 1
    return node
  }

  /// Returns the number that a look-up of a listed name will return.
  func promise(_ numbering: Numbering, under parent: UInt64, name: [UInt8]) -> UInt64 {
    state.withLock { state in
      if let number = numbering.fixed { return number }
      let place = Place(parent: parent, name: name)
      if let known = state.children[place] ?? state.promised[place] ?? state.promisedBefore[place] {
        return known
      }
      let number = Self.allot(numbering, &state)
      if state.promised.count >= Self.promiseLimit {
        state.promisedBefore = state.promised
        state.promised = [:]
      }
      state.promised[place] = number
      return number
    }
  }

  /// Lowers a look-up count; returns the node after its last.
  func forget(_ inode: UInt64, count: UInt64) -> MetaNode? {
    state.withLock { state in
      guard let node = state.nodes[inode] else { return nil }
      node.lookups -= min(node.lookups, count)
      guard node.lookups == 0 else { return nil }
      Self.drop(node, &state)
      return node
    }
  }

  private static func drop(_ start: MetaNode, _ state: inout State) {
    var node = start
    while node.lookups == 0, node.pins == 0 {
      state.nodes[node.inode] = nil
      state.directories[node.inode] = nil
      state.crowd.weight -= Crowd.weight(ofPath: node.content.pathLength)
      state.crowd.noteCount(state.count)
      if let parent = node.parent, !node.name.isEmpty {
        remove(Place(parent: parent.inode, name: node.name), node, &state)
      } else if case .meta(let root) = node.content {
        remove(Place(parent: root, name: node.name), node, &state)
      }
      guard let parent = node.parent else { return }
      parent.pins -= 1
      node = parent
    }
  }

  private static func remove(_ place: Place, _ node: MetaNode, _ state: inout State) {
    guard state.children[place] == node.inode else { return }
    state.children[place] = nil
  }

  /// Sets the limit and the listener, called with a lock held, for more than `limit` nodes plus an eighth of those
  /// that had to stay; returns the number of nodes.
  func watchCrowd(limit: Int, isCrowded: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.crowd.limit = limit
      state.crowd.threshold = Crowd.threshold(over: state.count, limit: limit)
      state.crowd.isCrowded = isCrowded
      return state.count
    }
  }

  /// Returns the least recently used directories of history; the kernel frees up to `wanted` nodes when it forgets
  /// them. Values that other versions show stay.
  /// - Complexity: O(*d* · depth + *d* log *d*) for *d* directories in memory, with the lock held.
  func coldNames(toFree wanted: Int, sparing use: KernelUse) -> [KernelName] {
    let isMountedOn = use.mounts.contains { path in
      path.split(separator: 0x2F).contains { $0.elementsEqual(ReservedName.bytes) }
    }
    guard use.isKnown, !isMountedOn, wanted > 0 else { return [] }
    return state.withLock { state in
      var warmth: [UInt64: UInt32] = [:]
      var weight: [UInt64: Int] = [:]
      for directory in state.directories.values {
        let used = use.directories.contains(directory.inode) ? UInt32.max : directory.used
        var step: MetaNode? = directory
        while let node = step {
          warmth[node.inode] = max(warmth[node.inode] ?? 0, used)
          weight[node.inode, default: 0] += Int(directory.given)
          step = node.parent
        }
      }
      var names: [KernelName] = []
      var chosen: Set<UInt64> = []
      var freed = 0
      for (inode, used) in warmth.sorted(by: { $0.value < $1.value }) {
        guard freed < wanted, used < UInt32.max else { break }
        guard let node = state.directories[inode], let parent = node.parent, node.lookups > 0,
          case .directory = node.content
        else { continue }
        var above: MetaNode? = parent
        while let next = above, !chosen.contains(next.inode) { above = next.parent }
        guard above == nil else { continue }
        chosen.insert(inode)
        freed += (weight[inode] ?? 0) + 1
        node.given = 0
        names.append(KernelName(parent: parent.inode, name: node.name))
      }
      return names
    }
  }

}
