import TestSupport

@testable import LLVSCore
@testable import LLVSExchange

/// Random runs of the whole protocol: several writers, many items and versions, sends, replacements,
/// removals, crashes anywhere, lists that are late, PUTs that land late or twice, sleeping machines.
struct RandomRemote {
  struct Options {
    var lag: Int64 = 4
    var grace: Int64 = 8
    var listAge: UInt64 = 2
    var listsAgain = true
    var announcedCount = false
    var crash = 0.02
    var writers = 4
    /// Half of the bundles are small: they count for their writers, and go without a grace period.
    var hasSmall = false
    /// The chance that the last writer can never read a bundle.
    var unreadable = 0.0
    /// Items are written as patches of others where these are whole.
    var hasPatches = false
    /// A patch is enough where a whole item goes.
    var patchesReplaceWhole = false
    /// Bundles are damaged, and another writer names them once it has filled them.
    var hasFilled = false
    /// Filled bundles count all the same.
    var filledCount = false
    /// Objects are damaged and lost, and stores state what they cannot read: the life ends with ``mended()``.
    var hasDamage = false
    /// A store compares all that it has after a bundle was stated as not needed.
    var comparesAgain = true
  }

  /// What bundles hold.
  enum Part: Hashable {
    /// A whole item.
    case item(Int)
    /// An item as a patch of another.
    case patch(Int, of: Int)
    case outline(Int)

    /// The item that can be read here.
    var item: Int? {
      switch self {
      case .item(let item), .patch(let item, _): item
      case .outline: nil
      }
    }
  }

  struct Bundle {
    let name: BundleName
    let parts: Set<Part>
    let claim: BundleClaim
    var filled: [BundleNeed] = []
    var needs: Set<BundleNeed> = []
    var known: KnownBundle { KnownBundle(name: name, claims: [claim], filled: filled) }
  }

  struct Stored {
    var bundle: Bundle
    var put: Int64
    var gone: Int64?
    /// True once nothing can be read of it.
    var isDamaged = false
  }

  /// The next steps of a writer, which a crash drops.
  typealias Step = (inout RandomRemote, Int) -> [StepBox]
  struct StepBox {
    let run: Step
    init(_ run: @escaping Step) { self.run = run }
  }

  struct Writer {
    let name: String
    var sequence: UInt64 = 0
    // Durable.
    var read: [BundleName: Bundle] = [:]
    var unreadable: Set<BundleName> = []
    var kept: Set<UInt64> = []
    var announced: [BundleName: Int64] = [:]
    var removed: Set<BundleName> = []
    var own: Set<Int> = []
    var filled: Set<BundleNeed> = []
    var memory = DamageMemory()
    // Gone with a crash.
    var job: [StepBox] = []
    var asleep: Int64 = 0
  }

  let options: Options
  var random: SeededRandom
  var now: Int64 = 0
  var objects: [BundleName: Stored] = [:]
  var late: [(at: Int64, bundle: Bundle)] = []
  var writers: [Writer]
  /// The items of each version.
  var versions: [Int: Set<Int>] = [:]
  var complete: Set<Int> = []
  var items = 0
  private(set) var sent = 0
  private(set) var removed = 0
  var damaged = 0
  var mendedVersions = 0

  init(seed: UInt64, _ options: Options) {
    self.options = options
    random = SeededRandom(seed: seed)
    writers = (0..<options.writers).map { Writer(name: "w\($0)") }
  }

  mutating func happens(_ chance: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < chance
  }

  // MARK: The remote

  mutating func list() -> Set<BundleName> {
    var shown: Set<BundleName> = []
    for (name, stored) in objects.sorted(by: { $0.key < $1.key }) {
      if let gone = stored.gone {
        if now - gone < options.lag, happens(0.5) { shown.insert(name) }
      } else if now - stored.put >= options.lag || happens(0.5) {
        shown.insert(name)
      }
    }
    return shown
  }

  private mutating func get(_ name: BundleName) -> Bundle? {
    guard let stored = objects[name] else { return nil }
    if let gone = stored.gone {
      return now - gone < options.lag && happens(0.5) ? stored.bundle : nil
    }
    return now - stored.put < options.lag && happens(0.2) ? nil : stored.bundle
  }

