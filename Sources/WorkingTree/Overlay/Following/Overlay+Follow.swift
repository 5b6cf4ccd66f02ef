package import Inodes
package import LLVSCore

extension Overlay {
  /// Begins a cut and returns its instant. Until the next head is followed, nothing that it may take is forgotten.
  package mutating func beginCut() -> ChangeStamp {
    isCutting = true
    if inCut.isEmpty {
      inCut = sinceCut
    } else {
      // The previous cut was neither followed nor abandoned.
      for place in sinceCut.places { inCut.places.append(place) }
      for number in sinceCut.inodes { inCut.inodes.insert(number) }
    }
    sinceCut = PendingList(from: stamp.next)
    defer { stamp = stamp.next }
    return stamp
  }

  /// Ends an abandoned cut: all stays pending on its version. `aside` is as ``TakenCut/aside``.
  /// - Throws: ``StoreError`` if the recorded tree cannot be read; then the overlay is unchanged.
  package mutating func abandonCut(
    over base: any Base, aside: Set<InodeName> = []
  ) throws(StoreError) {
    var kept = self
    kept.endCut(aside: aside)
    // An earlier cut's end compared older changes with the recorded tree.
    let places = Set(inCut.places).union(sinceCut.places)
    try kept.dropRecorded(over: base, at: Array(places))
    self = kept
  }

  /// Applies what is pending to the tree of a new head.
  ///
  /// Drops unchanged changes that the cut took. A file with pending bytes or attributes keeps names that the head
  /// removes. All else shows the head: a held inode without names is an orphan, a removed directory stays for
  /// pending changes.
  /// - Throws: ``StoreError`` if the recorded tree cannot be read or changed; then the overlay is unchanged.
  /// - Complexity: O(*k* log *n*) for *k* changes since the last cut and changed rows over *n* names, and a step
  ///   for each directory with pending names. Without ``NewHead/rows``, *k* is the number of pending changes.
  package mutating func follow(_ head: NewHead) throws(StoreError) {
    let base = FollowedBase(head.base, head.rows, before: self)
    var following = Following(
      overlay: self, head: head, base, try FollowingScope(of: head, base, on: self))
    try following.run()
    self = following.overlay
  }

  /// Drops orphans without pending changes, at a mount, when no handle holds them.
  package mutating func dropOrphans() {
    for number in orphans.sorted() {
      settleOrphan(number)
      if nodes[number]?.orphan == .gone || !(nodes[number]?.isPending ?? false) { forget(number) }
    }
  }
}

/// The work of an overlay that follows a head.
struct Following {
  var overlay: Overlay
  let head: NewHead
  let base: FollowedBase
  let before: Epoch
  let original: Overlay
  /// nil if the head may concern anything, as a step may find: earlier steps changed nothing outside the scope.
  var scope: FollowingScope?
  /// The epochs of writes after the taken ones, where not the one before the head.
  private var epochAfter: [InodeNumber: Epoch] = [:]
  /// Pending names whose base the head changed.
  var behind: Set<InodeName> = []
  /// The old places of pending names in directories that were joined with the head's.
  var joined: [InodeName: InodeName] = [:]

  init(overlay: Overlay, head: NewHead, _ base: FollowedBase, _ scope: FollowingScope?) {
    self.overlay = overlay
    self.head = head
    self.base = base
    self.scope = scope
    original = overlay
    before = overlay.epoch
  }

  /// The inodes that the head may concern, sorted; some are no nodes.
  var numbers: [InodeNumber] { scope?.numbers.sorted() ?? overlay.nodes.keys.sorted() }
  /// The names that the head may concern; some have no change.
  var places: [InodeName] { scope.map { Array($0.places) } ?? Array(overlay.changes.keys) }

  mutating func run() throws(StoreError) {
    try findBehind()
    if let taken = head.taken {
      dropTakenNames(taken)
      dropAbsences(taken)
      for number in taken.nodes.keys.sorted() {
        if let node = taken.nodes[number] { try drop(node, number) }
      }
    }
    overlay.endCut(aside: head.taken?.aside ?? [])
    if let epoch = head.epoch { overlay.epoch = epoch }
    overlay.stamp = overlay.stamp.next
    pinNames()
    try setScratchAside()
    try separateOrphans()
    try keepDisplaced()
    for number in numbers { try followFile(number) }
    if try separateDirectories() {
      scope = nil
      for number in numbers { try followFile(number) }
    }
    try followDirectories()
    try breakCycles()
    try settleScratch()
    try overlay.dropRecorded(over: base, at: places)
    try dropUnreachable()
    try settleNames()
    try keepWhatIsNeeded()
    try followPatterns()
    tidyOrphans()
    try pinNodes()
    try keepExtended()
    for number in numbers where overlay.ignoredDirectories.contains(number) {
      if try base.inode(number) != nil { overlay.listNames(in: number, besides: original) }
    }
    if head.taken == nil { overlay.listAll() }
  }

