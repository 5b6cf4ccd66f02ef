import TestSupport

@testable import LLVSCore
@testable import LLVSExchange

/// Damage at a random remote, and the repairs of its stores (docs/exchanges.md, rule 7).
extension RandomRemote {
  /// The notes of a store about damage.
  struct DamageMemory {
    /// The bundles that it read, and that are damaged now.
    var damaged: Set<BundleName> = []
    /// The bundles that were none when this store read them.
    var malformed: Set<BundleName> = []
    /// The bundles that it read again because another store could not read them.
    var readAgain: Set<BundleName> = []
    /// The other writers' versions that it stored.
    var taken: Set<Int> = []
    /// The doubts, and the number of its versions, when it compared everything.
    var compared: (doubts: Set<BundleNumber>, versions: Int) = ([], 0)
  }

  /// Puts what only another writer's bundle holds, and names it.
  static func fill() -> [StepBox] {
    [
      StepBox { world, me in
        let list = world.list()
        let listed = world.now
        return takeIn(list, world.writers[me]) { world, me in
          let view = world.view(list, me)
          let rules = SendRules(listAge: world.options.listAge)
          let others = list.filter {
            $0.writer != world.writers[me].name && view.counts($0)
          }.sorted()
          guard let name = others.randomElement(using: &world.random),
            let bundle = world.writers[me].read[name],
            rules.mayPut(listedAt: UInt64(listed), now: UInt64(world.now))
          else { return [] }
          let there = world.holds(list, me, without: [name])
          return [put(bundle.parts.filter { !world.covers(there, $0) }, filled: name)]
        }
      }
    ]
  }

  // MARK: What a store has and reads

  private func versions(of me: Int) -> Set<Int> { writers[me].own.union(writers[me].memory.taken) }

  /// Returns the items of a store's versions.
  func items(of me: Int) -> Set<Int> { Set(versions(of: me).flatMap { versions[$0] ?? [] }) }

  /// Returns true if a store has the bytes of parts, or can get them.
  func canWrite(_ parts: Set<Part>, _ me: Int) -> Bool {
    guard options.hasDamage else { return true }
    let (items, versions) = (items(of: me), versions(of: me))
    let there = Set(
      objects.values.filter { $0.gone == nil && !$0.isDamaged }.flatMap(\.bundle.parts))
    return parts.allSatisfy { part in
      if case .outline(let version) = part { return versions.contains(version) }
      return there.contains(part) || part.item.map(items.contains) == true
    }
  }

  /// Returns true if a bundle that is read now is none. A read may fail for another reason, too.
  mutating func isMalformed(_ name: BundleName, _ me: Int) -> Bool {
    guard options.hasDamage else { return false }
    return objects[name]?.isDamaged == true || name.writer != writers[me].name && happens(0.05)
  }

  /// Adds to a bundle what a store knows of its damage.
  func judge(_ known: inout KnownBundle, _ memory: DamageMemory) {
    if memory.damaged.contains(known.name) { known.reading = .damaged }
    if known.reading == .unknown, memory.malformed.contains(known.name) {
      known.reading = .malformed
    }
  }

  /// Returns the bundles that a store leaves parts to.
  func needs(_ parts: Set<Part>, _ list: Set<BundleName>, _ me: Int) -> Set<BundleNeed> {
    guard options.hasDamage else { return [] }
    let view = view(list, me)
    let names = list.filter { view.counts($0) }.sorted()
    return Set(
      parts.compactMap { part in
        names.first { writers[me].read[$0]?.parts.contains(part) == true }.map { BundleNeed($0) }
      })
  }

  /// Damages an object, or removes it.
  mutating func damage() {
    let whole = objects.filter { $0.value.gone == nil && !$0.value.isDamaged }.keys.sorted()
    guard let name = whole.randomElement(using: &random) else { return }
    damaged += 1
    if happens(0.5) { objects[name]?.isDamaged = true } else { objects[name]?.gone = now }
  }

  // MARK: Holes, as `BundleSession` finds them