  private mutating func land(_ bundle: Bundle) {
    objects[bundle.name] = Stored(bundle: bundle, put: now, gone: nil)
    for need in bundle.filled {
      for name in objects.keys where BundleNeed(name) == need && objects[name]?.isDamaged == false {
        objects[name]?.isDamaged = true
        damaged += 1
      }
    }
  }

  mutating func tick() {
    now += 1
    let due = late.filter { $0.at <= now }
    late.removeAll { $0.at <= now }
    for (_, bundle) in due { land(bundle) }
  }

  // MARK: Writers

  func view(_ list: Set<BundleName>, _ writer: Int) -> RemoteView {
    let read = writers[writer].read
    return RemoteView(
      list.map { name in
        var known = read[name]?.known ?? KnownBundle(name: name, reading: .unknown)
        if options.hasDamage { judge(&known, writers[writer].memory) }
        if options.filledCount { known.filled = [] }
        return known
      },
      own: [writers[writer].name],
      leastLength: options.hasSmall ? 5 : 0)
  }

  func holds(_ list: Set<BundleName>, _ writer: Int, without: Set<BundleName> = []) -> Set<
    Part
  > {
    let view = view(list, writer)
    var parts: Set<Part> = []
    for name in list where !without.contains(name) {
      guard let bundle = writers[writer].read[name] else { continue }
      if options.announcedCount || view.counts(name) { parts.formUnion(bundle.parts) }
    }
    return parts
  }

  /// Returns true if parts make a part needless.
  func covers(_ parts: Set<Part>, _ part: Part) -> Bool {
    guard let item = part.item, !parts.contains(part) else { return parts.contains(part) }
    if case .item = part, !options.patchesReplaceWhole { return false }
    return parts.contains { $0.item == item }
  }

  /// Returns the parts that parts rely on: the whole bases of patches.
  private func bases(_ parts: Set<Part>) -> Set<Part> {
    Set(
      parts.compactMap { part in
        if case .patch(_, let base) = part { .item(base) } else { nil }
      })
  }

  /// Returns items to be written, some of them as patches of whole items that are there or are written, too.
  private mutating func written(_ needed: Set<Int>, with there: Set<Part>) -> Set<Part> {
    var parts: Set<Part> = []
    for item in needed.sorted() {
      let whole = there.union(parts).compactMap { part -> Int? in
        if case .item(let other) = part, other != item { other } else { nil }
      }.sorted()
      if options.hasPatches, happens(0.7), let base = whole.randomElement(using: &random) {
        parts.insert(.patch(item, of: base))
      } else {
        parts.insert(.item(item))
      }
    }
    return parts
  }

  /// Reads what a list shows and was not read, one bundle a step, then goes on.
  static func takeIn(
    _ list: Set<BundleName>, _ writer: Writer, then next: @escaping Step
  ) -> [StepBox] {
    list.filter { writer.read[$0] == nil && !writer.unreadable.contains($0) }.sorted().map { name in
      StepBox { world, me in
        if world.writers[me].read[name] == nil, let bundle = world.get(name) {
          if world.isMalformed(name, me) {
            world.writers[me].memory.malformed.insert(name)
          } else if me == world.writers.count - 1, name.writer != writer.name,
            world.happens(world.options.unreadable)
          {
            world.writers[me].unreadable.insert(name)
          } else {
            world.writers[me].read[name] = bundle
          }
        }
        return []
      }
    } + [StepBox(next)]
  }

  static func put(
    _ parts: Set<Part>, replacing: Set<BundleName> = [], filled: BundleName? = nil,
    needs: Set<BundleNeed> = [],
    then next: @escaping Step = { _, _ in [] }
  ) -> StepBox {
    StepBox { world, me in
      world.writers[me].sequence += 1
      let sequence = world.writers[me].sequence
      let writer = world.writers[me].name
      let kept = world.writers[me].kept.subtracting(replacing.map(\.sequence)).union([sequence])
      let length: UInt64 = world.options.hasSmall && world.happens(0.5) ? 1 : 10
      let bundle = Bundle(
        name: BundleName(writer: writer, sequence: sequence, length: length, hash: .ofNothing),
        parts: parts,
        claim: BundleClaim(writer: writer, upTo: sequence, kept: SequenceRuns(kept)),
        filled: Array(
          world.writers[me].filled.union(filled.map { [BundleNeed($0)] } ?? [])
        ).sorted { ($0.writer, $0.sequence) < ($1.writer, $1.sequence) }, needs: needs)
      if world.happens(0.1) {
        world.late.append((world.now + Int64.random(in: 1...4, using: &world.random), bundle))
      }
      return [
        StepBox { world, me in
          world.land(bundle)
          if world.happens(0.05) {
            let at = world.now + Int64.random(in: 1...world.options.lag, using: &world.random)
            world.late.append((at, bundle))
          }
          world.writers[me].read[bundle.name] = bundle
          world.writers[me].kept = kept
          if !world.options.hasDamage { world.writers[me].filled.formUnion(bundle.filled) }
          for name in replacing { world.writers[me].announced[name] = world.now }
          return [StepBox(next)]
        }
      ]
    }
  }

