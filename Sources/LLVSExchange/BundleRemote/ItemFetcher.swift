import LLVSCore

/// Reads items from this store or any listed bundle.
/// - Concurrency: any thread, while the session lists nothing.
final class ItemFetcher {
  private let session: BundleSession
  init(_ session: BundleSession) { self.session = session }

  /// Returns the bytes of an item; nil if nothing holds it.
  /// - Throws: ``StoreError/invalid(_:)`` if all copies are damaged, ``StoreError/notFound(_:)`` if a bundle
  ///   is gone, or an error of the remote.
  func bytes(of item: BundleItem) throws(StoreError) -> [UInt8]? {
    if item.kind == .chunk, let known = session.store.contents.bytes(ofChunk: item.digest) {
      return known
    }
    var fault: StoreError?
    for holder in try holders(of: item) {
      do throws(StoreError) {
        let bundle = try session.opened(holder.name)
        let table = try bundle.table()
        guard holder.number < table.items.count, table.items[holder.number] == item else {
          continue
        }
        return try bundle.item(holder.number, in: table)
      } catch {
        switch error {
        // Another bundle may hold it as well.
        case .invalid, .notFound, .fromTheFuture: fault = fault ?? error
        default: throw error
        }
      }
    }
    if let fault { throw fault }
    return nil
  }

  func isThere(_ item: BundleItem) throws(StoreError) -> Bool {
    if try !holders(of: item).isEmpty { return true }
    return item.kind == .chunk && session.store.contents.bytes(ofChunk: item.digest) != nil
  }

  private func holders(
    of item: BundleItem
  ) throws(StoreError) -> [(name: BundleName, number: Int)] {
    try session.holders(of: item).filter { session.seen.listed.contains($0.name) }
  }
}
