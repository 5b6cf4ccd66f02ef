package import Grammar
package import Inodes
package import LLVSCore
import Platform
package import TreeNames

// Opening a live tree: the checkpoint, then what happened since, by the code that made it happen.

extension LiveTree {
  /// What opening found besides the tree.
  package struct Recovery: Sendable {
    /// Records read back.
    package var records = 0
    /// Sentences about what could not be brought back; empty as a rule.
    package var losses: [String] = []
    /// Why nothing can be written now; nil as a rule.
    package var obstacle: String?
  }

  /// Opens the live tree of a store that is open for writing.
  ///
  /// A full disk does not keep a tree from being read: ``Recovery/obstacle`` says so then, and every change
  /// is refused until there is room.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` if the journal has changes and no header, ``StoreError/fromTheFuture(_:)``,
  ///   ``StoreError/system(_:)``.
  /// - Complexity: O(pending).
  package static func open(
    _ store: Store, defaults: AttributeDefaults, ignore: IgnorePatterns, settings: StoreSettings
  ) throws(StoreError) -> (LiveTree, Recovery) {
    let directory = store.path + "/journal"
    let state = try LiveState(of: store)
    var recovery = Recovery()
    guard let (found, header, start) = try readable(in: directory, &recovery) else {
      let header = JournalHeader(
        bootID: bootID(), head: state.head?.rawValue ?? 0, root: state.map.root, cut: state.cut,
        store: store.storeID)
      let journal = try Journal.create(in: directory, header: header)
      let tree = LiveTree(
        store: store, journal: journal, defaults: defaults, base: TreeView(map: state.map),
        head: state.head, epoch: 1, epochs: Epochs(first: state.head), ignore: ignore,
        settings: settings)
      try tree.showRoot()
      return (tree, recovery)
    }
    var reader = start
    if let owner = header.store, owner != store.storeID {
      throw .corrupt(
        "\(found.file.path) belongs to another store. Move it away, and this store opens with its "
          + "newest version")
    }
    if let lost = header.lostVersions(besides: state, last: store.lastNumber) {
      recovery.losses.append(lost)
    }
    let head: VersionNumber? = header.head == 0 ? nil : VersionNumber(header.head)
    let journal = Journal(
      directory: directory,
      state: Journal.State(
        generation: found.number, file: found.file, fileEnd: 0, allocated: 0,
        files: found.files, nextNumber: (found.files.keys.max() ?? found.number) + 1,
        cutMarks: max(header.cut, state.cut)))
    let tree = LiveTree(
      store: store, journal: journal, defaults: defaults,
      base: TreeView(map: store.map(header.root)), head: head, epoch: 1,
      epochs: Epochs(), ignore: ignore, settings: settings)
    try tree.showRoot()
    try tree.replay(
      &reader, generation: found.number, header: header, state: state, &recovery)
    journal.state.withLock { s in
      s.fileEnd = reader.offset
      s.writtenEnd = reader.offset
      s.allocated = reader.offset
    }
    var prepared: Journal.Preparation?
    var isFull = false
    func prepare() throws(FSError) -> Journal.Preparation {
      try journal.prepareGeneration(expecting: tree.checkpointEstimate()) { tree.checkpointSize() }
    }
    do throws(FSError) {
      do throws(FSError) {
        prepared = try prepare()
      } catch {
        guard error.isNoSpace else { throw error }
        isFull = true
        journal.giveUpAllotted()
        // As long as the next replay comes to the same end without them.
        if header.cut >= state.cut, head == state.head, recovery.losses.isEmpty,
          (try? found.file.syncData()) != nil
        {
          _ = tree.reclaim()
        }
        prepared = try prepare()
      }
    } catch {
      recovery.obstacle = "the mount is read-only until the disk accepts writes again: \(error)"
    }
    do throws(FSError) {
      try journal.begin(prepared, locked: { body in tree.lock.withLock { _ in body() } }) {
        tree.checkpoint(cut: state.cut)
      }
    } catch {
      recovery.obstacle = "the mount is read-only until the disk accepts writes again: \(error)"
    }
    // What the generation before it had is room for removals, and for the next mount's.
    if isFull, recovery.obstacle == nil { try? journal.reserve(0) }
    return (tree, recovery)
  }

