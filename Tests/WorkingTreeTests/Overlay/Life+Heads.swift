import Inodes
import LLVSCore
import TestSupport
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

// Cuts, and the heads that follow them.

extension Life where Tree == ModelTree {
  init(seed: UInt64, ignoring ignored: String? = nil) {
    self.init(seed: seed, over: ModelTree()) { $0.inlineBytes }
    self.ignored = ignored
  }

  mutating func run(_ steps: Int) throws {
    for _ in 0..<steps {
      if random.chance(0.25) { try transition() } else { try act() }
      try check("after \(log.last ?? "")")
    }
    try settle()
  }

  /// A version of somebody else; nil if nothing came of it.
  mutating func foreign() -> Int? {
    let bases = store.ancestors[store.head].sorted().suffix(4)
    guard let base = bases.randomElement(using: &random) else { return nil }
    var map = store.maps[base]
    let first = marks
    for _ in 0..<Int.random(in: 1...4, using: &random) { edit(&map) }
    theirs.formUnion(map.marks.filter { $0 > first })
    dropped.formUnion(store.maps[base].marks.subtracting(map.marks))
    return map == store.maps[base] ? nil : store.add(map, on: [base])
  }

  mutating func edit(_ map: inout ModelMap) {
    let files = map.keys.filter { !$0.hasSuffix("/") }.sorted()
    let directories = map.directories.sorted()
    let above = ([""] + directories).randomElement(using: &random) ?? ""
    let path = ModelPath.join(
      above, ["a", "b", "c", "d", "e"].randomElement(using: &random) ?? "a")
    switch random.unit() {
    case ..<0.4:
      let displaces = random.chance(0.4)
      if map[path] == nil, displaces || !directories.contains(path) {
        map[path] = ModelValue(marks: [mark()])
      }
    case ..<0.7:
      guard let file = files.randomElement(using: &random) else { return }
      if random.chance(0.6) {
        map[file]?.marks.insert(mark())
      } else {
        map[file]?.marks = [mark()]
      }
    case ..<0.85:
      guard let file = files.randomElement(using: &random) else { return }
      map[file] = nil
    default:
      guard let directory = directories.randomElement(using: &random) else { return }
      if random.chance(0.5) {
        for key in map.keys where key.hasPrefix(directory + "/") { map[key] = nil }
      } else {
        map[directory + "/"] = nil
      }
    }
  }

  enum Next {
    case nothing
    case merge(Int)
    case goTo(Int)
  }

  mutating func next() -> Next {
    switch random.unit() {
    case ..<0.5: return foreign().map { .merge($0) } ?? .nothing
    case ..<0.6:
      return store.ancestors[store.head].sorted().randomElement(using: &random).map { .goTo($0) }
        ?? .nothing
    default: return .nothing
    }
  }

  mutating func between() throws {
    for _ in 0..<([0, 0, 1, 2, 3].randomElement(using: &random) ?? 0) { try act() }
  }

  /// A cut, and what follows it: a merge, a switch or nothing.
  mutating func transition(alone: Bool = false) throws {
    let next = alone ? .nothing : next()
    log.append("cut, \(next)")
    let owed = owed()
    let stamp = overlay.beginCut()
    let frozen = overlay
    if !alone { try between() }
    let found = ModelRecord(frozen, over: recorded, ignoring: ignored)
    aside.formUnion(found.aside)
    // Lives of earlier tests have none, so that their seeds go on meaning the same.
    if ignored != nil, !alone, random.chance(0.1) {
      log.append("abandoned")
      try overlay.abandonCut(over: recorded, aside: found.aside)
      return (image, journal) = (overlay, [])
    }
    let (record, groups) = found.grouped(store, table)
    let head = store.head
    var made: [ModelGroup: Int] = [:]
    for group in groups.keys.sorted() {
      let map = store.maps[group.predecessor]
      let new = record.applied(groups[group] ?? [], to: map)
      if new != map { made[group] = store.add(new, on: [group.predecessor]) }
    }
    let ownGroup = ModelGroup(predecessor: head, turn: 0)
    let own = made[ownGroup]
    var final = own ?? head
    for (group, version) in made.sorted(by: { $0.key < $1.key }) where group != ownGroup {
      if store.ancestors[head].contains(group.predecessor) { final = store.merge(final, version) }
    }
    switch next {
    case .nothing: break
    case .merge(let other): final = store.merge(final, other)
    case .goTo(let other):
      // What is in the version that is left need not be in the head.
      theirs = []
      final = other
    }
    if !alone { try between() }
    try kill("before the store commits", over: recorded)
    store.head = final
    let lost = owed.subtracting(store.marks)
    guard lost.isEmpty else { throw LifeFault("saved and in no version: \(lost)") }
    try publish(record, groups, made, stamp: stamp, own: own ?? head, ownGroup)
  }

