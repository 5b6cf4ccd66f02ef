package import LLVSCore
import Platform
package import TreeNames

// Finding a name: overrides first, then the base, which is read with no lock held.

extension LiveTree {
  /// What the base has at a name, and what must not have changed for it to be used.
  struct Resolution {
    var baseStamp: UInt64
    var basePath: [UInt8]?
    var found: TreeView.Found?
    /// When names last came to or went from the directory, where no version records it.
    var directoryTime: Attributes.Time?
    /// Bytes of the value that are zeros and take no room.
    var zeroBytes: UInt64 = 0
    /// All names of the file in the base, where it has several.
    var links: [LinkPlace] = []
  }

  /// Looks a name up in the base, unless an override settles it.
  func resolve(_ parent: UInt64, _ name: [UInt8]) throws(FSError) -> Resolution {
    let (view, stamp, path) = try lock.withLock {
      _ throws(FSError) -> (TreeView, UInt64, [UInt8]?) in
      let node = try directory(parent)
      guard let directory = node.directory, directory.overrides[name] == nil else {
        return (names, baseStamp, nil)
      }
      return (names, baseStamp, directory.basePath)
    }
    guard let path else { return Resolution(baseStamp: stamp, basePath: nil, found: nil) }
    return try FSError.wrapping { () throws(StoreError) in
      let found = try view.child(of: path, named: name)
      if case .directory(let entry)? = found, entry?.inode ?? 0 == 0 {
        try learnImplied([path.isEmpty ? name : path + [0x2F] + name])
      }
      var resolution = Resolution(baseStamp: stamp, basePath: path, found: found)
      if case .directory(let entry)? = found, entry?.attributes.mtime == nil {
        resolution.directoryTime = try directoryTime(entry, at: path, name)
      }
      if case .value(let entry)? = found {
        resolution.zeroBytes = try store.contents.shownZeroBytes(entry.stored)
        if entry.attributes.linkID != nil, !isKnownLink(entry, parent, name) {
          resolution.links = try linkPlaces(of: entry, in: view)
        }
      }
      return resolution
    }
  }

  /// Whether a name leads to a file that is in memory, with all names that the base has of it.
  private func isKnownLink(_ entry: Entry, _ parent: UInt64, _ name: [UInt8]) -> Bool {
    lock.withLock { _ in
      guard let known = nodes[entry.inode], let directory = try? directory(parent) else {
        return false
      }
      return isLink(entry, of: known) && known.stands(at: name, of: directory)
    }
  }

  private func directoryTime(
    _ entry: Entry?, at path: [UInt8], _ name: [UInt8]
  ) throws(StoreError) -> Attributes.Time? {
    var inode = entry?.inode ?? 0
    if inode == 0 {
      inode = lock.withLock { _ in impliedInode(path.isEmpty ? name : path + [0x2F] + name) }
    }
    return try store.directoryTime(inode)
  }

  /// The child at a name; call with the lock held.
  ///
  /// - Returns: `.some(nil)` if there is none, nil if `resolution` is out of date.
  func child(of parent: LiveNode, _ name: [UInt8], _ resolution: Resolution) -> LiveNode?? {
    guard let directory = parent.directory else { return .some(nil) }
    uses += 1
    directory.used = uses
    if let override = directory.overrides[name] { return .some(override.node) }
    guard let basePath = directory.basePath else { return .some(nil) }
    guard resolution.baseStamp == baseStamp, resolution.basePath == basePath else { return nil }
    guard let found = resolution.found else { return .some(nil) }
    let node = materialise(found, parent: parent, name: name, basePath: basePath)
    if let time = resolution.directoryTime, node.attributes.mtime == nil {
      node.attributes.mtime = time
      node.ctime = max(node.ctime, time)
    }
    if node.file == nil { node.zeroBytes = resolution.zeroBytes }
    for place in resolution.links { attach(node, at: place) }
    return .some(node)
  }