  /// Gives a recorded inode another number; the head then changes its rows too.
  mutating func renumber(_ number: InodeNumber) throws(StoreError) {
    let names = try base.names(of: number)
    let isDirectory = try base.inode(number)?.record.isDirectory ?? false
    for name in names { scope?.insert(number, at: name) }
    try head.renumber(number)
    base.forget(number, at: names, isDirectory: isDirectory)
  }

  private mutating func dropTakenNames(_ taken: TakenCut) {
    for (place, name) in taken.names {
      guard var change = overlay.changes[place] else { continue }
      if change.stamp <= taken.stamp {
        overlay.setChange(nil, at: place)
      } else {
        change.on = name.epoch(after: change.on)
        change.other = change.other.map { NameChange.Other(on: name.epoch(after: $0.on)) }
        overlay.setChange(change, at: place)
      }
    }
  }

  /// Drops absences over nothing: an entry of the head there was not removed here.
  private mutating func dropAbsences(_ taken: TakenCut) {
    for place in places {
      guard let change = overlay.changes[place], change.inode == nil else { continue }
      let wasThere = taken.names[place]?.isThere ?? change.hidesRecorded
      if !wasThere { overlay.setChange(nil, at: place) }
    }
  }

  private mutating func drop(_ taken: TakenCut.Node, _ number: InodeNumber) throws(StoreError) {
    if taken.destination == .nowhere, taken.save != nil {
      // The name shows the head's bytes, which programs did not see under this number.
      if try base.inode(number) != nil { try renumber(number) }
    } else if isSettled(number, taken) {
      return overlay.forget(number)
    }
    guard var node = overlay.nodes[number] else { return }
    let isUnchanged = node.stamp <= head.taken?.stamp ?? .start
    // A save that did not count stays, though the taken one is older.
    if let saved = node.file?.saved, let save = taken.save, saved.isSame(as: save) {
      node.file?.saved = nil
    }
    // The counted save is the taken one or older.
    if taken.save != nil { node.file?.counted = nil }
    var attributes = node.attributes
    if !node.hasSetTime { attributes.mtime = taken.attributes.mtime }
    // A program may have removed long ones since.
    let isSame = attributes == taken.attributes && node.lacksExtended == taken.lacksExtended
    if isUnchanged || isSame {
      node.hasNewAttributes = false
      node.hasSetTime = false
    }
    node.file?.isNeverSaved = false
    if let save = taken.save { node.file?.taken = save.content }
    if let saved = node.file?.saved { node.file?.saved?.on = taken.epoch(after: saved.on) }
    node.on = node.isPending ? taken.epoch(after: node.on) : nil
    epochAfter[number] = taken.destination.epoch(of: taken.save.map(\.on) ?? taken.on)
    if case .detached(let place, let path, let epoch)? = node.orphan {
      node.orphan = .detached(
        place: place, path: path, epoch: taken.destination.epoch(of: epoch) ?? before)
    }
    overlay.nodes[number] = node
  }

  /// True for a taken file without other pending changes that the recorded tree has where programs see it.
  private func isSettled(_ number: InodeNumber, _ taken: TakenCut.Node) -> Bool {
    guard head.settled.contains(number), !head.isOpen(number),
      overlay.nodes[number]?.isAll(taken, at: head.taken?.stamp ?? .start) ?? false,
      let name = overlay.nodes[number]?.names.first
    else { return false }
    return overlay.changes[name] == nil
  }

  /// Copies long extended attributes of removed pending files from the tree before, which alone has them.
  private mutating func keepExtended() throws(StoreError) {
    for number in numbers {
      guard let node = overlay.nodes[number], node.lacksExtended,
        try base.inode(number) == nil, let extended = try head.extendedBefore(number)
      else { continue }
      overlay.nodes[number]?.attributes = node.attributes.completed(with: extended)
      overlay.nodes[number]?.lacksExtended = false
    }
  }