  /// The newest generation, opened behind its header; nil where there is none.
  ///
  /// A journal in which nothing can be read is put aside, and named. One with changes behind a header that is
  /// lost is left to somebody to decide about: what they were made on is not known.
  private static func readable(
    in directory: String, _ recovery: inout Recovery
  ) throws(StoreError) -> (Generation, JournalHeader, JournalReader)? {
    guard let found = try newestGeneration(in: directory) else { return nil }
    var reader = try StoreError.wrapping { () throws(SystemError) in
      try JournalReader(found.file)
    }
    do throws(StoreError) {
      let header = try reader.header()
      if reader.hasMendedHeader {
        recovery.losses.append("a flipped bit in the journal's header was repaired")
      }
      return (found, header, reader)
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      guard try !reader.hasChanges() else {
        throw .corrupt(
          "\(reason), and the journal after it holds changes that are in no version. To open the store "
            + "without them, move \(directory) away")
      }
      let place = try putAside(directory)
      recovery.losses.append(
        "\(reason), so nothing in it can be read. It was moved to \(place); changes that were in no "
          + "version yet are lost")
      return nil
    }
  }

  /// Moves a directory of the store beside its place.
  private static func putAside(_ directory: String) throws(StoreError) -> String {
    try StoreError.wrapping { () throws(SystemError) in
      var number = 1
      while try FileSystem.exists("\(directory).damaged-\(number)") { number += 1 }
      let place = "\(directory).damaged-\(number)"
      try FileSystem.rename(directory, to: place)
      try FileSystem.syncDirectory(FileSystem.directory(of: directory))
      return place
    }
  }

  /// Gives the root what was set of it before.
  private func showRoot() throws(StoreError) {
    root.attributes = try RootAttributes.stored(in: store)
    if let time = root.attributes.mtime { root.ctime = time }
  }

  static func bootID() -> [UInt8] {
    (try? SystemProcess.bootID()).map { Array($0.utf8) } ?? []
  }

  private struct Generation {
    var number: UInt32
    var file: File
    var files: [UInt32: File]
  }