  /// What is saved and must be in a version after a cut.
  func owed() -> Set<Int> {
    var owed: Set<Int> = []
    for node in overlay.nodes.values {
      guard let saved = node.file?.saved else { continue }
      switch node.orphan {
      case .gone?: continue
      case .detached(let place?, _, _)?:
        guard overlay.path(of: place.directory) != nil else { continue }
      case .detached(nil, let path, _)?:
        guard path != nil else { continue }
      case nil:
        let names = node.names.filter { overlay.path(of: $0.directory) != nil }
        if names.allSatisfy(isIgnored) { continue }
      }
      owed.formUnion(marks(saved.content))
    }
    return owed
  }

  mutating func publish(
    _ record: ModelRecord, _ groups: [ModelGroup: [ModelItem]], _ made: [ModelGroup: Int],
    stamp: ChangeStamp, own: Int, _ ownGroup: ModelGroup
  ) throws {
    var taken = TakenCut(at: stamp)
    taken.aside = record.aside
    for place in record.nothing {
      taken.names[place] = TakenCut.Name(
        .head, isThere: record.isThere(place), on: record.overlay.changes[place]?.on)
    }
    var epochs: [ModelGroup: Epoch] = [:]
    var last = overlay.epoch
    for group in made.keys.sorted() where group != ownGroup {
      last = last.next
      epochs[group] = last
    }
    for (group, items) in groups {
      let destination: TakenCut.Destination =
        group == ownGroup ? .head : epochs[group].map { .beside($0) } ?? .nowhere
      for item in items {
        if let place = item.place {
          taken.names[place] = TakenCut.Name(
            destination, isThere: record.isThere(place), on: item.epoch)
        }
        guard item.kind == .put, let number = item.number,
          let node = record.overlay.nodes[number]
        else { continue }
        taken.nodes[number] = TakenCut.Node(
          destination, save: node.file?.saved, on: node.on, attributes: node.attributes)
      }
    }
    for place in record.left { taken.names[place] = nil }
    table[overlay.epoch] = own
    for (group, epoch) in epochs { table[epoch] = made[group] }
    let isNowhere = groups.keys.contains { $0 != ownGroup && made[$0] == nil }
    let isForeign = store.head != own || !epochs.isEmpty || isNowhere
    if isForeign { table[last.next] = store.head }
    let map = store.maps[store.head]
    var counter = nextNumber
    let tree = ModelAdvance(
      record, groups.sorted { $0.key < $1.key }.flatMap(\.value), current: overlay, to: map
    ) {
      counter += 1
      return InodeNumber(counter)
    }.tree
    nextNumber = counter
    guard tree.tree == map.tree else { throw LifeFault("the oracle's tree is not the map's") }
    let epoch = isForeign ? last.next : nil
    let copy = ModelTree(copying: tree)
    var killed = overlay
    let changed = isForeign ? store.changedPaths(from: own, to: store.head) : ChangedPaths()
    let seen = readers(taken)
    try follow(tree, taken, epoch, changed, record.overlay)
    leaveBehind(seen)
    var head = NewHead(
      base: copy, taken: taken, epoch: epoch, isHeld: { _ in false },
      renumber: { [last = nextNumber + 100_000] in
        copy.renumber($0, to: InodeNumber(last + $0.rawValue))
      })
    (head.changed, head.frozen) = (changed, record.overlay)
    try killed.follow(head)
    try compare(killed, over: copy, "killed before the new head is shown")
    for (place, change) in overlay.changes {
      guard let other = killed.changes[place], other.on != change.on else { continue }
      throw LifeFault(
        "killed before the new head is shown: \(place.name.text) is on \(other.on as Any), not \(change.on as Any)"
      )
    }
    for (number, node) in overlay.nodes where node.isPending && node.orphan == nil {
      guard let other = killed.nodes[number],
        other.on != node.on || other.file?.saved?.on != node.file?.saved?.on
      else { continue }
      throw LifeFault("killed before the new head is shown: \(number.rawValue) has other epochs")
    }
    let known = overlay.epochsInUse.filter { table[$0] == nil }
    guard known.isEmpty else { throw LifeFault("epochs without a version: \(known)") }
  }

  /// A path that the reader has looked at, and what it is left behind on if the head changes that.
  private struct Reader {
    var path: String
    var shown: Set<Int>??
    var epoch: Epoch
  }

  private func readers(_ taken: TakenCut) -> [Reader] {
    let shown = shown()
    return lastSeen.compactMap { path, mark in
      guard mark == nil else { return nil }
      return Reader(
        path: path, shown: shown[path],
        epoch: taken.names[place(path)]?.destinationEpoch ?? overlay.epoch)
    }
  }

  /// The reader is behind where the head shows something else, and up to date where the head has again what it saw.
  private mutating func leaveBehind(_ readers: [Reader]) {
    let (shown, head) = (shown(), store.maps[store.head].tree)
    for (path, mark) in lastSeen {
      guard let mark, let version = table[mark] else { continue }
      if store.maps[version].tree[path]?.marks == head[path]?.marks { lastSeen[path] = .some(nil) }
    }
    for reader in readers where shown[reader.path] != reader.shown {
      lastSeen[reader.path] = reader.epoch
    }
  }