  private func needsWithoutBundle(_ view: RemoteView, _ me: Int) -> [(
    by: BundleName, need: BundleNeed
  )] {
    let names = view.names.filter(view.holds)
    let held = Set(names.map { BundleNeed($0) })
    return names.flatMap { name in
      (writers[me].read[name]?.needs ?? []).filter { !held.contains($0) }.map { (name, $0) }
    }
  }

  private func missing(_ view: RemoteView, of me: Int?) -> Set<BundleNumber> {
    let own = me.map { writers[$0].name }
    var holes: Set<BundleNumber> = []
    for writer in view.writers {
      for sequence in view.missing(of: writer) { holes.insert(BundleNumber(writer, sequence)) }
    }
    for name in view.names where view.reading(of: name) == .malformed && !view.isAnnounced(name) {
      holes.insert(BundleNumber(name))
    }
    return holes.filter {
      !view.isGone($0.writer, $0.sequence) && ($0.writer == own || !view.isNeedless($0))
    }
  }

  /// Returns the bundles that a store read, and that hold nothing now.
  private func lost(_ view: RemoteView, _ me: Int) -> Set<BundleName> {
    let writer = writers[me]
    let said = Set(writer.filled.filter(\.isUnneeded).map { BundleNumber($0) })
    return Set(
      writer.read.keys.filter { name in
        guard !writer.removed.contains(name), !view.holds(name), !view.isAnnounced(name) else {
          return false
        }
        guard name.writer != writer.name else { return true }
        guard !view.isFilled(name) else { return false }
        let number = BundleNumber(name)
        return !view.unneeded.contains(number) || options.comparesAgain && !said.contains(number)
      })
  }

  private func holes(_ view: RemoteView, _ me: Int) -> Set<BundleNumber> {
    let own = writers[me].name
    let needs = needsWithoutBundle(view, me).map { BundleNumber($0.need) }
    return missing(view, of: me)
      .union(lost(view, me).map { BundleNumber($0) })
      .union(
        needs.filter {
          !view.isNeedless($0) && ($0.writer == own || !view.isGone($0.writer, $0.sequence))
        })
  }

  private func holesForOthers(_ list: Set<BundleName>, _ me: Int) -> Set<BundleNumber> {
    missing(viewOfOthers(list, me), of: nil).filter { $0.writer != writers[me].name }
  }

  private func viewOfOthers(_ list: Set<BundleName>, _ me: Int) -> RemoteView {
    RemoteView(
      list.map { name in
        var known = writers[me].read[name]?.known ?? KnownBundle(name: name, reading: .unknown)
        judge(&known, writers[me].memory)
        return known.reading == .damaged ? KnownBundle(name: name, reading: .malformed) : known
      })
  }

  private func doubts(_ list: Set<BundleName>, _ me: Int) -> Set<BundleNumber> {
    let view = view(list, me)
    var doubts = holes(view, me).union(holesForOthers(list, me))
    guard options.comparesAgain else { return doubts }
    let readable = Set(view.names.filter(view.holds).map { BundleNumber($0) })
    let unneeded = view.unneeded.filter {
      !view.isGone($0.writer, $0.sequence) && !readable.contains($0)
    }
    doubts.formUnion(unneeded)
    for (name, need) in needsWithoutBundle(view, me) where unneeded.contains(BundleNumber(need)) {
      doubts.insert(BundleNumber(name))
    }
    return doubts
  }

  // MARK: Repairs

  /// Retrieves; reads again what another store could not read; puts what no bundle holds, and states it.
  static func mend() -> [StepBox] {
    [
      StepBox { world, me in
        world.writers[me].memory.malformed = []
        let list = world.list()
        let listed = world.now
        return takeIn(list, world.writers[me]) { world, me in
          world.retrieve(list, me)
          if world.options.comparesAgain { world.readDoubted(list, me) }
          let doubts = world.doubts(list, me)
          let count = world.versions(of: me).count
          let compared = world.writers[me].memory.compared
          let isNew = !doubts.isEmpty && (compared.doubts != doubts || compared.versions != count)
          let there = world.parts(list, me, without: [])
          let lacks = world.versions(of: me).contains { !there.contains(.outline($0)) }
          guard isNew || lacks else { return [] }
          let rules = SendRules(listAge: world.options.listAge)
          guard rules.mayPut(listedAt: UInt64(listed), now: UInt64(world.now)) else {
            return mend()
          }
          return world.compare(list, doubts, me)
        }
      }
    ]
  }

