package import Inodes
package import LLVSCore

/// The nodes of an overlay, by number: a ``SharedMap`` of references, because a node has some hundred bytes and
/// several references, and splitting or copying a bucket moves all its nodes.
package struct NodeMap: Sendable {
  package typealias Element = (key: InodeNumber, value: PendingNode)

  final class Holder: @unchecked Sendable {
    // Unchecked: only the owner of the one reference changes it; Swift's checks cost as much as the access.
    @exclusivity(unchecked) var node: PendingNode?

    init() {}
    init(_ node: consuming PendingNode) { self.node = .some(node) }

    func change<R>(_ body: (inout PendingNode) -> R) -> R? { node?.changed(body) }
  }

  private(set) var holders = SharedMap<InodeNumber, Holder>()
  package init() {}
  package var count: Int { holders.count }
  package var isEmpty: Bool { holders.isEmpty }

  /// - Complexity: O(1) on average; after a copy of the map, a change copies the node and O(√*n*) references at
  ///   most.
  package subscript(number: InodeNumber) -> PendingNode? {
    // A copy takes as long as finding the node.
    _read {
      if let holder = holders[number] { yield holder.node } else { yield nil }
    }
    _modify {
      if let holder = unsharedHolder(number) {
        // A comparison with nil would copy the node.
        defer { if case .none = holder.node { holders[number] = nil } }
        yield &holder.node
      } else {
        let holder = Holder()
        defer { if case .some = holder.node { holders[number] = holder } }
        yield &holder.node
      }
    }
    set {
      if let newValue { holders[number] = Holder(newValue) } else { holders[number] = nil }
    }
  }

  mutating func insert(_ node: consuming PendingNode, _ number: InodeNumber) {
    holders[number] = Holder(node)
  }

  /// Changes a node in place, as the subscript, which allocates its frame; nil without a node.
  mutating func change<R>(_ number: InodeNumber, _ body: (inout PendingNode) -> R) -> R? {
    unsharedHolder(number)?.change(body)
  }

  private mutating func unsharedHolder(_ number: InodeNumber) -> Holder? {
    holders.unshared(number) { holder in
      guard let node = holder.node else { return Holder() }
      return Holder(node)
    }
  }

  /// Returns a copy, for callers that need several parts.
  package func node(_ number: InodeNumber) -> PendingNode? { holders[number]?.node }
  package func contains(_ number: InodeNumber) -> Bool { holders.contains(number) }
  package var keys: some Sequence<InodeNumber> { holders.keys }

  /// Returns the numbers of the files that `isWanted` is true for, without copies of their nodes.
  func numbers(_ isWanted: (PendingFile) -> Bool) -> [InodeNumber] {
    holders.compactMap { number, holder in
      guard let file = holder.node?.file, isWanted(file) else { return nil }
      return number
    }
  }

  package var values: some Sequence<PendingNode> { lazy.map(\.value) }

  // Parts of nodes, read in place because a copy of a node takes longer than finding it; nil or false without a node.

  package func kind(of number: InodeNumber) -> EntryKind? { holders[number]?.node?.kind }
  package func names(of number: InodeNumber) -> [InodeName]? { holders[number]?.node?.names }
  /// The first name of an inode is the place of a directory.
  package func place(of number: InodeNumber) -> InodeName? { holders[number]?.node?.names.first }

  func recordedNames(of number: InodeNumber) -> [InodeName]? {
    holders[number]?.node?.recordedNames
  }

  package func hasRecordedName(_ number: InodeNumber) -> Bool? {
    guard let names = holders[number]?.node?.recordedNames else { return nil }
    return !names.isEmpty
  }

  /// nil for a directory.
  package func fileNames(of number: InodeNumber) -> [InodeName]? {
    guard let holder = holders[number], let kind = holder.node?.kind, kind != .directory
    else { return nil }
    return holder.node?.names
  }

  package func content(of number: InodeNumber) -> FileContent? {
    holders[number]?.node?.file?.content
  }

  package func attributes(of number: InodeNumber) -> Attributes? {
    holders[number]?.node?.attributes
  }

  func forEachFile(_ body: (PendingFile) -> Void) {
    for (_, holder) in holders { if let file = holder.node?.file { body(file) } }
  }

  package func times(of number: InodeNumber) -> (mtime: Attributes.Time, ctime: Attributes.Time)? {
    guard let holder = holders[number], let changed = holder.node?.changed else { return nil }
    return (holder.node?.attributes.mtime ?? changed, changed)
  }

  package func isUnsaved(_ number: InodeNumber) -> Bool {
    holders[number]?.node?.file?.isUnsaved ?? false
  }

  /// True if unsaved bytes came from a mapping: the close of any writable handle saves them.
  package func isMapped(_ number: InodeNumber) -> Bool {
    holders[number]?.node?.file?.isMapped ?? false
  }

  /// True for a file with a save that is not firm and that no version took.
  package func hasLooseSave(_ number: InodeNumber) -> Bool {
    guard let isFirm = holders[number]?.node?.file?.saved?.isFirm else { return false }
    return !isFirm
  }

  /// The parts of a node that its status shows.
  struct Stated {
    let kind: EntryKind
    let attributes: Attributes
    let changed: Attributes.Time
    let names: Int
    let isRecorded: Bool
    /// nil for a directory.
    let content: FileContent?
  }

  func stated(_ number: InodeNumber) -> Stated? {
    guard let holder = holders[number], let kind = holder.node?.kind,
      let attributes = holder.node?.attributes, let changed = holder.node?.changed
    else { return nil }
    return Stated(
      kind: kind, attributes: attributes, changed: changed, names: holder.node?.names.count ?? 0,
      isRecorded: holder.node?.recordedNames.isEmpty == false,
      content: holder.node?.file?.content)
  }

  /// The epoch that pending changes of an inode are made on; nil for what the tree shows.
  package func epoch(of number: InodeNumber) -> Epoch? { holders[number]?.node?.on }
  package func orphan(of number: InodeNumber) -> Orphan? { holders[number]?.node?.orphan }
}

extension PendingNode {
  fileprivate mutating func changed<R>(_ body: (inout PendingNode) -> R) -> R { body(&self) }
}

extension NodeMap: Sequence {
  package struct Iterator: IteratorProtocol {
    fileprivate var holders: SharedMap<InodeNumber, NodeMap.Holder>.Iterator

    package mutating func next() -> Element? {
      while let (number, holder) = holders.next() {
        if let node = holder.node { return (number, node) }
      }
      return nil
    }
  }

  /// A node that is changed during the iteration is visited as it was.
  package func makeIterator() -> Iterator { Iterator(holders: holders.makeIterator()) }
  package var underestimatedCount: Int { count }
}

extension NodeMap: Equatable {
  package static func == (a: Self, b: Self) -> Bool {
    a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
  }
}
