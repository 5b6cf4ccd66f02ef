package import LLVS
import Platform

// Opening a live tree: the checkpoint, then what happened since, by the code that made it happen.

extension LiveTree {
  /// What opening found besides the tree.
  package struct Recovery: Sendable {
    /// Records read back.
    package var records = 0
    /// Sentences about what could not be brought back; empty as a rule.
    package var losses: [String] = []
  }

  /// Opens the live tree of a store that is open for writing.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` if the journal has no header, ``StoreError/fromTheFuture(_:)``,
  ///   ``StoreError/system(_:)``.
  /// - Complexity: O(pending).
  package static func open(
    _ store: Store, defaults: Defaults, ignore: IgnorePatterns, settings: StoreSettings
  ) throws(StoreError) -> (LiveTree, Recovery) {
    let directory = store.path + "/journal"
    let state = try LiveState(of: store)
    var recovery = Recovery()
    guard let found = try newestGeneration(in: directory) else {
      let header = JournalHeader(
        bootID: bootID(), head: state.head?.rawValue ?? 0, root: state.map.root, cut: state.cut)
      let journal = try Journal.create(in: directory, header: header)
      let tree = LiveTree(
        store: store, journal: journal, defaults: defaults, base: TreeView(map: state.map),
        head: state.head, epoch: 1, epochs: [1: state.head], ignore: ignore,
        settings: settings)
      return (tree, recovery)
    }
    var reader: JournalReader
    do throws(SystemError) { reader = try JournalReader(found.file) } catch {
      throw .system(error)
    }
    let header = try reader.header()
    let head: VersionNumber? = header.head == 0 ? nil : VersionNumber(header.head)
    let journal = Journal(
      directory: directory,
      state: Journal.State(
        generation: found.number, file: found.file, fileEnd: 0, allocated: 0,
        files: found.files, nextNumber: (found.files.keys.max() ?? found.number) + 1,
        cutMarks: header.cut))
    let tree = LiveTree(
      store: store, journal: journal, defaults: defaults,
      base: TreeView(map: store.map(header.root)), head: head, epoch: 1,
      epochs: [:], ignore: ignore, settings: settings)
    try tree.replay(
      &reader, generation: found.number, header: header, state: state, &recovery)
    journal.state.withLock { s in
      s.fileEnd = reader.offset
      s.allocated = reader.offset
    }
    do throws(FSError) {
      try tree.checkpoint(cut: state.cut)
    } catch {
      throw error.asStoreError
    }
    return (tree, recovery)
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
    do throws(SystemError) {
      guard try FileSystem.exists(directory) else { return nil }
      var files: [UInt32: File] = [:]
      var newest: UInt32?
      for name in try FileSystem.list(directory) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt32(parts[0]),
          parts[1] == "journal" || parts[1] == "stage"
        else {
          if name.hasSuffix(".tmp") { try FileSystem.unlink("\(directory)/\(name)") }
          continue
        }
        files[number] = try File("\(directory)/\(name)", [.readWrite, .noFollow])
        if parts[1] == "journal" { newest = max(newest ?? 0, number) }
      }
      guard let newest, let file = files[newest] else { return nil }
      return Generation(number: newest, file: file, files: files)
    } catch {
      throw .system(error)
    }
  }

  // MARK: - Replay

  private func replay(
    _ reader: inout JournalReader, generation: UInt32, header: JournalHeader, state: LiveState,
    _ recovery: inout Recovery
  ) throws(StoreError) {
    // A cut that found nothing to take began a generation of its own without the store's knowing.
    var isCurrent = header.cut >= state.cut
    let wasKilled = header.bootID == Self.bootID() && !header.bootID.isEmpty
    var unchecked: [UInt64: [(Extent, UInt64)]] = [:]
    reading: while true {
      switch try reader.next() {
      case .end: break reading
      case .damaged(let offset):
        recovery.losses.append(
          "the journal is damaged at byte \(offset); changes recorded behind it are lost")
        break reading
      case .change(let change, _):
        recovery.records += 1
        switch change {
        case .bind(let inode, let parent, let name):
          try rebind(inode: inode, parent: parent, name: name)
        case .node(let image):
          restore(image, tick: SystemClock.monotonic())
        case .override(let parent, let name, let inode, let epoch):
          guard let directory = nodes[parent]?.directory else { continue }
          stamp += 1
          let node = inode == 0 ? nil : nodes[inode]
          node?.isTouched = true
          directory.overrides[name] = Override(node: node, epoch: epoch, stamp: stamp)
        case .synced:
          unchecked = [:]
        case .cutMark(let id):
          journal.state.withLock { $0.cutMarks = max($0.cutMarks, id) }
          if id == state.cut, !isCurrent {
            try rebase(onto: state)
            isCurrent = true
          }
        case .write(let inode, let extent, let checksum, _, _, _):
          apply(change)
          if extent.source != generation, !wasKilled {
            unchecked[inode, default: []].append((extent, checksum))
          }
        default:
          apply(change)
        }
      }
    }
    for (inode, extents) in unchecked { revertIfTorn(inode, extents, &recovery) }
    if !isCurrent {
      // The mark of a cut that was committed is always written before it is.
      recovery.losses.append(
        "the journal does not hold the mark of cut \(state.cut); pending changes stand on \(header.cut)"
      )
      try rebase(onto: state)
    }
  }

  /// Finds a node of the base again that later records name.
  private func rebind(inode: UInt64, parent: UInt64, name: [UInt8]) throws(StoreError) {
    guard let above = nodes[parent], let basePath = above.directory?.basePath else { return }
    guard let found = try base.child(of: basePath, named: name) else { return }
    let node = materialise(found, parent: above, name: name, basePath: basePath)
    guard node.inode == inode else { return }
    node.isJournaled = true
    touch(node)
  }

  /// A file whose staged bytes did not reach the disk goes back to its last state that did.
  private func revertIfTorn(
    _ inode: UInt64, _ extents: [(Extent, UInt64)], _ recovery: inout Recovery
  ) {
    guard let node = nodes[inode], let file = node.file else { return }
    for (extent, checksum) in extents {
      guard let source = journal.file(extent.source),
        let bytes = try? source.read(Int(extent.length), at: extent.offset),
        bytes.count == Int(extent.length), Checksum.of(bytes) == checksum
      else {
        let name = node.path.map { String(decoding: $0, as: UTF8.self) } ?? "#\(inode)"
        recovery.losses.append(
          "\(name): its last bytes did not reach the disk before the power failed")
        unsavedNodes[inode] = nil
        let whole = file.counted
        node.file = whole.map { saved in
          let kept = LiveFile(content: saved.content)
          kept.saved = saved
          return kept
        }
        if whole == nil, node.entry == nil, let parent = node.parent {
          parent.directory?.overrides[node.name] = nil
          unlink(node, time: Self.now())
        }
        return
      }
    }
  }

  // MARK: - A cut that was committed and not yet installed

  /// Lays what is pending over the head that a committed cut made: what the cut took is recognised
  /// by its bytes and attributes.
  private func rebase(onto state: LiveState) throws(StoreError) {
    let view = TreeView(map: state.map)
    var entries: [UInt64: Entry] = [:]
    var plan = planForReplay(id: state.cut)
    var kept: [CutPlan.Item] = []
    for item in plan.items {
      guard case .put(let nodeState, _) = item.action else {
        kept.append(item)
        continue
      }
      guard let entry = try entry(in: view, at: item.path, kind: nodeState.kind) else { continue }
      if try wasTaken(nodeState, as: entry) {
        entries[nodeState.node.inode] = entry
        kept.append(item)
      }
    }
    plan.items = kept
    let installation = Installation(
      base: view, head: state.head, ownVersion: state.ownVersion, entries: entries, foreign: [])
    _ = install(installation, after: plan)
    for node in nodes.values where node.entry != nil && !node.isMoved {
      guard let path = node.path else { continue }
      node.entry = try entry(in: view, at: path, kind: node.kind)
    }
  }

  private func entry(
    in view: TreeView, at path: [UInt8], kind: EntryKind
  ) throws(StoreError) -> Entry? {
    switch try view.find(path: path) {
    case .value(let entry)? where kind != .directory: entry
    case .directory(let entry)? where kind == .directory: entry
    default: nil
    }
  }

  private func wasTaken(
    _ state: CutPlan.NodeState, as entry: Entry
  ) throws(StoreError) -> Bool {
    guard let chosen = state.chosen(settle: settings.settle) else { return true }
    let content = chosen.content
    guard content.size == entry.stored.length else { return false }
    if let stored = content.unchangedBase { return stored.digest == entry.stored.digest }
    let source = ContentReader(tree: self, content: content)
    var offset: UInt64 = 0
    while offset < content.size {
      let count = Int(min(1 << 16, content.size - offset))
      let at = offset
      let mine = try [UInt8].filled(count) { (buffer) throws(StoreError) in
        try source.read(at: at, into: buffer)
      }
      let theirs = try [UInt8].filled(count) { (buffer) throws(StoreError) in
        _ = try store.contents.read(entry.stored, at: at, into: buffer)
      }
      guard mine == theirs else { return false }
      offset += UInt64(count)
    }
    return true
  }
}
