package import LLVSCore
package import ObjectStores

/// Versions in bundles at any remote: many in one compressed object.
package struct BundleLayout: RemoteLayout {
  private let objects: any ObjectStore
  private let transfer: TransferControl

  /// Uses a remote, which was opened with a control.
  package init(_ objects: any ObjectStore, transfer: TransferControl) {
    self.objects = objects
    self.transfer = transfer
  }

  private func folder(for store: Store) -> BundleFolder {
    BundleFolder(objects, for: store, transfer: transfer)
  }

  package func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    try store.outline(of: folder(for: store), control: control)
  }

  package func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try store.retrieve(from: folder(for: store), control: control)
  }

  package func verify(
    into copy: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try copy.readAll(of: folder(for: copy), control: control)
  }

  package func send(
    from store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try store.send(to: folder(for: store), control: control)
  }
}
