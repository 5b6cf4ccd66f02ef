package import ObjectStores
import Synchronization

/// A remote in memory, whose calls always do what they say: what others are compared with, and what faults
/// are put before.
package final class MemoryStore: ObjectStore {
  private struct Stored {
    var bytes: [UInt8]
    var modified: Int64
  }

  private let control: TransferControl
  private let pageLength: Int
  private let objects = Mutex<[ObjectName: Stored]>([:])
  private let clock = Atomic<Int64>(1_700_000_000)
  package let capabilities: StoreCapabilities

  /// An empty one that lists `pageLength` objects at a time; `capabilities` says what it may do.
  package init(
    control: TransferControl, pageLength: Int = 1000,
    capabilities: StoreCapabilities = [.wholePuts, .move, .emptyObjects]
  ) {
    self.control = control
    self.pageLength = pageLength
    self.capabilities = capabilities
  }

  package func prepare(_ folders: [String]) throws(RemoteError) { try control.check() }

  package func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    try control.check()
    let start = page.map(\.token)
    let found = objects.withLock { $0.map { ($0.key, $0.value.bytes.count, $0.value.modified) } }
      .filter { name, _, _ in
        name.folder == prefix.folder && prefix.name(of: name.last) != nil
          && (after.map { name > $0 } ?? true)
          && (start.map { name.text.utf8.lexicographicallyPrecedes($0.utf8) == false } ?? true)
      }
      .sorted { $0.0 < $1.0 }
    let shown = found.prefix(pageLength).map {
      ListedObject(name: $0.0, length: UInt64($0.1), modified: $0.2)
    }
    let next = found.dropFirst(pageLength).first.map { ListPage.Next(token: $0.0.text) }
    return ListPage(objects: shown, next: next)
  }

  package func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    try control.check()
    guard let bytes = objects.withLock({ $0[name]?.bytes }) else {
      throw RemoteError(.absent, "not there", object: name.text)
    }
    let end = Int(min(range?.upperBound ?? .max, UInt64(bytes.count)))
    var at = Int(min(range?.lowerBound ?? 0, UInt64(end)))
    let start = at
    while at < end {
      let count = min(end - at, 100_000)
      var goesOn = false
      var failure: RemoteError?
      bytes.withUnsafeBytes { raw in
        do throws(RemoteError) {
          goesOn = try sink(UnsafeRawBufferPointer(rebasing: raw[at..<(at + count)]))
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      at += count
      guard goesOn else { break }
    }
    return UInt64(at - start)
  }

  package func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    try control.check()
    var bytes: [UInt8] = []
    try body.read { (piece) throws(RemoteError) in bytes += piece }
    let modified = clock.add(1, ordering: .relaxed).newValue
    objects.withLock { $0[name] = Stored(bytes: bytes, modified: modified) }
  }

  package func delete(_ name: ObjectName) throws(RemoteError) {
    try control.check()
    objects.withLock { _ = $0.removeValue(forKey: name) }
  }

  package func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    try control.check()
    guard capabilities.contains(.move) else { throw RemoteError(.unsupported, "it cannot move") }
    let failure: RemoteError? = objects.withLock { objects in
      guard let object = objects[name] else {
        return RemoteError(.absent, "not there", object: name.text)
      }
      guard objects[target] == nil else {
        return RemoteError(.exists, "the name is taken", object: target.text)
      }
      objects[name] = nil
      objects[target] = object
      return nil
    }
    if let failure { throw failure }
  }
}