  mutating func follow(
    _ tree: ModelTree, _ taken: TakenCut?, _ epoch: Epoch?, _ changed: ChangedPaths,
    _ frozen: Overlay
  ) throws {
    var counter = nextNumber
    let handles = handles
    var head = NewHead(
      base: tree, taken: taken, epoch: epoch, isHeld: { handles.contains($0) },
      renumber: {
        counter += 1
        tree.renumber($0, to: InodeNumber(counter))
      })
    (head.changed, head.frozen) = (changed, frozen)
    let whole = try wholeFollow(head)
    let numbers = tree.numbers(differingFrom: recorded)
    head.rows = ChangedRows(
      numbers: numbers,
      names: Set(numbers.flatMap { tree.places($0) + recorded.places($0) }))
    try overlay.follow(head)
    nextNumber = counter
    guard overlay == whole.overlay, tree.numbers(differingFrom: whole.tree).isEmpty else {
      var faults: [String] = []
      overlay.changes.forEachDifference(from: whole.overlay.changes) {
        faults.append("\(($0, $1, $2))")
      }
      overlay.nodes.forEachDifference(from: whole.overlay.nodes) {
        faults.append("\(($0, $1, $2))")
      }
      throw LifeFault("a look at what a head may concern results in \(faults)")
    }
    recorded = tree
    (image, journal) = (overlay, [])
    guard tree.tree == store.maps[store.head].tree else {
      throw LifeFault("the recorded tree is not the head's")
    }
  }

  /// True for a name that stays pending at the end: it is ignored, or a directory that is held for ignored names.
  private func isLeft(_ place: InodeName) -> Bool {
    isIgnored(place) || ignored != nil && overlay.changes[place]?.isHeld ?? false
  }

  /// What a look at all that is pending results in.
  private func wholeFollow(_ head: NewHead) throws -> (overlay: Overlay, tree: ModelTree) {
    guard let tree = head.base as? ModelTree else { throw LifeFault("the base is no model") }
    let copy = ModelTree(copying: tree)
    var (whole, head, counter) = (overlay, head, nextNumber)
    head.base = copy
    head.renumber = {
      counter += 1
      copy.renumber($0, to: InodeNumber(counter))
    }
    try whole.follow(head)
    return (whole, copy)
  }

  /// What a mount finds after a kill: all that was pending, and nobody who holds anything.
  mutating func kill(_ when: String, over base: ModelTree) throws {
    kills += 1
    let copy = ModelTree(copying: base)
    var killed = image
    for change in journal { killed.apply(change) }
    try killed.follow(
      NewHead(
        base: copy, isHeld: { _ in false },
        renumber: { copy.renumber($0, to: InodeNumber(1_000_000 + $0.rawValue)) }))
    try compare(killed, over: copy, "killed \(when)")
  }

  func compare(_ killed: Overlay, over base: ModelTree, _ when: String) throws {
    let (one, other) = (shown(killed, over: base), shown(overlay, over: recorded))
    let differing = Set(one.keys).union(other.keys).filter { one[$0] != other[$0] }
    guard differing.isEmpty else {
      throw LifeFault("\(when): \(differing.sorted()) differ")
    }
    do {
      try killed.check(over: base)
    } catch {
      throw LifeFault("\(when): \(error)")
    }
  }

  /// All is saved and closed: after three cuts nothing is pending, and the tree is the head's.
  mutating func settle() throws {
    for number in overlay.nodes.keys.sorted() { apply(.save(number)) }
    while !handles.isEmpty { try close(handles.count - 1) }
    for _ in 0..<3 { try transition(alone: true) }
    let head = store.maps[store.head].tree.mapValues { $0.isDirectory ? nil : $0.marks }
    let shown = shown(overlay, over: recorded)
    let differing = Set(head.keys).union(shown.keys).filter {
      head[$0] != shown[$0] && !isLeft(place($0))
    }
    guard differing.isEmpty else { throw LifeFault("at the end \(differing.sorted()) differ") }
    // An ignored name may have been given to what others wrote.
    let lost =
      ignored != nil
      ? [] : theirs.subtracting(dropped).subtracting(store.maps[store.head].marks)
    guard lost.isEmpty else { throw LifeFault("at the end \(lost.sorted()) of others are lost") }
    let isPending = overlay.nodes.values.contains { node in
      node.isPending && !node.names.contains(where: isIgnored)
    }
    guard overlay.changes.keys.allSatisfy(isLeft), !isPending else {
      throw LifeFault("at the end something is pending: \(overlay.changes.keys)")
    }
  }
}

extension ModelStore {
  /// The paths at which two versions show something else.
  fileprivate func changedPaths(from old: Int, to new: Int) -> ChangedPaths {
    let (before, after) = (maps[old].tree, maps[new].tree)
    var paths = ChangedPaths()
    for path in Set(before.keys).union(after.keys) where before[path] != after[path] {
      paths.insert(TreePath(Array(path.utf8)))
    }
    return paths
  }
}
