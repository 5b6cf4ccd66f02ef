import LLVS
package import Platform

// Bytes: open, read, write, resize, and when they count as saved (section 4, rule 1 of the contract).

extension LiveTree {
  /// The largest offset that a file may reach.
  ///
  /// Far beyond any disk, and far enough below 2^63 that offsets can be added.
  static let sizeLimit: UInt64 = 1 << 56

  /// Opens a file for a thread, which is remembered to have seen what it reads.
  ///
  /// - Throws: ``FSError/isDirectory``, ``FSError/stale``, ``FSError/system(_:)``.
  package func open(
    _ inode: UInt64, mode: LiveHandle.Mode, thread: Int32 = 0
  ) throws(FSError) -> LiveHandle {
    if mode.contains(.truncate) { try journal.reserve(1024) }
    let process = threads.process(of: thread)
    if mode.contains(.write) { confirm(process, at: inode) }
    let (handle, position) = try lock.withLock {
      _ throws(FSError) -> (LiveHandle, Journal.Position?) in
      let node = try node(inode)
      guard node.kind != .directory else { throw .isDirectory }
      let handle = opened(node, mode, process)
      handle.dropsPages =
        untold.contains(inode)
        || handle.seenBefore != nil && mode.contains(.read) && !mode.contains(.truncate)
      var position: Journal.Position?
      if mode.contains(.truncate), node.size > 0 || node.file?.unsaved == true {
        ensureJournaled(node)
        position = perform(
          .resize(
            inode: inode, size: 0, time: Self.now(), epoch: handle.seenEpoch, flags: []))
      }
      node.handles += 1
      if mode.contains(.write) { node.writers += 1 }
      return (handle, position)
    }
    guard let position else { return handle }
    do throws(FSError) {
      try journal.commit(through: position)
    } catch {
      try? release(handle)
      throw error
    }
    return handle
  }

  /// A handle that says what its writer has seen; call with the lock held.
  private func opened(_ node: LiveNode, _ mode: LiveHandle.Mode, _ process: Int32) -> LiveHandle {
    let shown = shownEpoch(of: node)
    let place = place(of: process, at: node)
    guard mode.contains(.write), let seen = remembered(place), differs(seen, from: shown) else {
      if mode.contains(.read), !mode.contains(.truncate) { noteReading(place, epoch: shown) }
      return LiveHandle(node: node, mode: mode, epoch: shown, process: process)
    }
    let handle = LiveHandle(
      node: node, mode: mode, epoch: mode.contains(.truncate) ? min(seen, shown) : shown,
      process: process)
    handle.seenBefore = seen
    return handle
  }

  /// Notes that bytes are read through a handle that was opened for writing too.
  package func noteRead(_ handle: LiveHandle) {
    lock.withLock { _ in
      guard handle.seenBefore != nil, !handle.mode.contains(.truncate) else { return }
      handle.seenBefore = nil
      noteReading(place(of: handle.process, at: handle.node), epoch: handle.seenEpoch)
    }
  }

  /// What a read is answered with.
  package enum ReadResult: Sendable {
    /// So many bytes are in the buffer.
    case copied(Int)
    /// The bytes stand in a file as they are, and may be spliced from there.
    case stored(File, offset: UInt64, count: Int)
  }

  /// Reads bytes; fewer than asked only at the end of the file.
  package func read(
    _ inode: UInt64, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) -> ReadResult {
    var last: FileContent?
    while true {
      let content = try lock.withLock { _ throws(FSError) in
        let node = try node(inode)
        guard node.kind != .directory else { throw .isDirectory }
        return node.content
      }
      do throws(FSError) {
        return try read(content, at: offset, into: buffer, mayDefer: true)
      } catch .stale {
        // A cut took the bytes into the store and dropped the data file: look again.
        guard content != last else {
          throw .store(.corrupt("a pending file's data file is missing"))
        }
        last = content
      }
    }
  }

