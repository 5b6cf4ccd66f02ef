import Inodes
import LLVSCore
import Platform
import TreeNames

// Nodes to and from the images that a checkpoint keeps.

extension LiveTree {
  /// The records that rebuild everything pending; call with the lock held.
  func checkpointChanges() -> [Change] {
    var changes: [Change] = []
    for (epoch, version) in epochs.beginnings {
      changes.append(.epoch(id: epoch, predecessor: version?.rawValue ?? 0))
    }
    if root.attributesChanged {
      changes.append(
        .setAttributes(
          inode: Self.rootInode, attributes: root.attributes, keepsExtended: false,
          time: root.ctime, explicitTime: root.explicitTime))
    }
    // Open ones too: what is saved through their handles later is a change of the name they had.
    for detached in detachedNodes.values {
      let node = detached.node
      // One that only the kernel knows is recorded if somebody opens and changes it.
      node.isJournaled = node.handles > 0 || node.file?.saved != nil || node.file?.unsaved == true
      if node.isJournaled, let directory = nodes[detached.parent] { touch(directory) }
    }
    var known: Set<UInt64> = []
    append(childrenOf: root, to: &changes, &known)
    for detached in detachedNodes.values where detached.node.isJournaled {
      changes += self.changes(of: detached)
    }
    changes += sumChanges()
    return changes
  }

  /// About how many bytes a checkpoint takes now.
  ///
  /// - Complexity: O(pending names), in memory.
  func checkpointEstimate() -> Int {
    lock.withLock { _ in
      var bytes = 4096 + 64 * epochs.runCount + estimate(childrenOf: root)
      for detached in detachedNodes.values { bytes += 64 + estimate(detached.node) }
      return bytes + journal.sumsSize()
    }
  }

  private func estimate(childrenOf node: LiveNode) -> Int {
    (node.directory?.overrides ?? [:]).reduce(0) { bytes, child in
      let (name, override) = child
      return bytes + 64 + name.count
        + (override.node.map { estimate($0) + estimate(childrenOf: $0) } ?? 0)
    }
  }

  /// An image is about this long: places of bytes and what is like a path are counted, the rest is not.
  private func estimate(_ node: LiveNode) -> Int {
    let places = [node.file?.content, node.file?.saved?.content, node.file?.counted?.content]
      .reduce(0) { $0 + ($1?.extents.count ?? 0) }
    let extended = node.attributes.extended.reduce(0) { $0 + $1.name.count + $1.value.count + 8 }
    let elsewhere = node.baseExtended.map { 160 + 2 * $0.key.bytes.count } ?? 0
    return 448 + 28 * places + 2 * extended + elsewhere
      + 2 * (node.directory?.basePath?.count ?? 0)
  }

  /// The records that rebuild a detached node; call with the lock held.
  func changes(of detached: Detached) -> [Change] {
    [
      .node(image(of: detached.node, at: nil)),
      .detached(
        inode: detached.node.inode, parent: detached.parent, name: detached.name,
        successor: detached.successor, epoch: detached.epoch),
    ]
  }

  /// The records that rebuild a touched node at its names; call with the lock held.
  func imageChanges(of node: LiveNode) -> [Change] {
    let places = node.names
    return [.node(image(of: node, at: places.first))]
      + places.compactMap { place in
        place.parent.directory?.overrides[place.name].map { override in
          .override(
            parent: place.parent.inode, name: place.name, inode: node.inode,
            epoch: override.epoch, hidesBase: override.hidesBase)
        }
      }
  }

  /// A file of several names has one image, which bears the name that is met first.
  private func append(
    childrenOf node: LiveNode, to changes: inout [Change], _ known: inout Set<UInt64>
  ) {
    for (name, override) in node.directory?.overrides ?? [:] {
      guard let child = override.node else {
        changes.append(
          .override(
            parent: node.inode, name: name, inode: 0, epoch: override.epoch,
            hidesBase: override.hidesBase))
        continue
      }
      child.isJournaled = true
      if known.insert(child.inode).inserted {
        changes.append(.node(image(of: child, at: NodeName(parent: node, name: name))))
      }
      changes.append(
        .override(
          parent: node.inode, name: name, inode: child.inode, epoch: override.epoch,
          hidesBase: override.hidesBase))
      append(childrenOf: child, to: &changes, &known)
    }
  }

  private func image(of node: LiveNode, at place: NodeName?) -> NodeImage {
    let file = node.file
    return NodeImage(
      inode: node.inode, kind: node.kind, parent: place?.parent.inode ?? 0,
      name: place?.name ?? node.name,
      attributes: node.attributes, ctime: node.ctime, entry: node.entry.map(EntryImage.init),
      attributesChanged: node.attributesChanged, explicitTime: node.explicitTime,
      isMoved: node.isMoved, renewsInode: node.renewsInode,
      basePath: node.directory?.basePath, content: file?.content, unsaved: file?.unsaved ?? false,
      neverSaved: file?.neverSaved ?? false, steady: file?.steady ?? true,
      writerEpoch: file?.writerEpoch ?? 0, saved: file?.saved.map(image(of:)),
      counted: file?.counted.map(image(of:)), extended: node.storedExtended.map(place(of:)),
      baseExtended: node.baseExtended.map(place(of:)))
  }

