package enum MapEdit: Hashable, Sendable {
  case put(Entry)
  case remove(Key, directory: Bool)

  package var key: Key {
    switch self {
    case .put(let entry): entry.key
    case .remove(let key, _): key
    }
  }

  package var isDirectory: Bool {
    switch self {
    case .put(let entry): entry.isDirectory
    case .remove(_, let directory): directory
    }
  }

  /// True if the first edit is first in the map: by key bytes, then a directory after a value.
  package static func precedes(_ a: MapEdit, _ b: MapEdit) -> Bool {
    a.key == b.key ? !a.isDirectory && b.isDirectory : a.key < b.key
  }
}

/// A change of one item on one level of a map's tree.
struct LevelEdit {
  let key: [UInt8]
  let directory: Bool
  /// The item's bytes; nil removes it.
  let item: [UInt8]?
}

/// The edits of one level in ascending order, read one by one with one edit of lookahead.
struct LevelEdits {
  private let pull: () throws(StoreError) -> LevelEdit?
  private(set) var first: LevelEdit?
  private(set) var second: LevelEdit?

  init(_ pull: @escaping () throws(StoreError) -> LevelEdit?) throws(StoreError) {
    self.pull = pull
    first = try pull()
    if first != nil { second = try pull() }
    try check()
  }

  init(_ edits: [LevelEdit]) throws(StoreError) {
    var rest = edits.makeIterator()
    try self.init { rest.next() }
  }

  mutating func removeFirst() throws(StoreError) {
    first = second
    second = first == nil ? nil : try pull()
    try check()
  }

  private func check() throws(StoreError) {
    guard let last = first, let next = second else { return }
    let ascends =
      last.key == next.key
      ? !last.directory && next.directory : last.key.lexicographicallyPrecedes(next.key)
    guard ascends else { throw .invalid("edits of a map are not in ascending order") }
  }
}
