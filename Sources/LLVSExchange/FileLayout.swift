package import LLVSCore
package import ObjectStores

/// Versions in the original's format at any remote: docs/exchanges.md, rule 8.
package struct FileLayout: RemoteLayout {
  private let objects: any ObjectStore
  private let transfer: TransferControl

  package init(_ objects: any ObjectStore, transfer: TransferControl) {
    self.objects = objects
    self.transfer = transfer
  }

  /// The name of a store's own folder at a remote, for unfinished objects.
  package static func scratch(of store: Store) -> String { scratch(of: store.replicaID) }
  static func scratch(of replica: String) -> String { ".llvs-outgoing-\(replica)" }

  private func files(for store: Store) -> VersionObjects {
    VersionObjects(objects, for: store, transfer: transfer)
  }

  package func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    try store.outline(of: files(for: store), control: control)
  }

  package func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try store.retrieve(from: files(for: store), control: control)
  }

  package func verify(
    into copy: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try copy.readAll(of: files(for: copy), control: control)
  }

  package func send(
    from store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport { try store.send(to: files(for: store), control: control) }
}

/// Versions at one remote in several layouts, each of which gets all versions.
package struct SeveralLayouts: RemoteLayout {
  private let layouts: [any RemoteLayout]
  package init(_ layouts: [any RemoteLayout]) { self.layouts = layouts }
  var bundleRemote: BundleRemote? { layouts.lazy.compactMap { $0 as? BundleRemote }.first }

  package func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    var outline = PlaceOutline()
    for layout in layouts where !outline.isShared {
      outline.add(try layout.outline(for: store, control))
    }
    return outline
  }

  package func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try each { (layout) throws(StoreError) in try layout.retrieve(into: store, control) }
  }

  package func verify(
    into copy: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try each { (layout) throws(StoreError) in try layout.verify(into: copy, control) }
  }

  package func send(
    from store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try each { (layout) throws(StoreError) in try layout.send(from: store, control) }
  }

  private func each(
    _ body: (any RemoteLayout) throws(StoreError) -> ExchangeReport
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    for layout in layouts { report.add(try body(layout)) }
    return report
  }
}

extension ExchangeControl {
  /// A control of transfers that ends with this one.
  package var transfer: TransferControl {
    // `check` is made for calls from any thread.
    nonisolated(unsafe) let control = self
    return TransferControl(isStopped: { (try? control.check()) == nil })
  }
}