  private static func send() -> [StepBox] {
    [
      StepBox { world, me in
        let list = world.list()
        let listed = world.now
        return takeIn(list, world.writers[me]) { world, me in
          let there = world.holds(list, me)
          let missing = world.writers[me].own.filter { !there.contains(.outline($0)) }
          guard !missing.isEmpty else { return [] }
          return [
            StepBox { world, me in
              let rules = SendRules(listAge: world.options.listAge)
              guard rules.mayPut(listedAt: UInt64(listed), now: UInt64(world.now)) else {
                return send()
              }
              return put(&world, me, missing, list)
            }
          ]
        }
      }
    ]
  }

  private static func put(
    _ world: inout RandomRemote, _ me: Int, _ missing: Set<Int>, _ list: Set<BundleName>
  ) -> [StepBox] {
    let there = world.holds(list, me)
    let needed = Set(missing.flatMap { world.versions[$0] ?? [] })
    let held = Set(there.filter { $0.item.map(needed.contains) == true })
    let new = world.written(needed.subtracting(held.compactMap(\.item)), with: there)
    let relied = held.union(world.bases(new).intersection(there))
    let parts = new.union(missing.map { .outline($0) })
    let finish: Step = { world, me in
      world.complete.formUnion(missing)
      world.sent += missing.count
      return []
    }
    return [
      put(parts, needs: world.needs(relied, list, me)) { world, me in
        guard !relied.isEmpty, world.options.listsAgain else { return finish(&world, me) }
        let list = world.list()
        return takeIn(list, world.writers[me]) { world, me in
          let there = world.holds(list, me)
          let lost = relied.filter { !world.covers(there, $0) }
          return lost.isEmpty ? finish(&world, me) : [put(lost, then: finish)]
        }
      }
    ]
  }

  private static func replace() -> [StepBox] {
    [
      StepBox { world, me in
        let list = world.list()
        return takeIn(list, world.writers[me]) { world, me in
          let view = world.view(list, me)
          let writer = world.writers[me]
          var own = list.filter {
            $0.writer == writer.name && writer.read[$0] != nil && !view.isAnnounced($0)
              && writer.announced[$0] == nil
          }.sorted()
          own.shuffle(using: &world.random)
          let chosen = Set(own.prefix(Int.random(in: 1...4, using: &world.random)))
          guard !chosen.isEmpty else { return [] }
          var parts = Set(chosen.flatMap { writer.read[$0]?.parts ?? [] })
          if world.happens(0.6) {
            let others = world.holds(list, me, without: chosen)
            parts = world.needed(parts, list, me).filter { part in
              if case .outline = part { true } else { !world.covers(others, part) }
            }
          }
          guard world.canWrite(parts, me) else { return [] }
          return [put(parts, replacing: chosen)]
        }
      }
    ]
  }

