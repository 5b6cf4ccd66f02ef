package import LLVSCore

/// The form in which versions are at a remote: what an exchange needs of any kind of place.
/// - Concurrency: one exchange with a place at a time.
package protocol RemoteLayout: Sendable {
  /// Returns an outline of the history there, and retrieves nothing.
  /// - Throws: ``StoreError/unreachable(_:)``, ``StoreError/cancelled``, or an error of this store.
  func outline(for store: Store, _ control: ExchangeControl) throws(StoreError) -> PlaceOutline
  func retrieve(into store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport

  /// Reads everything there, and notes what is damaged, so that the next send replaces it.
  /// The report's `remoteIDs` are the versions that can be read whole; what is wrong is refused or waiting.
  /// - Throws: as ``outline(for:_:)``.
  func verify(for store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport

  /// Writes the versions that are missing there; the report's `sent` lists them.
  /// - Throws: as ``outline(for:_:)``; ``StoreError/noSpace(_:)`` where the remote is full.
  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport

  /// Returns the bytes of the values that are there, proved by their digests; values with more than
  /// ``LackedBytes/limit`` bytes are left out.
  /// - Throws: as ``outline(for:_:)``.
  func bytes(
    of values: [LackedValue], for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> [Digest: [UInt8]]
}

extension RemoteLayout {
  package var bundles: BundleRemote? {
    (self as? SeveralLayouts)?.bundleRemote ?? self as? BundleRemote
  }

  package func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline { PlaceOutline() }

  package func bytes(
    of values: [LackedValue], for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> [Digest: [UInt8]] { [:] }
}
