package import LLVSCore
package import LLVSExchange
import ObjectStores

/// The two forms in which a folder holds versions.
package enum FolderFormat: CaseIterable, Sendable {
  case files, bundles

  private func layout(
    _ folder: String, _ store: Store, _ control: ExchangeControl
  ) -> any RemoteLayout {
    let objects = DirectoryStore(
      path: folder, scratch: FileLayout.scratch(of: store), control: control.transfer)
    switch self {
    case .files: return FileLayout(objects, place: folder, transfer: control.transfer)
    case .bundles: return BundleRemote(objects, .init(place: folder, isDirectory: true))
    }
  }

  @discardableResult
  package func retrieve(
    into store: Store, _ folder: String, _ control: ExchangeControl = .init()
  ) throws(StoreError) -> ExchangeReport {
    try layout(folder, store, control).retrieve(into: store, control)
  }

  @discardableResult
  package func send(
    _ store: Store, _ folder: String, _ control: ExchangeControl = .init()
  ) throws(StoreError) -> ExchangeReport {
    try layout(folder, store, control).send(from: store, control)
  }

  package func bytes(
    of values: [LackedValue], for store: Store, _ folder: String
  ) throws(StoreError) -> [Digest: [UInt8]] {
    let control = ExchangeControl()
    return try layout(folder, store, control).bytes(of: values, for: store, control)
  }

  /// Reads everything in the folder, for a store.
  package func verify(
    for store: Store, _ folder: String
  ) throws(StoreError) -> ExchangeReport {
    let control = ExchangeControl()
    return try layout(folder, store, control).verify(for: store, control)
  }
}
