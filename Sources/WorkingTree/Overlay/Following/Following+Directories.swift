import Inodes
import LLVSCore

extension Following {
  /// nil for a directory without a name.
  func place(of directory: InodeNumber) throws(StoreError) -> InodeName? {
    if let node = overlay.nodes[directory] { return node.place }
    return try base.names(of: directory).first
  }

  /// The directories with something pending at any depth.
  private func busyDirectories() throws(StoreError) -> Set<InodeNumber> {
    var busy: Set<InodeNumber> = []
    func mark(_ start: InodeNumber) throws(StoreError) {
      var directory = start
      while directory != .root, busy.insert(directory).inserted {
        guard let place = try place(of: directory) else { return }
        directory = place.directory
      }
    }
    // A held directory does not hold the one above; its content marks both.
    for (place, change) in overlay.changes where change.inode != nil && !change.isHeld {
      try mark(place.directory)
    }
    for node in overlay.nodes.values where !node.isDirectory && node.isPending {
      for name in node.names { try mark(name.directory) }
    }
    return busy
  }

  private func depth(of directory: InodeNumber) throws(StoreError) -> Int {
    var (number, depth) = (directory, 0)
    while number != .root, depth <= 4096, let place = try place(of: number) {
      number = place.directory
      depth += 1
    }
    return depth
  }

  mutating func followDirectories() throws(StoreError) {
    // A directory may stay for pending changes outside the scope.
    for number in scope?.numbers ?? [] where try losesPlace(number) {
      scope = nil
      break
    }
    var busy = scope == nil ? try busyDirectories() : []
    var directories: [(depth: Int, number: InodeNumber)] = []
    for number in numbers where overlay.nodes.kind(of: number) == .directory {
      directories.append((try depth(of: number), number))
    }
    for (_, number) in directories.sorted(by: { ($1.depth, $0.number) < ($0.depth, $1.number) }) {
      try followDirectory(number, &busy)
    }
    // Without a cut, as at a mount, they were not compared.
    guard head.taken != nil else { return }
    for place in places {
      guard let change = overlay.changes[place], change.isHeld, let number = change.inode,
        !busy.contains(number)
      else { continue }
      overlay.setChange(nil, at: place)
      overlay.nodes[number]?.names = []
    }
  }

  /// True for a directory whose name shows something else without a pending change.
  private func losesPlace(_ number: InodeNumber) throws(StoreError) -> Bool {
    guard overlay.nodes.kind(of: number) == .directory, let place = overlay.nodes.place(of: number),
      overlay.changes[place] == nil
    else { return false }
    return try overlay.inode(at: place, over: base) != number
  }

  private mutating func followDirectory(
    _ number: InodeNumber, _ busy: inout Set<InodeNumber>
  ) throws(StoreError) {
    guard let place = overlay.nodes[number]?.place else {
      // Removed here, but the head has it.
      for name in try base.names(of: number) {
        guard try overlay.inode(at: name, over: base) == number else { continue }
        overlay.nodes[number]?.names = [name]
      }
      return
    }
    if try isHeldInVain(number, at: place) {
      overlay.setChange(nil, at: place)
    } else if try overlay.inode(at: place, over: base) == number {
      return
    }
    if let name = try base.names(of: number).first,
      try overlay.inode(at: name, over: base) == number
    {
      overlay.nodes[number]?.names = [name]
      return
    }
    overlay.nodes[number]?.names = []
    guard overlay.changes[place] == nil, busy.contains(number) else { return }
    let there = try base.child(of: place.directory, named: place.name)
    if let there, there.inode.record.isDirectory {
      try join(number, into: there.inode.number, at: place, &busy)
    } else {
      var change = NameChange(inode: number, stamp: overlay.stamp, hidesRecorded: there != nil)
      change.isDirectory = true
      change.isHeld = true
      overlay.setChange(change, at: place)
      overlay.nodes[number]?.hold(at: place)
    }
  }

  /// True for a directory held at a name where the head has a directory again.
  private func isHeldInVain(_ number: InodeNumber, at place: InodeName) throws(StoreError) -> Bool {
    guard let change = overlay.changes[place], change.isHeld, change.inode == number
    else { return false }
    return try base.child(of: place.directory, named: place.name)?.inode.record.isDirectory ?? false
  }

