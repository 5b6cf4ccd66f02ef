import LLVSCore
import ObjectStores
internal import Platform

extension BundleSession {
  private static let writerSetting = "bundles.writer"
  /// The least length of a full bundle at a server that refuses longer ones.
  private static let leastGoal: UInt64 = 64 << 10
  private var largestNote: String { "bundles.largest \(options.place)" }

  /// The length at which a bundle is full at a server that refused longer ones; nil before that.
  var largestBundle: UInt64? {
    store.noted(largestNote).flatMap { UInt64(String(decoding: $0, as: UTF8.self)) }
  }

  var combining: CombiningRules {
    var rules =
      options.combining ?? CombiningRules(goal: CombiningRules.goal(of: listing.total))
    if options.combining == nil, options.removal == .directory {
      rules.runLength = CombiningRules.runInDirectory
    }
    rules.goal = min(rules.goal, largestBundle ?? .max)
    return rules
  }

  /// Notes that the server refused a bundle for its length: the next ones have half of it.
  func noteTooLarge(_ name: BundleName) {
    let half = name.length / 2
    guard half >= Self.leastGoal else { return }
    store.note(largestNote, Array("\(half)".utf8))
  }

  /// Returns the sequence number of this store's next bundle, greater than any noted, listed, torn or reserved one.
  func reserveSequence() -> UInt64 {
    let torn = listing.torn.compactMap { BundleName($0) }
    var next: UInt64 = 0
    for name in notes.bundles.keys where isOwn(name) { next = max(next, name.sequence + 1) }
    for name in listing.names + torn where isOwn(name) { next = max(next, name.sequence + 1) }
    return store.catalog.remoteLedger.reserveSequence(atLeast: next)
  }

  /// Returns a new bundle's claims: own and adopted bundles stay except those announced or replaced.
  /// A lost one stays, too: it is missed until it is replaced.
  func claims(
    _ view: RemoteView, with sequence: UInt64, without replaced: Set<BundleName>
  ) -> [BundleClaim] {
    let stays = Set(view.names.filter { !view.isAnnounced($0) } + lost(in: view))
      .subtracting(replaced)
    func kept(_ writer: String) -> [UInt64] {
      stays.filter { $0.writer == writer }.map(\.sequence)
    }
    let own = BundleClaim(
      writer: writer, upTo: sequence, kept: SequenceRuns(kept(writer) + [sequence]))
    return [own]
      + adopted.sorted().compactMap { other in
        // Announced bundles stay announced.
        let there = view.names.filter { $0.writer == other }.map(\.sequence)
        let before = ownClaims(about: other).map(\.upTo)
        return (there + before).max().map {
          BundleClaim(writer: other, upTo: $0, kept: SequenceRuns(kept(other)))
        }
      }
  }

  /// The other writers whose bundles this store keeps: those in the options, and those of its bundles.
  var adopted: Set<String> {
    var found = options.adopted
    // The first claim of a bundle is that of its writer.
    for noted in notes.bundles.values
    where noted.facts.claims.count > 1 && isOwn(noted.name) && noted.facts.place == options.place {
      for claim in noted.facts.claims { found.insert(claim.writer) }
    }
    found.remove(writer)
    return found
  }

  private func ownClaims(about other: String) -> [BundleClaim] {
    notes.bundles.values.filter { isOwn($0.name) && $0.facts.place == options.place }
      .flatMap(\.facts.claims).filter { $0.writer == other }
  }

  /// Returns when a writer put something last, by the remote's clock; nil where that does not say.
  func lastPut(of other: String) -> Int64? {
    let names = listing.names.filter { $0.writer == other }
    let times = names.compactMap { listing.modified($0) }
    return times.count == names.count ? times.max() : nil
  }

  /// Returns the name that this replica took in place of its id; not one of the replica it copies.
  func notedWriter() -> String? {
    guard let bytes = try? store.state().settings[Self.writerSetting] else { return nil }
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ").map(String.init)
    guard words.count == 2, words[0] == store.replicaID, BundleName.isWriter(words[1]) else {
      return nil
    }
    return words[1]
  }

  /// Takes another name if another store writes under this one: an unrecognised copy, or one that adopted it.
  func leaveStrangersName() throws(StoreError) {
    guard BundleName.isWriter(writer) else {
      throw .invalid("\(writer) is no name for a writer of bundles")
    }
    guard isStrangerHere || view().isAdopted(writer) else { return }
    let name = SystemRandom.hex(16)
    try store.write { (transaction) throws(StoreError) in
      transaction.set(Self.writerSetting, to: Array("\(store.replicaID) \(name)".utf8))
    }
    rename(name)
  }

  private var isStrangerHere: Bool {
    // Torn bundles count: another writer must not choose the numbers of this store's next bundles.
    (listing.names + listing.torn.compactMap { BundleName($0) }).contains { name in
      guard isOwn(name), notes[name]?.state.contains(.named) != true else { return false }
      // Junk is no store's. The next bundle, with a greater number, restores the trust in this writer.
      return seen.faults[name]?.reading != .malformed || name.sequence > .max / 2
    }
  }

  /// Refuses, before the first send to a remote, to write plain bundles where others are encrypted.
  /// - Throws: ``StoreError/denied(_:)``.
  func refuseEncrypted() throws(StoreError) {
    guard !listing.names.contains(where: isOwn) else { return }
    try refuseKeys()
  }

  /// Refuses to go on where bundles are encrypted and this peer is not set to be.
  func stopAtEncrypted() throws(StoreError) {
    guard options.keys == nil, seen.faults.values.contains(where: { $0.reading == .unknown }) else {
      return
    }
    try refuseKeys()
  }

  /// Returns true if a bundle is encrypted with a key that this store does not hold.
  func lacksKey() throws(StoreError) -> Bool {
    let keys = options.keys?.keys ?? []
    for (name, fault) in seen.faults where fault.reading == .unknown {
      do throws(StoreError) {
        let tail = try BundleReader.Tail(reading: bytes(of: name), of: name, name.text)
        if tail.isSealed, !keys.contains(where: { $0.id == tail.keyID }) { return true }
      } catch .invalid, .notFound, .fromTheFuture {
        continue  // It says nothing about keys.
      }
    }
    return false
  }

  /// Throws if there are keys, and this peer is not set to be encrypted.
  func refuseKeys() throws(StoreError) {
    guard options.keys == nil, let prefix = ObjectPrefix(folder: KeyFileName.directory) else {
      return
    }
    let files = try asking { () throws(RemoteError) in try objects.all(prefix, atMost: 4096) }
    guard !files.contains(where: { KeyFileName($0.name.last) != nil }) else {
      throw .denied(
        "what is there is encrypted, and nothing was exchanged; \"llvs peer \(options.peer) --encrypt\", or "
          + "\"llvs clone --encrypt\" for a new store, asks for its passphrase")
    }
  }
}
