import LLVSCore

/// A bundle that holds an item: its number there, and whether it is a patch.
struct ItemHolder: Sendable {
  let name: BundleName
  let number: Int
  let isPatch: Bool

  init(_ name: BundleName, _ number: Int, isPatch: Bool) {
    self.name = name
    self.number = number
    self.isPatch = isPatch
  }
}

/// Reads items from any listed bundle, and from this store unless `usesStore` is false.
/// - Concurrency: any thread, while the session lists nothing.
final class ItemFetcher {
  private let session: BundleSession
  private let usesStore: Bool

  init(_ session: BundleSession, usesStore: Bool = true) {
    self.session = session
    self.usesStore = usesStore
  }

  /// Returns the bytes of an item; nil if nothing holds it.
  /// - Throws: ``StoreError/invalid(_:)`` if all copies are damaged, ``StoreError/notFound(_:)`` if a bundle
  ///   is gone, or an error of the remote.
  func bytes(of item: BundleItem) throws(StoreError) -> [UInt8]? {
    if let known = here(item) { return known }
    return try bytes(from: try holders(of: item), of: item)
  }

  /// Returns the bytes of a value; nil if one of its items is nowhere. The caller bounds the length.
  /// - Throws: As ``bytes(of:)``.
  func bytes(ofValue digest: Digest, length: UInt64) throws(StoreError) -> [UInt8]? {
    var bytes: [UInt8] = []
    let top = BundleItem(value: digest, length: length)
    guard try append(top, length, to: &bytes), UInt64(bytes.count) == length else { return nil }
    return bytes
  }

  private func append(
    _ item: BundleItem, _ length: UInt64, to bytes: inout [UInt8]
  ) throws(StoreError) -> Bool {
    guard let own = try self.bytes(of: item) else { return false }
    guard item.kind != .chunk else {
      bytes += own
      return UInt64(own.count) == length
    }
    // An item is proved, so that the lengths below a node are those of the value.
    guard let node = own.withUnsafeBytes({ ValueNodeForm($0) }), node.length == length else {
      return false
    }
    for (length, part) in node.parts {
      guard let item = part.item else {
        bytes += [UInt8](repeating: 0, count: Int(length))
        continue
      }
      guard try append(item, length, to: &bytes) else { return false }
    }
    return true
  }

  /// Returns an item of a bundle.
  /// - Throws: As ``bytes(of:)``.
  func bytes(
    _ number: Int, in bundle: BundleReader, _ table: BundleTable
  ) throws(StoreError) -> [UInt8] {
    try bundle.item(number, in: table) { (base) throws(StoreError) in
      let item = BundleItem(.chunk, base)
      if let known = here(item) { return known }
      // The bases of a patch are whole, so that the reading ends.
      return try bytes(from: try holders(of: item).filter { !$0.isPatch }, of: item)
    }
  }

  private func here(_ item: BundleItem) -> [UInt8]? {
    guard usesStore, item.kind == .chunk else { return nil }
    return session.store.contents.bytes(ofChunk: item.digest)
  }

  private func bytes(
    from holders: [ItemHolder], of item: BundleItem
  ) throws(StoreError) -> [UInt8]? {
    var fault: StoreError?
    for holder in holders {
      do throws(StoreError) {
        let bundle = try session.opened(holder.name)
        let table = try bundle.table()
        guard holder.number < table.items.count, table.items[holder.number] == item,
          holder.isPatch || table.bases[holder.number] == nil
        else { continue }
        return try bytes(holder.number, in: bundle, table)
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

  /// Returns the bytes of an item, and the bases of a patch of it that a bundle holds; nil if nothing holds it.
  /// - Throws: As ``bytes(of:)``.
  func piece(of held: HeldItem) throws(StoreError) -> BundlePiece? {
    guard let bytes = try bytes(of: held.item) else { return nil }
    var piece = BundlePiece(bytes: bytes)
    guard held.isPatch else { return piece }
    for holder in try holders(of: held.item) where holder.isPatch {
      guard let bases = try session.bases(of: held.item, at: holder) else { continue }
      for base in bases {
        guard let bytes = try self.bytes(of: BundleItem(.chunk, base)) else { return piece }
        piece.bases.append(BundleBase(bytes))
      }
      break
    }
    return piece
  }

  func isThere(_ item: BundleItem) throws(StoreError) -> Bool {
    if here(item) != nil { return true }
    for holder in try holders(of: item) {
      guard holder.isPatch else { return true }
      if let bases = try session.bases(of: item, at: holder), try areThere(bases) { return true }
    }
    return false
  }

  /// Returns true if the bases of an item that is a patch can be read, and for every other item.
  func hasBases(_ number: Int, in table: BundleTable) throws(StoreError) -> Bool {
    try areThere(table.bases[number] ?? [])
  }

  private func areThere(_ bases: [Digest]) throws(StoreError) -> Bool {
    for base in bases {
      let item = BundleItem(.chunk, base)
      if here(item) != nil { continue }
      guard try holders(of: item).contains(where: { !$0.isPatch }) else { return false }
    }
    return true
  }

  private func holders(of item: BundleItem) throws(StoreError) -> [ItemHolder] {
    try session.holders(of: item).filter { session.seen.listed.contains($0.name) }
  }
}

/// An item that is about to be written, with the chunks that it may be a patch of.
struct BundlePiece {
  var bytes: [UInt8]
  var bases: [BundleBase] = []
}

extension BundleSession {
  /// Returns the bases of a patch; nil if its bundle does not hold it so, or cannot be read.
  func bases(of item: BundleItem, at holder: ItemHolder) throws(StoreError) -> [Digest]? {
    do throws(StoreError) {
      let table = try opened(holder.name).table()
      guard holder.number < table.items.count, table.items[holder.number] == item else {
        return nil
      }
      return table.bases[holder.number]
    } catch .invalid, .notFound, .fromTheFuture {
      return nil
    }
  }

  /// Returns true if bundles for which a condition holds have an item: whole, or as a patch of chunks that are whole
  /// in such bundles.
  func canRead(
    _ item: BundleItem, where isHeld: (BundleName) -> Bool
  ) throws(StoreError) -> Bool {
    for holder in try holders(of: item) where isHeld(holder.name) {
      if try canRead(item, at: holder, where: isHeld) { return true }
    }
    return false
  }

  func canRead(
    _ item: BundleItem, at holder: ItemHolder, where isHeld: (BundleName) -> Bool
  ) throws(StoreError) -> Bool {
    guard holder.isPatch else { return true }
    guard let bases = try bases(of: item, at: holder) else { return false }
    for base in bases {
      let holders = try holders(of: BundleItem(.chunk, base))
      guard holders.contains(where: { !$0.isPatch && isHeld($0.name) }) else { return false }
    }
    return true
  }
}
