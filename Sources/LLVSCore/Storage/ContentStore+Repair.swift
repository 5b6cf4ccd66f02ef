internal import Synchronization

/// Repairs damaged bytes when the same bytes are found elsewhere or are stored again.
extension ContentStore {
  private static let mostUnreadable = 4096

  func remember(unreadable digest: Digest, at location: Location) {
    unreadable.withLock { unreadable in
      guard unreadable.count < ContentStore.mostUnreadable else { return }
      unreadable[digest] = location
    }
  }

  /// Writes bytes over their damaged record and returns its location; nil if they must be stored again.
  func repaired(
    _ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, _ digest: Digest
  ) -> Location? {
    guard let place = unreadable.withLock({ $0.removeValue(forKey: digest) }),
      records.repair(kind, bytes, at: place)
    else { return nil }
    return place
  }

  /// Repairs damaged nodes of an older value with the same bytes as the one that was just stored.
  func repairNodes(of stored: StoredContent) throws(StoreError) {
    guard case .tree(let location) = stored.content, !unreadable.withLock({ $0.isEmpty }) else {
      return
    }
    try repairNodes(location, stored.digest)
  }

  private func repairNodes(_ location: Location, _ digest: Digest) throws(StoreError) {
    let bytes = try records.read(.valueNode, at: location)
    _ = bytes.withUnsafeBytes { repaired(.valueNode, $0, digest) }
    guard let node = ValueNode(bytes: bytes) else { return }
    for item in node.items where item.kind == .node {
      guard let location = item.location, let digest = item.digest else { continue }
      try repairNodes(location, digest)
    }
  }

  /// Returns a chunk's bytes; if its record is damaged, from another record with the same bytes.
  func chunk(_ location: Location, _ digest: Digest) throws(StoreError) -> [UInt8] {
    do throws(StoreError) {
      return try chunk(location)
    } catch {
      guard error.isDamage else { throw error }
      guard let place = found(digest), place != location,
        let bytes = try? records.read(.chunk, at: place), Digest.of(bytes) == digest
      else {
        remember(unreadable: digest, at: location)
        throw error
      }
      if repairs { _ = bytes.withUnsafeBytes { records.repair(.chunk, $0, at: location) } }
      return bytes
    }
  }

  /// Returns true if a value can be read at its old location, perhaps after a repair with the new bytes; false if the
  /// bytes there were forgotten.
  package func isSound(
    _ before: StoredContent, besides now: StoredContent
  ) throws(StoreError) -> Bool {
    if before.isAbsent { return now.isAbsent }
    return switch (before.content, now.content) {
    case (.chunk(let a), .chunk(let b)): try isSound(a, besides: b)
    case (.tree(let a), .tree(let b)): try isSoundNode(a, besides: b)
    default: true
    }
  }

  private func isSound(_ before: Location, besides now: Location) throws(StoreError) -> Bool {
    guard before != now else { return true }
    do throws(StoreError) {
      _ = try records.read(.chunk, at: before)
      return true
    } catch {
      if error.isForgotten { return false }
      guard error.isDamage else { throw error }
      return try records.read(.chunk, at: now).withUnsafeBytes {
        records.repair(.chunk, $0, at: before)
      }
    }
  }

  private func isSoundNode(_ before: Location, besides now: Location) throws(StoreError) -> Bool {
    guard before != now else { return true }
    let bytes = try records.read(.valueNode, at: now)
    var old: ValueNode?
    do throws(StoreError) {
      old = ValueNode(bytes: try records.read(.valueNode, at: before))
    } catch {
      if error.isForgotten { return false }
      guard error.isDamage else { throw error }
      return bytes.withUnsafeBytes { records.repair(.valueNode, $0, at: before) }
    }
    guard let old, let new = ValueNode(bytes: bytes), old.items.count == new.items.count else {
      return false
    }
    for (a, b) in zip(old.items, new.items) {
      guard let before = a.location, let now = b.location else { continue }
      let isSound =
        try a.kind == .node
        ? isSoundNode(before, besides: now) : isSound(before, besides: now)
      if !isSound { return false }
    }
    return true
  }
}