  /// Moves what is pending in a directory into the head's directory of the same name.
  mutating func join(
    _ number: InodeNumber, into other: InodeNumber, at place: InodeName,
    _ busy: inout Set<InodeNumber>
  ) throws(StoreError) {
    busy.insert(other)
    var held: [(number: InodeNumber, into: InodeNumber, place: InodeName)] = []
    for name in overlay.changedNames(of: number) {
      let old = InodeName(directory: number, name: name)
      let new = InodeName(directory: other, name: name)
      guard var change = overlay.changes[old] else { continue }
      overlay.setChange(nil, at: old)
      let there = try base.child(of: other, named: name)?.inode
      if change.isHeld, let inner = change.inode, let there, there.record.isDirectory {
        // The head has a directory of this name in the joined directory.
        overlay.nodes[inner]?.names = []
        held.append((inner, there.number, new))
        continue
      }
      change.hide(there)
      if overlay.changes[new] == nil, change.inode != nil || change.hidesRecorded {
        overlay.setChange(change, at: new)
        joined[new] = joined[old] ?? old
      }
    }
    for (inode, node) in overlay.nodes where node.names.contains(where: { $0.directory == number })
    {
      overlay.nodes[inode]?.names = node.names.map {
        $0.directory == number ? InodeName(directory: other, name: $0.name) : $0
      }
    }
    try reach(other)
    overlay.nodes[other]?.names = [place]
    for one in held { try join(one.number, into: one.into, at: one.place, &busy) }
  }

  /// Checks all names again, after directories got their final places.
  mutating func settleNames() throws(StoreError) {
    for number in numbers {
      guard let node = overlay.nodes[number] else { continue }
      if !node.isDirectory, node.orphan == nil {
        try followFile(number)
        continue
      }
      var names: [InodeName] = []
      for name in node.names + (try base.names(of: number)) where !names.contains(name) {
        if try overlay.inode(at: name, over: base) == number { names.append(name) }
      }
      if node.isDirectory {
        overlay.nodes[number]?.names = Array(names.prefix(1))
      } else if !names.isEmpty {
        try renumber(number)
      }
    }
  }

  private mutating func reach(_ directory: InodeNumber) throws(StoreError) {
    var number = directory
    while number != .root {
      if !overlay.nodes.contains(number) {
        guard let node = try overlay.node(of: number, over: base) else { return }
        overlay.nodes[number] = node
      }
      guard let place = overlay.nodes[number]?.place else { return }
      number = place.directory
    }
  }

  /// Drops changes in directories that neither programs nor the head have.
  mutating func dropUnreachable() throws(StoreError) {
    for place in places where place.directory != .root && overlay.changes[place] != nil {
      if try isReachable(place.directory) { continue }
      if try base.inode(place.directory) == nil { overlay.setChange(nil, at: place) }
    }
  }

  private func isReachable(_ directory: InodeNumber) throws(StoreError) -> Bool {
    var (number, depth) = (directory, 0)
    while number != .root {
      guard depth <= 4096, let place = try place(of: number),
        try overlay.inode(at: place, over: base) == number
      else { return false }
      number = place.directory
      depth += 1
    }
    return true
  }