  private mutating func retrieve(_ list: Set<BundleName>, _ me: Int) {
    let there = parts(list, me, without: [])
    let readable = Self.readable(there).union(items(of: me))
    for case .outline(let version) in there where !writers[me].own.contains(version) {
      if versions[version]?.isSubset(of: readable) == true {
        writers[me].memory.taken.insert(version)
      }
    }
  }

  private mutating func readDoubted(_ list: Set<BundleName>, _ me: Int) {
    let view = view(list, me)
    for name in view.names where view.unneeded.contains(BundleNumber(name)) && view.holds(name) {
      guard writers[me].memory.readAgain.insert(name).inserted else { continue }
      guard objects[name]?.isDamaged != false else { continue }
      writers[me].memory.damaged.insert(name)
    }
  }

  /// Returns what bundles hold for a store.
  private func parts(_ list: Set<BundleName>, _ me: Int, without: Set<BundleName>) -> Set<Part> {
    let view = view(list, me)
    return Set(
      list.filter { !without.contains($0) && view.holds($0) }
        .flatMap { writers[me].read[$0]?.parts ?? [] })
  }

  /// Returns the items that can be read from parts.
  private static func readable(_ parts: Set<Part>) -> Set<Int> {
    Set(
      parts.compactMap { part in
        if case .patch(_, let base) = part, !parts.contains(.item(base)) { nil } else { part.item }
      })
  }

  /// Puts everything of a store that no bundle holds, announces its own lost bundles, and states the others.
  private mutating func compare(
    _ list: Set<BundleName>, _ doubts: Set<BundleNumber>, _ me: Int
  ) -> [StepBox] {
    let (view, writer, all) = (view(list, me), writers[me], versions(of: me))
    let lost = lost(view, me)
    let going = lost.filter { $0.writer == writer.name }
    let there = parts(list, me, without: going)
    // A whole item stays whole: it may be a base.
    let bases = Set(
      list.filter(view.holds).flatMap { writer.read[$0]?.parts ?? [] }.compactMap { part -> Int? in
        if case .patch(_, let base) = part { base } else { nil }
      })
    let readable = Self.readable(there)
    let lacking = items(of: me).filter {
      !readable.contains($0) || bases.contains($0) && !there.contains(.item($0))
    }
    let outlines = Set(all.map { Part.outline($0) }.filter { !there.contains($0) })
    let parts = outlines.union(lacking.map { .item($0) })
    let statements = statements(list, lost, there.union(parts), me)
    let left = Set(all.filter { outlines.contains(.outline($0)) }.flatMap { versions[$0] ?? [] })
    let held = there.filter { $0.item.map { left.contains($0) && !lacking.contains($0) } == true }
    let needs = needs(held, list, me)
    let noted: Step = { world, me in
      world.writers[me].memory.compared = (doubts, all.count)
      world.complete.formUnion(all)
      return []
    }
    guard !parts.isEmpty || !going.isEmpty || statements != writer.filled else {
      return [StepBox(noted)]
    }
    return [
      StepBox { world, me in
        world.writers[me].filled = statements
        return [Self.put(parts, replacing: going, needs: needs, then: noted)]
      }
    ]
  }