  static func remove() -> [StepBox] {
    [
      StepBox { world, me in
        let rules = RemovalRules(grace: world.options.grace)
        let announced = world.writers[me].announced.filter {
          !world.writers[me].removed.contains($0.key)
        }
        let passed = Set(
          announced.filter { _, time in
            rules.hasPassed(
              since: .init(made: time, written: nil), .init(now: world.now, newest: nil))
          }.keys)
        let small = Set(announced.keys.filter { world.options.hasSmall && $0.length < 5 })
        guard !passed.union(small).isEmpty else { return [] }
        let list = world.list()
        return takeIn(list, world.writers[me]) { world, me in
          let view = world.view(list, me)
          let due = passed.union(small.filter { view.isAnnounced($0) })
          guard view.unknown.isEmpty, !due.isEmpty else { return [] }
          let read = world.writers[me].read
          let victims = Set(due.flatMap { read[$0]?.parts ?? [] })
          var missing: Set<Part>
          if world.options.announcedCount {
            let there = world.holds(list, me, without: due)
            missing = victims.filter { !world.covers(there, $0) }
          } else {
            missing = Set(
              RemovalRules.uncovered(
                victims, in: view,
                holders: { part in
                  list.filter { name in
                    !due.contains(name) && read[name].map { world.covers($0.parts, part) } == true
                  }
                }))
          }
          missing = world.needed(missing, list, me)
          if world.options.hasDamage {
            let lost = due.filter { world.writers[me].memory.damaged.contains($0) }
            let parts = Set(lost.flatMap { read[$0]?.parts ?? [] })
            missing = missing.filter { !parts.contains($0) || world.canWrite([$0], me) }
          }
          guard world.canWrite(missing, me) else { return [] }
          let deletions = due.sorted().map { name in
            StepBox { world, me in
              if world.objects[name]?.gone == nil { world.objects[name]?.gone = world.now }
              world.writers[me].removed.insert(name)
              world.removed += 1
              return []
            }
          }
          return (missing.isEmpty ? [] : [put(missing)]) + deletions
        }
      }
    ]
  }

  /// Returns those of some parts that a version needs whose outline a list shows, and all outlines.
  private func needed(_ parts: Set<Part>, _ list: Set<BundleName>, _ me: Int) -> Set<Part> {
    var needed: Set<Int> = []
    for name in list {
      for part in writers[me].read[name]?.parts ?? [] {
        switch part {
        case .outline(let version): needed.formUnion(versions[version] ?? [])
        case .patch(_, let base): needed.insert(base)
        case .item: break
        }
      }
    }
    return parts.filter { $0.item.map(needed.contains) ?? true }
  }

  mutating func step(_ me: Int) {
    guard !writers[me].job.isEmpty else {
      switch Double.random(in: 0..<1, using: &random) {
      case ..<0.35:
        let version = versions.count
        var held: Set<Int> = []
        let known =
          options.hasDamage
          ? items(of: me).sorted()
          : Set(writers[me].read.values.flatMap(\.parts).compactMap(\.item)).sorted()
        if happens(0.7), let item = known.randomElement(using: &random) { held.insert(item) }
        if happens(0.6) || held.isEmpty {
          items += 1
          held.insert(items)
        }
        versions[version] = held
        writers[me].own.insert(version)
        writers[me].job = Self.send()
      case ..<0.5: writers[me].job = Self.send()
      case ..<0.65 where options.hasFilled: writers[me].job = Self.fill()
      case ..<0.65 where options.hasDamage: writers[me].job = Self.mend()
      case ..<0.75: writers[me].job = Self.replace()
      case ..<0.97: writers[me].job = Self.remove()
      default: writers[me].asleep = now + Int64.random(in: 5...60, using: &random)
      }
      return
    }
    if happens(options.crash) {
      writers[me].job = []
      return
    }
    let next = writers[me].job.removeFirst()
    writers[me].job = next.run(&self, me) + writers[me].job
  }

  /// Runs steps of random writers.
  ///
  /// - Returns: the first loss; nil if nothing was lost.
  mutating func run(steps: Int) -> String? {
    for number in 0..<steps {
      let me = Int.random(in: 0..<writers.count, using: &random)
      if writers[me].asleep > now {
        tick()
        continue
      }
      step(me)
      if happens(0.3) { tick() }
      if options.hasDamage {
        if happens(0.01) { damage() }
        continue
      }
      let there = Set(
        objects.values.filter { $0.gone == nil && !$0.isDamaged }.flatMap(\.bundle.parts))
      let items = Set(
        there.compactMap { part -> Int? in
          if case .patch(_, let base) = part, !there.contains(.item(base)) {
            nil
          } else {
            part.item
          }
        })
      for version in complete {
        if !there.contains(.outline(version)) {
          return "step \(number): version \(version) lost its outline"
        }
        if let lost = versions[version]?.first(where: { !items.contains($0) }) {
          return "step \(number): version \(version) lost \(lost)"
        }
      }
    }
    return options.hasDamage ? mended() : nil
  }
}