  /// Forgets nodes without pending changes, and makes the directories above changes and pending nodes nodes.
  mutating func keepWhatIsNeeded() throws(StoreError) {
    var needed: Set<InodeNumber> = []
    var chained: Set<InodeNumber> = []
    // A file may have 65,000 names, so that its names are looked at once and not for each of them.
    var named: Set<InodeNumber> = []
    var hidden: Set<InodeNumber> = []
    func chain(_ start: InodeNumber) throws(StoreError) {
      var directory = start
      while directory != .root, chained.insert(directory).inserted {
        needed.insert(directory)
        guard let place = try place(of: directory) else { return }
        directory = place.directory
      }
    }
    for directory in overlay.changes.directories.keys { try chain(directory) }
    for place in places {
      guard let change = overlay.changes[place] else { continue }
      if let number = change.inode { needed.insert(number) }
      try chain(place.directory)
      // A file keeps the directories above its other names too, and the next head needs it in its scope for them.
      if let number = change.inode, let names = overlay.nodes.names(of: number),
        named.insert(number).inserted
      {
        for name in names { try chain(name.directory) }
        if names.count > 1 { overlay.sinceCut.inodes.insert(number) }
      }
      guard change.hidesRecorded, !change.hidesDirectory,
        let file = try base.child(of: place.directory, named: place.name)?.inode, file.links > 1,
        hidden.insert(file.number).inserted
      else { continue }
      let names = try namesOfNode(file.number)
      guard !names.isEmpty else { continue }
      needed.insert(file.number)
      for name in names { try chain(name.directory) }
    }
    if !overlay.changedNames(of: .root).isEmpty, overlay.nodes.contains(.root) {
      needed.insert(.root)
    }
    for number in numbers {
      guard let node = overlay.nodes[number], try isWanted(node, number) else { continue }
      needed.insert(number)
      // A file without pending changes stays a node until its last handle is closed.
      if !node.isListable { overlay.sinceCut.inodes.insert(number) }
      for name in node.names { try chain(name.directory) }
    }
    let known = numbers
    for number in known where !needed.contains(number) { overlay.forget(number) }
    for number in needed.sorted() where !overlay.nodes.contains(number) { try reach(number) }
    for number in scope == nil ? numbers : known where overlay.nodes.contains(number) {
      let recorded = try base.names(of: number)
      overlay.nodes[number]?.recordedNames = recorded
      if let node = overlay.nodes[number], node.isDirectory {
        try refresh(number, node)
      }
    }
  }

  /// Returns the visible names of a recorded file with a hidden name, and makes it a node if there are any, because
  /// the node knows which names are visible.
  private mutating func namesOfNode(_ file: InodeNumber) throws(StoreError) -> [InodeName] {
    if let names = overlay.nodes.names(of: file) { return names }
    guard let node = try overlay.node(of: file, over: base), !node.names.isEmpty else { return [] }
    overlay.nodes[file] = node
    return node.names
  }

  private func isWanted(_ node: PendingNode, _ number: InodeNumber) throws(StoreError) -> Bool {
    // The recorded tree lacks an orphan; another step decides about it.
    if node.orphan != nil { return true }
    // A file that only the kernel knows is found in the recorded tree.
    guard node.isDirectory else { return node.isPending || head.isOpen(number) }
    guard number == .root || !node.names.isEmpty else { return false }
    return node.isPending
  }

  /// Shows the recorded attributes and times of a directory, but for pending ones.
  private mutating func refresh(_ number: InodeNumber, _ node: PendingNode) throws(StoreError) {
    guard let record = try base.inode(number)?.record else { return }
    let times = (original.nodes[number] ?? node).times(over: record)
    if !node.hasNewAttributes {
      overlay.nodes[number]?.attributes = record.attributes
      overlay.nodes[number]?.lacksExtended = record.lacksExtended
    }
    overlay.nodes[number]?.attributes.mtime = times.modified
    overlay.nodes[number]?.changed = times.changed
  }

  mutating func tidyOrphans() {
    for number in overlay.orphans.sorted() {
      guard let node = overlay.nodes[number] else { continue }
      overlay.settleOrphan(number)
      let isWanted = node.isPending && overlay.nodes[number]?.orphan != .gone
      if !isWanted, !head.isHeld(number) { overlay.forget(number) }
    }
  }
}

extension Overlay {
  /// Reduces an orphan to its path if its directory is gone; without a path it is gone too.
  mutating func settleOrphan(_ number: InodeNumber) {
    if case .detached(let place?, let path, let epoch)? = nodes[number]?.orphan,
      place.directory != .root, self.path(of: place.directory) == nil
    {
      nodes[number]?.orphan = .detached(place: nil, path: path, epoch: epoch)
    }
    if case .detached(nil, nil, _)? = nodes[number]?.orphan { nodes[number]?.orphan = .gone }
  }

  /// Drops changes equal to the recorded tree, and notes what the others hide.
  mutating func dropRecorded(over base: any Base, at places: [InodeName]) throws(StoreError) {
    for place in places {
      guard let change = changes[place] else { continue }
      let recorded = try base.child(of: place.directory, named: place.name)?.inode
      if recorded?.number == change.inode {
        setChange(nil, at: place)
      } else {
        // A change over a recorded name is not ignored.
        if recorded != nil, !change.hidesRecorded { sinceCut.note(place, of: changes) }
        setHidden(recorded, at: place)
      }
    }
  }
}