  /// Renumbers recorded inodes that have the number of a file without a name.
  private mutating func separateOrphans() throws(StoreError) {
    for number in overlay.orphans.sorted() where try base.inode(number) != nil {
      try renumber(number)
    }
  }

  /// Renumbers the head's directories that have a pending name elsewhere; returns true if there was one.
  private mutating func separateDirectories() throws(StoreError) -> Bool {
    var isAny = false
    for number in numbers {
      guard let node = overlay.nodes[number], node.isDirectory, let place = node.place,
        overlay.changes[place]?.inode == number
      else { continue }
      for name in try base.names(of: number) where name != place {
        guard try overlay.inode(at: name, over: base) == number else { continue }
        try renumber(number)
        isAny = true
        break
      }
    }
    return isAny
  }

  mutating func followFile(_ number: InodeNumber) throws(StoreError) {
    guard var node = overlay.nodes[number], !node.isDirectory, node.orphan == nil else { return }
    var kept: [InodeName] = []
    var lost: [InodeName] = []
    for name in node.names {
      if try overlay.inode(at: name, over: base) == number {
        kept.append(name)
      } else if node.isPending, overlay.changes[name] == nil {
        try keep(number, node, at: name)
        kept.append(name)
      } else {
        lost.append(name)
      }
    }
    kept += try namesThatCome(to: number, node, besides: kept)
    node.names = kept
    overlay.nodes[number] = node
    guard !kept.isEmpty else { return try loseAll(number, lost) }
    if !node.isPending, let inode = try base.inode(number) {
      overlay.nodes[number]?.show(inode.record)
    }
  }

  /// Keeps a name for a file though the head has something else there.
  private mutating func keep(
    _ number: InodeNumber, _ node: PendingNode, at name: InodeName
  ) throws(StoreError) {
    let taken = head.taken?.names[name]
    let on = taken.map { $0.destination.epoch(of: $0.on) } ?? node.on
    let isBehind = behind.contains(name) || !node.isPending && head.epoch != nil
    var change = NameChange(
      inode: number, on: on ?? (isBehind ? epochBefore(name) : nil), stamp: overlay.stamp,
      hidesRecorded: false)
    change.hide(try base.child(of: name.directory, named: name.name)?.inode)
    overlay.setChange(change, at: name)
  }

  /// The names that the head gives to a file; none to one with pending changes, whose number the head's file loses.
  private mutating func namesThatCome(
    to number: InodeNumber, _ node: PendingNode, besides kept: [InodeName]
  ) throws(StoreError) -> [InodeName] {
    let recorded = try base.names(of: number)
    guard !recorded.isEmpty else { return [] }
    let known = Set(kept)
    var come: [InodeName] = []
    for name in recorded where !known.contains(name) {
      if try overlay.inode(at: name, over: base) == number { come.append(name) }
    }
    guard !come.isEmpty, !kept.isEmpty || node.isPending else { return come }
    // A link id says that the names are one file's; another machine may have linked more.
    if !node.isPending, try base.inode(number)?.record.attributes.linkID != nil { return come }
    for name in kept where overlay.changes[name] == nil { try keep(number, node, at: name) }
    try renumber(number)
    return []
  }

  private mutating func loseAll(_ number: InodeNumber, _ lost: [InodeName]) throws(StoreError) {
    guard head.isHeld(number) else { return overlay.forget(number) }
    if try base.inode(number) != nil { try renumber(number) }
    let name = lost.min { ($0.directory, $0.name) < ($1.directory, $1.name) }
    let isReplaced = try name.map { (name) throws(StoreError) in
      try overlay.inode(at: name, over: base) != nil
    }
    overlay.makeOrphan(
      number,
      .detached(
        place: isReplaced == true ? name : nil,
        path: name.flatMap { original.path(of: $0.directory)?.appending($0.name) },
        epoch: epochAfter[number] ?? before))
  }
}

extension PendingNode {
  /// True for a file of one name whose pending changes were all taken at an instant.
  fileprivate func isAll(_ taken: TakenCut.Node, at instant: ChangeStamp) -> Bool {
    guard let file, stamp <= instant, orphan == nil, names.count == 1, !file.isUnsaved
    else { return false }
    guard let saved = file.saved else { return true }
    return taken.save.map { saved.isSame(as: $0) } ?? false
  }
}
