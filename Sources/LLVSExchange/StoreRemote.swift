package import LLVSCore

/// Another store on this machine, as a place with versions in the original's format.
///
/// It is read-only: to send to a store, that store retrieves from this one.
package final class StoreRemote: WireRemote {
  private let store: Store
  private let control: ExchangeControl

  private let scratch: String

  /// Creates a remote of a store. Long files are put together in a directory that can be written,
  /// mostly the retrieving store's.
  package init(
    _ store: Store, scratchDirectory: String, control: ExchangeControl = ExchangeControl()
  ) {
    self.store = store
    scratch = scratchDirectory
    self.control = control
  }

  /// Returns the outline that another store gets when it retrieves from this one; stores nothing.
  package func outline(for other: Store) throws(StoreError) -> PlaceOutline {
    try other.outline(of: self, control: control)
  }

  /// The ids of all versions of the store, in the order of their names.
  package func versionIDs() throws(StoreError) -> [Version.ID] {
    var ids: [Version.ID] = []
    var last: String?
    while true {
      let page = try store.versions(afterName: last, limit: 1024)
      guard let end = page.last else { return ids }
      last = end.name
      ids += page.map(\.id)
      try control.check()
    }
  }

  /// Makes a version's file of a kind; nil if the store lacks the version.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` if the version is damaged.
  package func open(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> WireInput? {
    guard let record = try store.version(id) else { return nil }
    let name = "\(store.path): \(kind.rawValue)/\(id.rawValue)"
    let spool = Spool(directory: scratch, memoryLimit: 16 << 20)
    let output = WireOutput { [control] (bytes) throws(StoreError) in
      try control.check()
      try spool.append(bytes)
    }
    do throws(StoreError) {
      switch kind {
      case .version: try store.version(from: record).write(to: output)
      case .changes: try store.writeChanges(of: record, to: output)
      }
    } catch {
      // A damaged version does not stop the retrieval of the others.
      guard error.isDamage else { throw error }
      throw .invalid("\(name): version \(record.name): \(error.message)")
    }
    let (bytes, file, length) = try spool.drain()
    guard let file else { return WireInput(name: name, bytes: bytes) }
    let source = FileSource(file, length: length)
    var offset: UInt64 = 0
    return WireInput(name: name) { (out) throws(StoreError) in
      let count = Int(min(UInt64(out.count), length - offset))
      try source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: out[..<count]))
      offset += UInt64(count)
      return count
    }
  }

  /// Always throws ``StoreError/readOnly``.
  package func write(
    _ kind: WireKind, _ id: Version.ID, _ body: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError) {
    throw .readOnly
  }

  /// Does nothing, as nothing can be written.
  package func publish(_ ids: [Version.ID]) throws(StoreError) {}

  /// Does nothing, as nothing can be written.
  package func abandon() {}
}
