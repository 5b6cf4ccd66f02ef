package import Grammar
package import HistoryTree
package import LLVSCore
import Synchronization
import TreeNames

/// The values of a head that are displaced by directories of their names, computed from those of another head.
/// - Concurrency: any thread; the lock is a leaf and not held during I/O.
final class DisplacedValues: Sendable {
  private struct Known: Sendable {
    var head: VersionNumber
    var keys: [Key]
  }

  private static let indexName = "displaced"
  private let known = Mutex<Known?>(nil)

  /// Returns the keys, ascending.
  /// - Complexity: O(changes since the head of the last call · log *n*); O(*n*) the first time.
  func keys(at head: VersionNumber, in store: Store) throws(StoreError) -> [Key] {
    let before = known.withLock { $0 }
    if let before, before.head == head { return before.keys }
    guard let record = try store.version(head) else { throw .notFound("version of that number") }
    let view = TreeView(map: store.map(record.map))
    let keys: [Key]
    var start = before
    if start == nil { start = try Self.stored(in: store) }
    if let start, let old = try store.version(start.head) {
      keys = try view.valuesBehindDirectories(knowing: start.keys, of: store.map(old.map))
    } else {
      keys = try view.valuesBehindDirectories()
    }
    known.withLock { $0 = Known(head: head, keys: keys) }
    var note: [UInt8] = []
    note.append(bigEndian: head.rawValue)
    note.append(counted: Array(record.id.rawValue.utf8))
    for key in keys { note.append(counted: key.bytes) }
    store.note(Self.indexName, note)
    return keys
  }

  /// Returns the result in the index; nil if it belongs to no version of this store.
  private static func stored(in store: Store) throws(StoreError) -> Known? {
    guard let bytes = store.noted(indexName), let (known, id) = decode(bytes),
      try store.version(known.head)?.id == id
    else { return nil }
    return known
  }

  private static func decode(_ bytes: [UInt8]) -> (Known, Version.ID)? {
    bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      guard let head = reader.integer(UInt32.self), let id = reader.counted(atMost: 65_536) else {
        return nil
      }
      var keys: [Key] = []
      while reader.remaining > 0 {
        guard let key = reader.counted(atMost: Entry.maximumKeyLength) else { return nil }
        keys.append(Key(bytes: Array(key)))
      }
      let known = Known(head: VersionNumber(head), keys: keys)
      return (known, Version.ID(String(decoding: id, as: UTF8.self)))
    }
  }
}

extension ControlService {
  /// Returns the values displaced at the head at or below a path, by key; renaming or removing settles one.
  package func displacedValues(below path: [UInt8] = []) throws(ControlError) -> [DisplacedValue] {
    try translating {
      guard let head = try store.state().head else { return [] }
      return try displacedValues(at: head, below: path)
    }
  }

  package func displacedValues(
    at head: VersionNumber, below path: [UInt8] = []
  ) throws(StoreError) -> [DisplacedValue] {
    guard let record = try store.version(head) else { return [] }
    let view = TreeView(map: store.map(record.map))
    var values: [DisplacedValue] = []
    for key in try displaced.keys(at: head, in: store) {
      guard let entry = try view.map.entry(at: key) else { continue }
      let value = DisplacedValue(
        path: try view.path(of: key), directory: TreeView.ownPath(key), entry: entry)
      if PathFilter.isAtOrBelow(value.path, path) || PathFilter.isAtOrBelow(value.directory, path) {
        values.append(value)
      }
    }
    return values
  }
}
