import LLVSCore

/// Keeps the number of a writer's own bundles low, and checks that they are whole.
extension Store {
  /// This many bundles of about the same size are combined, so that their number grows with the
  /// logarithm of their content, and no version is written more often than that.
  private static let runLength = 16
  private static let lastChecked = "bundles.checked"

  /// Reads the next of this store's own bundles again, and removes it if its bytes do not match its
  /// name; its versions are then sent anew.
  ///
  /// A server is not asked: it would have to send what it holds.
  ///
  /// - Returns: the bundles that are there afterwards.
  func checkOwnBundle(
    of names: [BundleName], in folder: BundleFolder, _ control: ExchangeControl
  ) throws(StoreError) -> [BundleName] {
    guard folder.isNear else { return names }
    let own = names.filter(folder.isOwn).map(\.text)
    // The name that was read last, and the last name when the round began: each send adds a bundle,
    // so a round that included new ones would never end.
    let kept = noted(Store.lastChecked).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let parts = kept.split(separator: " ").map(String.init)
    var (last, end) = parts.count == 2 ? (parts[0], parts[1]) : ("", "")
    if !own.contains(where: { $0 > last && $0 <= end }) { (last, end) = ("", own.last ?? "") }
    guard let text = own.first(where: { $0 > last }), let next = BundleName(text) else {
      return names
    }
    note(Store.lastChecked, Array("\(text) \(end)".utf8))
    guard try !isWhole(next, in: folder, control) else { return names }
    try folder.remove([next])
    return names.filter { $0 != next }
  }

  private func isWhole(
    _ name: BundleName, in folder: BundleFolder, _ control: ExchangeControl
  ) throws(StoreError) -> Bool {
    guard folder.isNear else { return try folder.list().whole.contains(name) }
    do throws(StoreError) {
      return try folder.open(name, cache: BundleCache(), control: control) != nil
    } catch {
      guard case .invalid = error else { throw error }
      return false
    }
  }

  /// Combines many small bundles of this store into one, and removes them. The new bundle is in
  /// place, and was read again, before the first of them is removed.
  ///
  /// `names` are all bundles that are there.
  func combineBundles(
    _ names: [BundleName], in folder: BundleFolder, _ control: ExchangeControl
  ) throws(StoreError) {
    guard names.count(where: { folder.isOwn($0) && Store.isSmall($0) }) >= Store.runLength else {
      return
    }
    let recorded = try ownVersions(in: names, folder)
    // Bundles that an earlier call could not remove are removed first, so that none is combined
    // twice.
    var left: [BundleName] = []
    for (name, numbers) in recorded {
      let holder = recorded.first {
        $0.name.sequence > name.sequence && $0.numbers.isSuperset(of: numbers)
      }
      guard let holder, try isWhole(holder.name, in: folder, control) else { continue }
      left.append(name)
    }
    try folder.remove(left)
    let own = recorded.filter { !left.contains($0.name) }
    let small = Set(Store.bundlesToCombine(own.map(\.name)))
    guard small.count > 1 else { return }
    var numbers: Set<VersionNumber> = []
    for bundle in own where small.contains(bundle.name) { numbers.formUnion(bundle.numbers) }
    var rest = numbers.sorted()[...]
    var sequence = folder.nextSequence(after: names)
    var kept: Set<BundleName> = []
    var unsent = UnsentVersions()
    while !rest.isEmpty, unsent.faults.isEmpty {
      guard let (_, name) = try sendOne(&rest, to: folder, sequence, &unsent, control) else {
        break
      }
      guard try isWhole(name, in: folder, control) else {
        throw .unreachable("\(BundleFormat.directory)/\(name.text) cannot be read again")
      }
      kept.insert(name)
      sequence = BundleName.sequence(after: sequence)
    }
    guard unsent.faults.isEmpty else {
      // Something in the store was damaged since it was sent: only the small bundles hold it.
      return try folder.remove(kept.filter { !small.contains($0) })
    }
    try folder.remove(small.filter { !kept.contains($0) })
  }

  /// Returns the versions in this store's own small bundles; bundles whose versions were not
  /// recorded are left out.
  private func ownVersions(
    in names: [BundleName], _ folder: BundleFolder
  ) throws(StoreError) -> [(name: BundleName, numbers: Set<VersionNumber>)] {
    try catalog.readView { (view) throws(StoreError) in
      var own: [(name: BundleName, numbers: Set<VersionNumber>)] = []
      // Large bundles stay as they are.
      for name in names where folder.isOwn(name) && Store.isSmall(name) {
        guard let runs = try catalog.versions(inBundle: name.hash, in: view) else { continue }
        var numbers: Set<VersionNumber> = []
        for run in runs { for number in run { numbers.insert(VersionNumber(number)) } }
        own.append((name, numbers))
      }
      return own
    }
  }

  private static func isSmall(_ name: BundleName) -> Bool {
    name.length < BundleFormat.closingLength / 2
  }

  /// Returns the bundles to combine: if a whole run has about the same size, these and all smaller
  /// ones.
  static func bundlesToCombine(_ own: [BundleName]) -> [BundleName] {
    // The size as a power of four.
    func size(_ name: BundleName) -> Int { (UInt64.bitWidth - name.length.leadingZeroBitCount) / 2 }
    let counts = Dictionary(grouping: own, by: size).mapValues(\.count)
    guard let largest = counts.filter({ $0.value >= runLength }).keys.max() else { return [] }
    return own.filter { size($0) <= largest }
  }
}
