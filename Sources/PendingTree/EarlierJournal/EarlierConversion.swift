package import Inodes
package import LLVSCore

/// Makes an overlay of the checkpoint of an earlier journal.
///
/// The checkpoint numbers inodes by the version's map. Each file and directory that the recorded tree has gets the
/// recorded number; the others keep theirs.
package struct EarlierConversion {
  private let checkpoint: EarlierCheckpoint
  private let base: any Base
  private let allot: () throws(BaseError) -> InodeNumber
  private let extended: (EarlierCheckpoint.ExtendedPlace) throws(BaseError) -> [Attributes.Extended]

  /// The number here of each inode of the checkpoint.
  private var numbers: [InodeNumber: InodeNumber] = [.root: .root]
  /// The inodes of the checkpoint that the recorded tree has.
  private var recorded: Set<InodeNumber> = [.root]
  private var overlay: Overlay
  private let stamp = ChangeStamp.start.next

  /// Creates a conversion.
  ///
  /// - Parameters:
  ///   - checkpoint: the checkpoint.
  ///   - base: the recorded tree of the version that it was written over.
  ///   - allot: returns a number that no inode has.
  ///   - extended: reads long extended attributes.
  package init(
    _ checkpoint: EarlierCheckpoint, over base: any Base,
    allot: @escaping () throws(BaseError) -> InodeNumber,
    extended:
      @escaping (EarlierCheckpoint.ExtendedPlace) throws(BaseError) ->
      [Attributes.Extended]
  ) {
    self.checkpoint = checkpoint
    self.base = base
    self.allot = allot
    self.extended = extended
    overlay = Overlay(epoch: checkpoint.newestEpoch)
  }

  /// Returns the overlay, which is consistent with the recorded tree; nil if the checkpoint is not.
  ///
  /// - Throws: ``BaseError`` if the recorded tree cannot be read.
  /// - Complexity: O(*p* log *n*) for *p* pending nodes and names over *n* names.
  package mutating func run() throws(BaseError) -> Overlay? {
    guard try bindDirectories() else { return nil }
    try bindFiles()
    try numberOthers()
    overlay.stamp = stamp
    for node in checkpoint.nodes {
      guard try load(node) else { return nil }
    }
    try loadRoot()
    guard try loadNames() else { return nil }
    loadDetached()
    try bindAbove()
    nameNodes()
    do {
      try overlay.check(over: base)
    } catch let error as BaseError {
      throw error
    } catch {
      return nil
    }
    return overlay
  }

  // MARK: - Numbers

  /// Finds the directories of the version; false if one is not there.
  private mutating func bindDirectories() throws(BaseError) -> Bool {
    for node in checkpoint.nodes {
      guard node.kind == .directory, let path = node.path else { continue }
      var number = InodeNumber.root
      for name in path.names {
        guard let entry = try base.child(of: number, named: name),
          entry.inode.record.isDirectory
        else { return false }
        number = entry.inode.number
      }
      bind(node.number, to: number)
    }
    return true
  }

  private mutating func bind(_ earlier: InodeNumber, to number: InodeNumber) {
    numbers[earlier] = number
    recorded.insert(earlier)
  }

  /// Finds the files of the version that stand at one of their names there. One that was moved is a new file with the
  /// same bytes.
  private mutating func bindFiles() throws(BaseError) {
    let files = Dictionary(
      checkpoint.nodes.lazy.filter { $0.kind != .directory }.map { ($0.number, $0) },
      uniquingKeysWith: { first, _ in first })
    var taken: Set<InodeNumber> = []
    for name in checkpoint.names {
      guard let earlier = name.inode, numbers[earlier] == nil, let node = files[earlier],
        let stored = node.stored, let directory = numbers[name.place.directory],
        let inode = try base.child(of: directory, named: name.place.name)?.inode,
        inode.record.kind == node.kind, inode.record.stored == stored,
        taken.insert(inode.number).inserted
      else { continue }
      bind(earlier, to: inode.number)
    }
  }

  private mutating func numberOthers() throws(BaseError) {
    for node in checkpoint.nodes where numbers[node.number] == nil {
      let isFree = try base.inode(node.number) == nil
      numbers[node.number] = isFree ? node.number : try allot()
    }
  }

  // MARK: - Nodes

  /// Takes over a node; false if the recorded tree has not what the checkpoint says.
  private mutating func load(_ node: EarlierCheckpoint.Node) throws(BaseError) -> Bool {
    guard let number = numbers[node.number] else { return false }
    var attributes = node.attributes
    var lacksExtended = false
    if let place = node.extended {
      lacksExtended = node.hasRecordedExtended && recorded.contains(node.number)
      if !lacksExtended { attributes.extended = try extended(place) }
    }
    var new: PendingNode
    if recorded.contains(node.number) {
      guard let known = try overlay.node(of: number, over: base) else { return false }
      new = known
      new.attributes = attributes
      new.changed = node.changed
    } else {
      new = PendingNode(
        kind: node.kind, attributes: attributes, changed: node.changed,
        file: node.kind == .directory ? nil : newFile(node), names: [], stamp: stamp)
    }
    if lacksExtended, !new.lacksExtended { new.attributes.extended = try extended(of: node) }
    new.lacksExtended = new.lacksExtended && lacksExtended
    new.hasNewAttributes = node.hasNewAttributes
    new.hasSetTime = node.hasSetTime
    new.seen = node.seen
    new.stamp = stamp
    new.file?.take(node)
    overlay.nodes[number] = new
    return true
  }

  private func extended(
    of node: EarlierCheckpoint.Node
  ) throws(BaseError) -> [Attributes.Extended] {
    try node.extended.map { (place) throws(BaseError) in try extended(place) } ?? []
  }

  /// A file that the recorded tree does not have; a version may have had its bytes under another name.
  private func newFile(_ node: EarlierCheckpoint.Node) -> PendingFile {
    guard let stored = node.stored else { return PendingFile(content: FileContent()) }
    var file = PendingFile(content: FileContent(stored: stored))
    if node.isUnsaved || node.saved != nil { file.taken = file.content }
    return file
  }

  private mutating func loadRoot() throws(BaseError) {
    guard let root = checkpoint.root, var node = try overlay.node(of: .root, over: base) else {
      return
    }
    node.attributes = root.attributes
    node.changed = root.changed
    node.hasSetTime = root.hasSetTime
    node.hasNewAttributes = true
    node.stamp = stamp
    overlay.nodes[.root] = node
  }

  // MARK: - Names

  /// Takes over the names; false if one leads to nothing or is in no directory.
  private mutating func loadNames() throws(BaseError) -> Bool {
    for name in checkpoint.names {
      guard let directory = numbers[name.place.directory] else { return false }
      let place = InodeName(directory: directory, name: name.place.name)
      let hidden = try base.child(of: directory, named: place.name)?.inode
      var target: InodeNumber?
      if let earlier = name.inode {
        guard let number = numbers[earlier] else { return false }
        target = number
      }
      guard target != hidden?.number else { continue }
      var change = NameChange(
        inode: target, made: name.made, stamp: stamp, hidesRecorded: hidden != nil)
      change.hide(hidden)
      change.isDirectory = target.flatMap { overlay.nodes[$0]?.isDirectory } ?? false
      overlay.setChange(change, at: place)
    }
    return true
  }

  private mutating func loadDetached() {
    for one in checkpoint.detached {
      guard let number = numbers[one.inode], let file = overlay.nodes[number]?.file else {
        continue
      }
      // Nobody holds it any more: only bytes that were written matter.
      guard file.isPending else {
        overlay.forget(number)
        continue
      }
      let directory = one.directory.flatMap { numbers[$0] }
      overlay.makeOrphan(
        number,
        .detached(
          place: directory.map { InodeName(directory: $0, name: FileName(one.name)) },
          path: directory == nil ? TreePath(one.name) : nil, epoch: one.epoch))
    }
  }

  /// Makes the directories known that pending names and nodes are in.
  private mutating func bindAbove() throws(BaseError) {
    var directories: Set<InodeNumber> = []
    for (place, _) in overlay.changes { directories.insert(place.directory) }
    for (_, node) in overlay.nodes {
      directories.formUnion(node.recordedNames.map(\.directory))
      if case .detached(let place?, _, _)? = node.orphan { directories.insert(place.directory) }
    }
    directories.remove(.root)
    for operation in try overlay.bindings(of: directories.sorted(), over: base) {
      if case .node(let number, let node) = operation { overlay.nodes[number] = node }
    }
  }

  /// Gives nodes the names under which programs see them; a new one without a name is gone.
  private mutating func nameNodes() {
    var names: [InodeNumber: [InodeName]] = [:]
    for (place, change) in overlay.changes {
      if let number = change.inode { names[number, default: []].append(place) }
    }
    for (number, node) in overlay.nodes.map({ ($0.key, $0.value) }) where number != .root {
      guard node.orphan == nil else { continue }
      let kept = node.recordedNames.filter { overlay.changes[$0] == nil }
      let shown = kept + (names[number] ?? []).sorted { $0.name < $1.name }
      if shown.isEmpty, node.recordedNames.isEmpty {
        overlay.forget(number)
      } else {
        overlay.nodes[number]?.names = shown
      }
    }
  }
}

extension PendingFile {
  /// Takes over the bytes and saves of an earlier file.
  fileprivate mutating func take(_ node: EarlierCheckpoint.Node) {
    if let content = node.content { self.content = content }
    isUnsaved = node.isUnsaved
    isNeverSaved = node.isNeverSaved
    isSteady = node.isSteady
    saved = node.saved
    counted = node.counted
  }
}

extension EarlierCheckpoint {
  /// The newest epoch of a change, or of the tree.
  var newestEpoch: Epoch {
    var newest = epochs.last?.first ?? .first
    for epoch in usedEpochs { newest = max(newest, epoch) }
    return newest
  }

  private var usedEpochs: [Epoch] {
    names.map(\.made) + detached.map(\.epoch)
      + nodes.flatMap { [$0.seen, $0.saved?.seen, $0.counted?.seen].compactMap(\.self) }
  }

  /// The store's numbers of the versions that the epochs of its changes stand for.
  package var versions: [Epoch: UInt32] {
    var versions: [Epoch: UInt32] = [:]
    for epoch in usedEpochs + [newestEpoch] { versions[epoch] = version(of: epoch) ?? head }
    return versions
  }
}