  /// Reads bytes of a content, as it was when it was copied.
  func read(
    _ content: FileContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    mayDefer: Bool
  ) throws(FSError) -> ReadResult {
    guard offset < content.size else { return .copied(0) }
    let count = Int(min(UInt64(buffer.count), content.size - offset))
    let extents = content.extents.extents(in: offset..<(offset + UInt64(count)))
    try journal.commit(extents)
    if mayDefer, extents.count == 1, let only = extents.first, only.source != Extent.base,
      only.length == UInt64(count), count >= 32 << 10
    {
      return .stored(try dataFile(only.source), offset: only.offset, count: count)
    }
    var filled = 0
    for extent in extents {
      let at = Int(extent.start - offset)
      if at > filled { buffer[filled..<at].initializeMemory(as: UInt8.self, repeating: 0) }
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[at..<(at + Int(extent.length))])
      try read(extent, of: content, into: part)
      filled = at + Int(extent.length)
    }
    if filled < count { buffer[filled..<count].initializeMemory(as: UInt8.self, repeating: 0) }
    return .copied(count)
  }

  private func dataFile(_ number: UInt32) throws(FSError) -> File {
    guard let file = journal.file(number) else { throw .stale }
    return file
  }

  private func read(
    _ extent: Extent, of content: FileContent, into part: UnsafeMutableRawBufferPointer
  ) throws(FSError) {
    let got: Int
    if extent.source == Extent.base {
      guard let base = content.base else { throw .io }
      do throws(StoreError) {
        got = try store.contents.read(base, at: extent.offset, into: part)
      } catch {
        throw .store(error)
      }
    } else {
      let file = try dataFile(extent.source)
      do throws(SystemError) {
        got = try file.read(into: part, at: extent.offset)
      } catch {
        throw FSError.system(error)
      }
    }
    guard got == part.count else {
      throw .store(.corrupt("a pending file's bytes are missing from its data file"))
    }
  }

  /// Writes bytes; they are with the host's kernel when it returns.
  ///
  /// - Parameters:
  ///   - handle: the file.
  ///   - offset: where the first byte goes.
  ///   - bytes: the bytes.
  ///   - mapped: the bytes come from a mapping, so no handle says who wrote them.
  /// - Throws: ``FSError/fileTooBig``, ``FSError/system(_:)`` for a full disk: nothing has changed.
  package func write(
    _ handle: LiveHandle, at offset: UInt64, _ bytes: UnsafeRawBufferPointer, mapped: Bool = false
  ) throws(FSError) {
    guard !bytes.isEmpty else { return }
    guard offset <= Self.sizeLimit - UInt64(bytes.count) else { throw .fileTooBig }
    let sum = Checksum.of(bytes)
    let staged =
      bytes.count > Journal.inlineLimit ? try journal.stage(bytes) : nil
    defer { if let staged { journal.recorded(staged.source) } }
    try journal.reserve(staged == nil ? bytes.count + 512 : 512)
    let position = lock.withLock { _ -> Journal.Position in
      let node = handle.node
      ensureJournaled(node)
      var flags: Change.WriteFlags = handle.isSteady ? .steady : []
      if mapped { flags.insert(.mapped) }
      handle.wroteSinceFlush = true
      handle.wrote = true
      let now = Self.now()
      if let staged {
        let extent = Extent(
          start: offset, length: UInt64(bytes.count), offset: staged.offset,
          source: staged.source)
        return perform(
          .write(
            inode: node.inode, extent: extent, checksum: sum, time: now,
            epoch: handle.seenEpoch, flags: flags))
      }
      let (extent, position) = journal.append(
        inline: bytes, checksum: sum, inode: node.inode, start: offset, time: now,
        epoch: handle.seenEpoch, flags: flags)
      apply(
        .write(
          inode: node.inode, extent: extent, checksum: sum, time: now, epoch: handle.seenEpoch,
          flags: flags))
      return position
    }
    try journal.commit(through: position)
  }

  /// Gives a file another size: truncate(2) without a handle, ftruncate(2) with one.
  package func resize(
    _ inode: UInt64, to size: UInt64, through handle: LiveHandle?, thread: Int32 = 0
  ) throws(FSError) -> NodeStatus {
    guard size <= Self.sizeLimit else { throw .fileTooBig }
    try journal.reserve(1024)
    let process = handle == nil ? threads.process(of: thread) : 0
    confirm(process, at: inode)
    let (status, position) = try lock.withLock {
      _ throws(FSError) -> (NodeStatus, Journal.Position) in
      let node = try node(inode)
      guard node.kind == .regular else {
        throw node.kind == .directory ? .isDirectory : .invalid
      }
      var flags: Change.WriteFlags = []
      if let handle {
        handle.wroteSinceFlush = true
        handle.wrote = true
        if handle.isSteady { flags.insert(.steady) }
      } else if node.file?.unsaved != true {
        flags = [.savedAtOnce, .steady]
      } else if node.file?.steady == true {
        flags.insert(.steady)
      }
      var seen = handle?.seenEpoch ?? shownEpoch(of: node)
      if size < node.size {
        let before = handle.map(\.seenBefore) ?? remembered(place(of: process, at: node))
        if let before { seen = min(seen, before) }
      }
      ensureJournaled(node)
      let position = perform(
        .resize(inode: inode, size: size, time: Self.now(), epoch: seen, flags: flags))
      if flags.contains(.savedAtOnce) { noteSaver(of: node, process) }
      return (self.status(of: node), position)
    }
    try journal.commit(through: position)
    return status
  }

  /// Makes a range read as zeros, or makes the file reach to its end, or both: fallocate(2).
  package func allocate(
    _ handle: LiveHandle, range: Range<UInt64>, zeroing: Bool, keepingSize: Bool
  ) throws(FSError) {
    guard range.upperBound <= Self.sizeLimit else { throw .fileTooBig }
    try journal.reserve(1024)
    let position = lock.withLock { _ -> Journal.Position? in
      let node = handle.node
      ensureJournaled(node)
      handle.wroteSinceFlush = true
      handle.wrote = true
      var position: Journal.Position?
      let end = min(range.upperBound, node.size)
      if zeroing, range.lowerBound < end {
        position = perform(
          .punch(
            inode: node.inode, range: range.lowerBound..<end, time: Self.now(),
            epoch: handle.seenEpoch))
      }
      guard !keepingSize, range.upperBound > node.size else { return position }
      return perform(
        .resize(
          inode: node.inode, size: range.upperBound, time: Self.now(), epoch: handle.seenEpoch,
          flags: handle.isSteady ? .steady : []))
    }
    if let position { try journal.commit(through: position) }
  }

  // MARK: - Saves

  /// Saves a node's bytes as they stand; call with the lock held.
  func save(_ node: LiveNode, by handle: LiveHandle?) -> Journal.Position? {
    guard let file = node.file, file.unsaved else { return nil }
    let position = perform(
      .save(inode: node.inode, time: Self.now(), epoch: file.writerEpoch))
    handle?.lastSave = file.saved
    handle?.seenBefore = nil
    if let handle { noteSaver(of: node, handle.process) }
    return position
  }

  /// Notes who saved a node, if it is remembered what the process has seen there: its own save is what it
  /// has seen then. Call with the lock held.
  func noteSaver(of node: LiveNode, _ process: Int32) {
    guard let place = place(of: process, at: node), readers[place] != nil else { return }
    node.file?.saved?.reader = place
  }

  /// A copy of the handle's descriptor was closed.
  package func flush(_ handle: LiveHandle) throws(FSError) {
    guard handle.mode.contains(.write) else { return }
    let position = lock.withLock { _ -> Journal.Position? in
      handle.flushes += 1
      let wrote = handle.wroteSinceFlush
      handle.wroteSinceFlush = false
      if wrote || handle.node.file?.mapped == true { return save(handle.node, by: handle) }
      if handle.flushes >= 2 { return saveEmptied(handle) }
      return nil
    }
    if let position { try journal.commit(through: position) }
  }

  /// Saves what an open with O_CREAT or O_TRUNC made of a file, if nobody wrote since.
  private func saveEmptied(_ handle: LiveHandle) -> Journal.Position? {
    guard !handle.wrote, !handle.mode.isDisjoint(with: [.created, .truncate]),
      handle.node.size == 0
    else { return nil }
    return save(handle.node, by: handle)
  }

  /// The last copy of the handle's descriptor is closed.
  package func release(_ handle: LiveHandle) throws(FSError) {
    let position = lock.withLock { _ -> Journal.Position? in
      let node = handle.node
      var position: Journal.Position?
      if handle.mode.contains(.write) {
        // Mapped stores arrive after close's FLUSH: the release of a writer takes them too.
        let saves = handle.wroteSinceFlush || node.file?.mapped == true
        position = saves ? save(node, by: handle) : saveEmptied(handle)
        handle.wroteSinceFlush = false
        node.writers -= 1
      }
      node.handles -= 1
      if node.handles == 0 { detachedNodes[node.inode].map { _ in settleDetached(node) } }
      dropIfUnused(node)
      return position
    }
    if let position { try journal.commit(through: position) }
  }

  /// The last handle of a detached node closed: it is forgotten unless a cut still has to take it.
  private func settleDetached(_ node: LiveNode) {
    if node.file?.saved?.takenIn != nil || node.file?.saved == nil {
      detachedNodes[node.inode] = nil
    }
  }

  /// Saves the file and brings it, its name and everything before to the disk.
  package func fsync(_ handle: LiveHandle) throws(FSError) {
    lock.withLock { _ in
      handle.wroteSinceFlush = false
      _ = save(handle.node, by: handle)
      handle.node.file?.saved?.isSynced = true
    }
    try journal.sync()
  }

  /// Brings every change of names to the disk.
  package func fsyncDirectory() throws(FSError) {
    try journal.sync()
  }

  /// The target of a symbolic link.
  package func readlink(_ inode: UInt64) throws(FSError) -> [UInt8] {
    let content = try lock.withLock { _ throws(FSError) in
      let node = try node(inode)
      guard node.kind == .symlink else { throw .invalid }
      return node.content
    }
    let size = Int(min(content.size, 4095))
    var failure: FSError?
    let target = [UInt8](unsafeUninitializedCapacity: size) { buffer, used in
      do throws(FSError) {
        let raw = UnsafeMutableRawBufferPointer(buffer)
        if case .copied(let count) = try read(content, at: 0, into: raw, mayDefer: false) {
          used = count
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return target
  }
}