  private func statements(
    _ list: Set<BundleName>, _ lost: Set<BundleName>, _ coming: Set<Part>, _ me: Int
  ) -> Set<BundleNeed> {
    let (view, writer, all) = (view(list, me), writers[me], versions(of: me))
    let others = viewOfOthers(list, me)
    let readable = Set(view.names.filter(view.holds).map { BundleNumber($0) })
    var statements = writer.filled.filter { need in
      guard !others.isGone(need.writer, need.sequence) else { return false }
      return !need.isUnneeded
        || !view.isFilled(need.writer, need.sequence) && !readable.contains(BundleNumber(need))
    }
    var unknown: Set<BundleNumber> = []
    for name in lost where name.writer != writer.name {
      let parts = writer.read[name]?.parts ?? []
      if parts.allSatisfy({ covers(coming, $0) }) {
        statements.insert(BundleNeed(name))
      } else if view.reading(of: name) != .damaged {
        unknown.insert(BundleNumber(name))
      }
    }
    let held = list.filter(view.holds).flatMap { writer.read[$0]?.parts ?? [] }
    let isAll = held.allSatisfy { part in
      if case .outline(let version) = part { all.contains(version) } else { true }
    }
    guard isAll else { return statements }
    let stated = Set(statements.map { BundleNumber($0) })
    for number in holes(view, me).union(holesForOthers(list, me))
    where number.writer != writer.name && !unknown.contains(number) && !stated.contains(number) {
      statements.insert(BundleNeed(unneeded: number))
    }
    return statements
  }

  // MARK: The end

  /// Lets a new store and those that are left sync until nothing changes, then verify, and sync again.
  ///
  /// Returns a version that a new store cannot read though no hole says so, or the holes after the verification; nil if
  /// there are none.
  mutating func mended() -> String? {
    // Damage of what all stores have read shows when a new store reads it.
    writers.append(Writer(name: "w\(writers.count)"))
    let left = (happens(0.5) ? 1 : 0)..<writers.count
    settle(left)
    if let version = hiddenLoss(left) { return version }
    for me in left {
      let damaged = objects.filter { $0.value.gone == nil && $0.value.isDamaged }.keys
      writers[me].memory.damaged.formUnion(damaged.filter { writers[me].read[$0] != nil })
    }
    settle(left)
    let view = viewOfNewStore()
    let holes = missing(view, of: nil)
    let had = Set(left.flatMap { versions(of: $0) })
    let isLost = objects.values.contains { object in
      object.gone == nil && !object.isDamaged && view.holds(object.bundle.name)
        && object.bundle.parts.contains { part in
          if case .outline(let version) = part { !had.contains(version) } else { false }
        }
    }
    // What only a lost store had stays a hole, since no other knows what it was.
    return holes.isEmpty || isLost ? nil : "\(holes.map(\.text).sorted()) stay holes"
  }

  private mutating func settle(_ left: Range<Int>) {
    for _ in 0..<8 {
      for me in left.reversed() {
        now += 2 * options.lag
        tick()
        writers[me].job = Self.mend()
        while !writers[me].job.isEmpty {
          let next = writers[me].job.removeFirst()
          writers[me].job = next.run(&self, me) + writers[me].job
        }
      }
    }
    now += 2 * options.lag
  }

  private func viewOfNewStore() -> RemoteView {
    RemoteView(
      objects.values.filter { $0.gone == nil }.map { object in
        object.isDamaged
          ? KnownBundle(name: object.bundle.name, reading: .malformed) : object.bundle.known
      })
  }

  /// Returns a version that a new store cannot read, and that it does not miss.
  private mutating func hiddenLoss(_ left: Range<Int>) -> String? {
    let view = viewOfNewStore()
    func parts(_ isRead: (BundleName) -> Bool) -> Set<Part> {
      Set(
        objects.values.filter { $0.gone == nil && !$0.isDamaged && isRead($0.bundle.name) }
          .flatMap(\.bundle.parts))
    }
    guard missing(view, of: nil).isEmpty else { return nil }
    let (there, all) = (parts(view.holds), parts { _ in true })
    let (items, raw) = (Self.readable(there), Self.readable(all))
    for version in versions.keys.sorted() {
      let needed = versions[version] ?? []
      let isThere = all.contains(.outline(version)) && needed.isSubset(of: raw)
      let isHad = left.contains { self.versions(of: $0).contains(version) }
      guard isThere || isHad else { continue }
      guard there.contains(.outline(version)), needed.isSubset(of: items) else {
        return "version \(version) cannot be read, and no hole says so"
      }
      mendedVersions += 1
    }
    return nil
  }
}