  /// The node for something in the base; call with the lock held.
  func materialise(
    _ found: TreeView.Found, parent: LiveNode, name: [UInt8], basePath: [UInt8]
  ) -> LiveNode {
    let path = basePath.isEmpty ? name : basePath + [UInt8(ascii: "/")] + name
    let entry: Entry?
    let isDirectory: Bool
    switch found {
    case .value(let value): (entry, isDirectory) = (value, false)
    case .directory(let value): (entry, isDirectory) = (value, true)
    }
    let inode = shownInode(
      of: ListedEntry(found), at: name, of: parent, basePath: basePath)
    if let known = nodes[inode] {
      if !known.stands(at: name, of: parent) { attach(known, at: name, of: parent) }
      return known
    }
    let kept = entry.map { KeptEntry($0, of: source) }
    let node = LiveNode(
      inode: inode, kind: isDirectory ? .directory : entry?.kind ?? .regular, parent: parent,
      name: name, entry: kept?.entry, attributes: kept?.entry.attributes ?? Attributes(),
      ctime: storedTime(entry), directory: isDirectory ? LiveDirectory(basePath: path) : nil)
    (node.storedExtended, node.baseExtended) = (kept?.extended, kept?.extended)
    if let shown = shownTimes[inode] {
      node.attributes.mtime = shown
      node.ctime = shown
    }
    remember(node)
    giveOwnID(node)
    if let entry, !isDirectory, entry.inode != inode {
      // Listings show it as what it is in memory, and the next head learns the number.
      node.renewsInode = true
      touch(node)
    }
    return node
  }

  /// When the version that stored an entry was made: shown where no other time is recorded.
  func storedTime(_ entry: Entry?) -> Attributes.Time {
    guard let number = entry?.storedVersion ?? head else {
      return Attributes.Time(seconds: 0, nanoseconds: 0)
    }
    if let known = storedTimes[number] { return known }
    // One version's row, and only the first time it is met: SQLite's own cache answers as a rule.
    let timestamp = (try? store.version(number))??.timestamp ?? 0
    let time = Attributes.Time(ofVersion: timestamp)
    if storedTimes.count > 65_536 { storedTimes = [:] }
    storedTimes[number] = time
    return time
  }

  /// When the version that stored an entry was made; takes the lock.
  func timeMade(_ entry: Entry) -> Attributes.Time { lock.withLock { _ in storedTime(entry) } }

  /// Runs `body` with the lock held, a directory, and the child at a name.
  func withChild<R>(
    _ parent: UInt64, _ name: [UInt8], _ body: (LiveNode, LiveNode?) throws(FSError) -> R
  ) throws(FSError) -> R {
    guard name.count <= 255 else { throw .nameTooLong }
    while true {
      let resolution = try resolve(parent, name)
      let result: R? = try lock.withLock { _ throws(FSError) -> R? in
        let directory = try directory(parent)
        guard let child = child(of: directory, name, resolution) else { return nil }
        defer { if let child { dropIfUnused(child) } }
        return try body(directory, child)
      }
      if let result { return result }
    }
  }

  /// Finds a name and counts a look-up, which the kernel gives back by `forget`.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/notDirectory``, ``FSError/nameTooLong``.
  package func lookup(_ parent: UInt64, _ name: [UInt8]) throws(FSError) -> NodeStatus {
    counting(
      try withChild(parent, name) { (_, child) throws(FSError) in
        guard let child else { throw .noEntry }
        child.lookups += 1
        return status(of: child)
      })
  }

  /// The inode number of the directory above one, for `..`.
  package func parent(of inode: UInt64) throws(FSError) -> UInt64 {
    try lock.withLock { _ throws(FSError) in
      try node(inode).parent?.inode ?? Self.rootInode
    }
  }

  /// A node's path from the root; nil for one without a name.
  package func path(of inode: UInt64) -> [UInt8]? {
    lock.withLock { _ in known(inode)?.path }
  }
}

extension Attributes.Time {
  /// The time of a timestamp that counts seconds since 2001-01-01 UTC.
  package init(ofVersion timestamp: Double) {
    let since1970 = timestamp + 978_307_200
    guard since1970.isFinite, abs(since1970) < 9e15 else {
      self.init(seconds: 0, nanoseconds: 0)
      return
    }
    let seconds = since1970.rounded(.down)
    let nanoseconds = min(999_999_999, max(0, (since1970 - seconds) * 1e9))
    self.init(seconds: Int64(seconds), nanoseconds: UInt32(nanoseconds))
  }
}
