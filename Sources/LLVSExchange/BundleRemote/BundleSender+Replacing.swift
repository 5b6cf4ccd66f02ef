import LLVSCore

extension BundleSender {
  /// Writes versions and items again in new bundles. The last one announces the old ones.
  /// - Returns: false if some of them cannot be written, so that nothing is announced.
  func replace(
    _ old: Set<BundleName>, versions: [VersionNumber], items: [HeldItem], fetch: @escaping Fetch
  ) throws(StoreError) -> Bool {
    OutgoingBundle.clean(store)
    (going, self.fetch) = (old, fetch)
    defer { (going, self.fetch) = ([], nil) }
    var unsent = UnsentVersions()
    for number in versions {
      try control.check()
      guard try add(number, &unsent) else { return try giveUp() }
      try closeIfFull()
    }
    guard try put(items, fetch: fetch) else { return try giveUp() }
    _ = try bundle()
    let from = SequenceRuns(old.filter(session.isOwn).map(\.sequence))
    guard try close(announcing: old, from: from) != nil, rejected.isEmpty else {
      rejected = []
      return false
    }
    try completeRelied()
    return true
  }

  /// Puts items that nothing holds that counts; false if the bytes of some are nowhere, unless those are lost.
  func put(
    _ items: [HeldItem], orLost isLost: Bool = false, fetch: Fetch
  ) throws(StoreError) -> Bool {
    for held in items {
      try control.check()
      let bundle = try bundle()
      let known = try session.holders(of: held.item)
      guard bundle.writer.number(of: held.item) == nil,
        try holder(of: held, among: known, for: bundle) == nil
      else { continue }
      guard let piece = try fetch(held) else {
        if isLost { continue }
        return try giveUp()
      }
      _ = try add(held, piece, to: bundle)
      try closeIfFull()
    }
    return true
  }

  /// Writes versions again, without announcing anything; false if some cannot be written.
  func put(_ versions: [VersionNumber]) throws(StoreError) -> Bool {
    var unsent = UnsentVersions()
    for number in versions {
      guard try add(number, &unsent) else { return try giveUp() }
      try closeIfFull()
    }
    try close()
    return rejected.isEmpty
  }

  private func giveUp() throws(StoreError) -> Bool {
    current = nil
    try finishLast()
    return false
  }

  /// Returns a value that this store has forgotten, with its items from bundles; nil if one cannot be read. A value
  /// that bundles do not have whole is named.
  func valueFromBundles(
    _ stored: StoredContent, _ fetch: Fetch
  ) throws(StoreError) -> OutlineValue? {
    let first = BundleItem(value: stored.digest, length: stored.length)
    var found: OutlineValue?
    var open = [first]
    while let item = open.popLast() {
      try control.check()
      guard try !session.holders(of: item).isEmpty else {
        return .forgotten(stored.digest, length: stored.length)
      }
      guard let piece = try fetch(HeldItem(item: item, isPatch: item.kind == .chunk)) else {
        return nil
      }
      let place = try place(of: item, isReferred: true) { piece }
      if item == first {
        switch place {
        case .here(let number): found = .item(number, length: stored.length)
        case .elsewhere(let need):
          found = .leftOut(stored.digest, length: stored.length, need: need)
        }
      }
      guard item.kind != .chunk else { continue }
      guard let node = piece.bytes.withUnsafeBytes({ ValueNodeForm($0) }) else { return nil }
      open += node.parts.compactMap(\.part.item)
    }
    return found
  }
}