  private static func newestGeneration(in directory: String) throws(StoreError) -> Generation? {
    try StoreError.wrapping { () throws(SystemError) in
      guard try FileSystem.exists(directory) else { return nil }
      // A link would lead what is written to another place.
      guard try FileSystem.status(directory, following: false).kind == .directory else {
        throw SystemError(errno: Errno.notDirectory, call: "lstat", subject: directory)
      }
      var files: [UInt32: File] = [:]
      var newest: UInt32?
      for name in try FileSystem.list(directory) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt32(parts[0]),
          parts[1] == "journal" || parts[1] == "stage"
        else {
          if name.hasSuffix(".journal.tmp") { try FileSystem.unlink("\(directory)/\(name)") }
          continue
        }
        files[number] = try File.regular("\(directory)/\(name)", .readWrite)
        if parts[1] == "journal" { newest = max(newest ?? 0, number) }
      }
      guard let newest, let file = files[newest] else { return nil }
      return Generation(number: newest, file: file, files: files)
    }
  }

  // MARK: - Replay

  private func replay(
    _ reader: inout JournalReader, generation: UInt32, header: JournalHeader, state: LiveState,
    _ recovery: inout Recovery
  ) throws(StoreError) {
    let (seconds, nanoseconds) = SystemClock.realtime()
    replayShift =
      Int64(clamping: SystemClock.monotonic()) &- (seconds &* 1_000_000_000)
      &- Int64(nanoseconds)
    defer { replayShift = nil }
    let wasKilled = reader.isSameBoot
    var committed: CutPlan?
    var unchecked: [(at: UInt64, extent: Extent, checksum: UInt64)] = []
    reading: while true {
      switch try reader.next() {
      case .end: break reading
      case .damaged(let offset):
        recovery.losses.append(
          "the journal is damaged at byte \(offset); changes recorded behind it are lost")
        break reading
      case .change(let change, let position, let isRotten):
        recovery.records += 1
        if isRotten { noteRotten(change, at: position, &recovery) }
        switch change {
        case .bind(let inode, let parent, let name):
          try rebind(inode: inode, parent: parent, name: name)
        case .node(let image):
          restore(image, tick: SystemClock.monotonic())
        case .override(let parent, let name, let inode, let epoch, let hidesBase):
          guard let directory = nodes[parent]?.directory else { continue }
          stamp += 1
          let node = inode == 0 ? nil : nodes[inode]
          // What a damaged record says must not make a circle of directories.
          if let node, let above = nodes[parent], !node.mayStand(at: name, of: above) { continue }
          node?.isTouched = true
          if let node, let above = nodes[parent] { node.addName(name, of: above) }
          directory.overrides[name] = Override(
            node: node, epoch: epoch, stamp: stamp, hidesBase: hidesBase)
          directory.subdirectories = SubdirectoryCount()
          active(SystemClock.monotonic())
        case .synced(let end):
          unchecked.removeAll { $0.at < end }
        case .cutMark(let id):
          isPlanning = true
          journal.state.withLock { $0.cutMarks = max($0.cutMarks, id) }
          if id == state.cut, header.cut < state.cut {
            committed = planForReplay(id: id, state.record)
          }
        case .sums(let source, let payloads):
          journal.noteSums(payloads, in: source)
        case .write(_, let extent, let checksum, _, _, _):
          apply(change)
          journal.noteSum(of: extent, checksum)
          if extent.source != generation, !wasKilled {
            unchecked.append((position, extent, checksum))
          }
        default:
          apply(change)
        }
      }
    }
    isPlanning = false
    if header.found < 2 { try learnSums() }
    revertTorn(unchecked.filter { !isWhole($0.extent, $0.checksum) }.map(\.extent), &recovery)
    // A number that is lost may be another version's one day.
    let last = VersionNumber(store.lastNumber)
    if epochs.replace(after: last, with: state.head) {
      recovery.losses.append(
        "pending changes were made on versions that the store no longer has; they apply to its newest now"
      )
    }
    if let committed {
      // What the plan took is known now; what came after it is laid over the cut's outcome.
      try rebase(committed, onto: state)
    } else if header.cut < state.cut {
      // The mark of a cut that was committed is always on the disk before it is.
      recovery.losses.append(
        "the journal has no mark of the version that was made last; changes that it took may show as pending"
      )
    }
    if head != state.head || base.map.root.digest != state.map.root.digest {
      // The head was moved while nothing was mounted.
      let foreign = try LiveMap.differences(from: base.map, to: state.map)
      _ = install(
        Installation(
          base: TreeView(map: state.map), head: state.head, entries: PlannedEntries(),
          foreign: foreign.changes, implied: foreign.implied),
        after: nil)
    }
    try findLinks()
    _ = try completeLinks(grownLinks)
    (grownLinks, replayedSources) = ([], [:])
    // Of the others no handle is left that could change them.
    for detached in detachedNodes.values
    where detached.node.file?.saved == nil && detached.node.file?.unsaved != true {
      forgetDetached(detached.node.inode)
      dropIfUnused(detached.node)
    }
  }

  /// Finds the numbers that the base has for files which bear others here, by which their names are found.
  private func findLinks() throws(StoreError) {
    for node in nodes.values where node.renewsInode && node.attributes.linkID != nil {
      guard var entry = node.entry, let known = try names.map.entry(at: entry.key),
        known.shortened.hasSameContent(as: entry.shortened)
      else { continue }
      entry.inode = known.inode
      node.entry = entry
      grownLinks.insert(node.inode)
    }
  }

  private func learnSums() throws(StoreError) {
    var extents: [Extent] = []
    for node in nodes.values {
      for content in [node.file?.content, node.file?.saved?.content, node.file?.counted?.content] {
        content?.extents.forEach { if $0.source != Extent.base { extents.append($0) } }
      }
    }
    try StoreError.wrapping { () throws(SystemError) in
      for extent in extents { try journal.learnSums(of: extent) }
    }
  }

  /// Names a record whose own bytes rotted; the record stands, and who reads the bytes is told.
  private func noteRotten(_ change: Change, at position: UInt64, _ recovery: inout Recovery) {
    guard case .write(let inode, let extent, _, _, _, _) = change else { return }
    let name =
      nodes[inode]?.path.map { String(decoding: $0, as: UTF8.self) } ?? "#\(inode)"
    recovery.losses.append(
      "\(name): \(extent.length) bytes from \(extent.start) on are damaged in the journal, "
        + "in the record at byte \(position)")
  }

  /// Finds a node of the base again that later records name.
  private func rebind(inode: UInt64, parent: UInt64, name: [UInt8]) throws(StoreError) {
    guard let above = nodes[parent], let basePath = above.directory?.basePath else { return }
    guard let found = try names.child(of: basePath, named: name) else { return }
    let node = materialise(found, parent: above, name: name, basePath: basePath)
    guard node.inode == inode else { return }
    node.isJournaled = true
    if node.isTouched, above.directory?.overrides[name] == nil {
      // Another of its names was bound before.
      above.directory?.overrides[name] = Override(
        node: node, epoch: epoch, stamp: stamp, hidesBase: true)
      touch(above)
    }
    touch(node)
  }

  private func isWhole(_ extent: Extent, _ checksum: UInt64) -> Bool {
    guard let source = journal.file(extent.source),
      let bytes = try? source.read(Int(clamping: extent.length), at: extent.offset)
    else { return false }
    return UInt64(bytes.count) == extent.length && Checksum.of(bytes) == checksum
  }

  /// A file whose staged bytes did not reach the disk, or whose data file is gone, goes back to its last
  /// state that is wholly there.
  private func revertTorn(_ torn: [Extent], _ recovery: inout Recovery) {
    var bad: [UInt32: [Range<UInt64>]] = [:]
    for extent in torn {
      bad[extent.source, default: []].append(extent.offset..<(extent.offset + extent.length))
    }
    var sizes: [UInt32: UInt64] = [:]
    func isWhole(_ content: FileContent) -> Bool {
      var whole = true
      content.extents.forEach { extent in
        guard whole, extent.source != Extent.base else { return }
        if sizes[extent.source] == nil {
          sizes[extent.source] =
            journal.file(extent.source).flatMap { try? $0.status().size } ?? 0
        }
        let range = extent.offset..<(extent.offset + extent.length)
        whole =
          range.upperBound <= sizes[extent.source] ?? 0
          && !(bad[extent.source]?.contains { $0.overlaps(range) } ?? false)
      }
      return whole
    }
    for node in Array(nodes.values) {
      guard let file = node.file else { continue }
      if let saved = file.saved, !isWhole(saved.content) { file.saved = nil }
      if let counted = file.counted, !isWhole(counted.content) { file.counted = nil }
      guard !isWhole(file.content) else { continue }
      let name = node.path.map { String(decoding: $0, as: UTF8.self) } ?? "#\(node.inode)"
      recovery.losses.append("\(name): its last bytes are not on the disk")
      unsavedNodes[node.inode] = nil
      guard let whole = file.saved ?? file.counted else {
        node.file = nil
        for one in node.isInBase ? [] : node.names {
          one.parent.directory?.overrides[one.name] = Override(
            node: nil, epoch: epoch, stamp: stamp,
            hidesBase: one.parent.directory?.overrides[one.name]?.hidesBase ?? false)
          unlink(node, from: one.name, of: one.parent, time: Self.now())
        }
        continue
      }
      let kept = LiveFile(content: whole.content)
      kept.saved = whole
      node.file = kept
    }
  }
}