  private func place(of extended: StoredExtended) -> ExtendedPlace {
    ExtendedPlace(
      root: extended.source.map.root, key: extended.key.bytes, revision: extended.revision)
  }

  private func stored(at place: ExtendedPlace, isDirectory: Bool) -> StoredExtended {
    var source = place.root == base.map.root ? self.source : replayedSources[place.root]
    if source == nil {
      source = AttributeSource(store.map(place.root))
      replayedSources[place.root] = source
    }
    return StoredExtended(
      in: source ?? self.source, key: Key(bytes: place.key), isDirectory: isDirectory,
      revision: place.revision)
  }

  private func image(of saved: SavedState) -> SavedImage {
    SavedImage(
      content: saved.content, mtime: saved.mtime, explicitTime: saved.explicitTime,
      time: saved.time, epoch: saved.takenIn ?? saved.epoch)
  }

  /// Rebuilds a node from its image.
  func restore(_ image: NodeImage, tick: UInt64) {
    guard image.inode != Self.rootInode, nodes[image.inode] == nil else { return }
    let parent = nodes[image.parent]
    let node = LiveNode(
      inode: image.inode, kind: image.kind, parent: parent, name: image.name,
      entry: image.entry?.entry(inode: image.inode, kind: image.kind),
      attributes: image.attributes, ctime: image.ctime,
      directory: image.kind == .directory ? LiveDirectory(basePath: image.basePath) : nil)
    let isDirectory = image.kind == .directory
    node.baseExtended = image.baseExtended.map { stored(at: $0, isDirectory: isDirectory) }
    node.storedExtended =
      image.extended == image.baseExtended
      ? node.baseExtended : image.extended.map { stored(at: $0, isDirectory: isDirectory) }
    node.attributesChanged = image.attributesChanged
    node.explicitTime = image.explicitTime
    node.isMoved = image.isMoved
    node.renewsInode = image.renewsInode
    node.isJournaled = true
    node.stamp = stamp
    if let content = image.content {
      let file = LiveFile(content: content)
      file.unsaved = image.unsaved
      file.neverSaved = image.neverSaved
      file.steady = image.steady
      file.writerEpoch = image.writerEpoch
      // The time of the last write, where nobody set another: its pause goes on over mounts.
      let written = image.explicitTime ? nil : image.attributes.mtime
      file.lastWriteTick = written.map { self.tick(at: $0) } ?? tick
      file.explicitTime = image.explicitTime
      // What follows a save in the journal says how much quiet it had; of what the image holds already
      // nobody knows.
      file.saved = image.saved.map { savedState($0, file.unsaved ? tick : self.tick(at: $0.time)) }
      file.counted = image.counted.map { savedState($0, tick) }
      if file.unsaved { file.saved?.brokenTick = tick }
      node.file = file
      if file.unsaved { unsavedNodes[node.inode] = node }
    }
    remember(node)
  }

  private func savedState(_ image: SavedImage, _ tick: UInt64) -> SavedState {
    SavedState(
      content: image.content, mtime: image.mtime, explicitTime: image.explicitTime,
      time: image.time, tick: tick, epoch: image.epoch)
  }

  /// Every data file that something in memory refers to; call with the lock held.
  func referencedDataFiles() -> Set<UInt32> {
    var found: Set<UInt32> = []
    func note(_ content: FileContent?) {
      content?.extents.forEach { if $0.source != Extent.base { found.insert($0.source) } }
    }
    for node in nodes.values {
      note(node.file?.content)
      note(node.file?.saved?.content)
      note(node.file?.counted?.content)
    }
    for detached in detachedNodes.values {
      note(detached.node.file?.content)
      note(detached.node.file?.saved?.content)
    }
    return found
  }
}

/// What a checkpoint keeps of a node's entry in the base.
struct EntryImage: Hashable, Sendable {
  var key: [UInt8]
  var attributes: Attributes
  var stored: StoredContent
  var storedVersion: UInt32
  var revision: UInt64

  init(_ entry: Entry) {
    key = entry.key.bytes
    attributes = entry.attributes
    stored = entry.stored
    storedVersion = entry.storedVersion.rawValue
    revision = entry.revision
  }

  init(
    key: [UInt8], attributes: Attributes, stored: StoredContent, storedVersion: UInt32,
    revision: UInt64
  ) {
    self.key = key
    self.attributes = attributes
    self.stored = stored
    self.storedVersion = storedVersion
    self.revision = revision
  }

  func entry(inode: UInt64, kind: EntryKind) -> Entry {
    Entry(
      key: Key(bytes: key), kind: kind, attributes: attributes, stored: stored,
      storedVersion: VersionNumber(storedVersion), inode: inode, revision: revision)
  }
}
