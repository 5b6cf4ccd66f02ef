import LLVSCore

/// The inode numbers of hard links in a head's map on its way under the live tree.
///
/// Names with one link id are one file where their bytes and attributes are equal, and separate files where
/// they are not. A name whose bytes change to those of a file that has other names has that one's number. Any
/// other keeps the number it had unless a name of another file bears that now.
struct LinkNumbers {
  /// What makes names with one link id one file.
  fileprivate struct Identity: Hashable {
    let kind: EntryKind
    let length: UInt64
    let digest: Digest
    let attributes: Digest

    init(_ entry: Entry) {
      kind = entry.kind
      length = entry.stored.length
      digest = entry.stored.digest
      attributes = Digest.of(entry.attributes.encoded)
    }
  }

  /// A difference that concerns hard links; what is long of its entries is left out.
  struct Link {
    let old: Entry?
    var new: Entry?
    let hasSameContent: Bool
    fileprivate let identity: Identity?

    fileprivate var rank: Int { hasSameContent ? 0 : old != nil ? 1 : 2 }

    fileprivate init(_ change: MapChange) {
      old = change.old?.shortened
      new = change.new?.shortened
      identity = change.new.map { Identity($0) }
      hasSameContent =
        if let old = change.old, let new = change.new { old.hasSameContent(as: new) } else { false }
    }
  }

  private var changes: [Link] = []
  private var keys: Set<Key> = []

  /// Whether a key's difference is one of those that were taken.
  func settles(_ key: Key) -> Bool { keys.contains(key) }

  /// Takes a difference that concerns hard links; false for any other.
  mutating func take(_ change: MapChange) -> Bool {
    guard Self.concern(change) else { return false }
    changes.append(Link(change))
    keys.insert(change.key)
    return true
  }

  /// Whether a difference concerns hard links.
  static func concern(_ change: MapChange) -> Bool {
    guard !change.isDirectory, change.old?.isDirectory != true, change.new?.isDirectory != true
    else { return false }
    return change.old?.attributes.linkID != nil || change.new?.attributes.linkID != nil
  }

  /// The differences with the numbers that their names are to have.
  ///
  /// - Complexity: O(*k* log *n*) for *k* names of the files concerned.
  func settle(
    in map: LiveMap, target: ValueMap
  ) throws(StoreError) -> [Link] {
    guard !changes.isEmpty else { return [] }
    var owners: [UInt64: Identity] = [:]
    var numbers: [Identity: UInt64] = [:]
    var ids: Set<[UInt8]> = []
    for change in changes {
      for entry in [change.old, change.new] {
        if let id = entry?.attributes.linkID { ids.insert(id) }
      }
    }
    // Names that stay as they are have their numbers first.
    for id in ids {
      for key in try map.transaction.keys(linkedBy: id) where !keys.contains(key) {
        guard let entry = try target.entry(at: key), entry.attributes.linkID == id else { continue }
        let number = map.placed[MapPlace(entry)] ?? entry.inode
        owners[number] = Identity(entry)
        numbers[Identity(entry)] = number
      }
    }
    var result: [Link] = []
    // Then those of which nothing but a number is said, and those that had one.
    for var link in changes.sorted(by: { $0.rank < $1.rank }) {
      let old = link.old
      guard var new = link.new, let identity = link.identity else {
        result.append(link)
        continue
      }
      var candidates: [UInt64] = []
      // What stood there goes anyway: the name is one more of the file that it belongs to.
      if new.attributes.linkID != nil, !link.hasSameContent, let shared = numbers[identity] {
        candidates.append(shared)
      }
      if let placed = map.placed[MapPlace(new)] { candidates.append(placed) }
      if let old, old.kind == new.kind { candidates.append(old.inode) }
      if new.attributes.linkID != nil, let shared = numbers[identity] { candidates.append(shared) }
      if old == nil, new.inode >= map.freshInodes { candidates.append(new.inode) }
      let free = candidates.first { number in
        guard number != 0, let owner = owners[number] else { return number != 0 }
        return new.attributes.linkID != nil && owner == identity
      }
      if let free { new.inode = free } else { new.inode = try map.transaction.allotInodes() }
      owners[new.inode] = identity
      if new.attributes.linkID != nil, numbers[identity] == nil { numbers[identity] = new.inode }
      link.new = new
      result.append(link)
    }
    return result
  }
}
