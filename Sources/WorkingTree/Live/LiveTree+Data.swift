import Inodes
import LLVSCore
import Platform
package import TreeNames

// Bytes: open, read, write, resize, and when they count as saved (docs/writes.md, rule 1).

extension LiveTree {
  /// The largest offset that a file may reach.
  ///
  /// Far beyond any disk, and far enough below 2^63 that offsets can be added.
  static let sizeLimit: UInt64 = 1 << 56

  /// Opens a file for a thread, which is remembered to have seen what it reads.
  ///
  /// Truncating moves the times of an empty file too (`make` tells a stamp's age by them), and empties one
  /// that is opened for reading alone as truncate(2) does: no close of a writer follows that would save it.
  ///
  /// - Throws: ``FSError/isDirectory``, ``FSError/stale``, ``FSError/system(_:)``.
  package func open(
    _ inode: UInt64, mode: LiveHandle.Mode, thread: Int32 = 0, accessing: Bool = true
  ) throws(FSError) -> LiveHandle {
    if mode.contains(.truncate) {
      guard mode.contains(.write) else {
        _ = try resize(inode, to: 0, through: nil, thread: thread)
        return try open(
          inode, mode: mode.subtracting(.truncate), thread: thread, accessing: accessing)
      }
      try withRoom { () throws(FSError) in try journal.reserve(1024, isRemoval: true) }
    }
    let process = threads.process(of: thread)
    if mode.contains(.write) { confirm(process, at: inode) }
    let (handle, done) = try lock.withLock {
      _ throws(FSError) -> (LiveHandle, (Journal.Position, BytesBefore)?) in
      let node = try node(inode)
      guard node.kind != .directory else { throw .isDirectory }
      let handle = opened(node, mode, process)
      handle.dropsPages =
        handle.seenBefore != nil && mode.contains(.read) && !mode.contains(.truncate)
      var done: (Journal.Position, BytesBefore)?
      if mode.contains(.truncate) {
        done = resized(node, to: 0, epoch: handle.opened, flags: [])
      }
      node.handles += 1
      if mode.contains(.write) { node.writers += 1 }
      // Reads from the page cache send no request, so an open for reading alone counts as a read.
      if accessing, mode == .read { handle.hasMovedAccessTime = noteAccess(of: node) }
      return (handle, done)
    }
    guard let (position, before) = done else { return handle }
    do throws(FSError) {
      try commit([position], orRestore: before)
    } catch {
      try? release(handle)
      throw error
    }
    return handle
  }

  /// A handle that says what its writer has seen; call with the lock held.
  private func opened(_ node: LiveNode, _ mode: LiveHandle.Mode, _ process: Int32) -> LiveHandle {
    let shown = shownEpoch(of: node)
    guard mode.contains(.write), let seen = remembered(process, at: node),
      differs(seen, from: shown)
    else {
      if mode.contains(.read), !mode.contains(.truncate) {
        noteReading(process, of: node, epoch: shown)
      }
      return LiveHandle(
        node: node, mode: mode, epoch: shown, stamp: stamp, process: process)
    }
    let handle = LiveHandle(
      node: node, mode: mode, epoch: mode.contains(.truncate) ? min(seen, shown) : shown,
      stamp: stamp, process: process)
    handle.seenBefore = seen
    return handle
  }

  /// Notes that bytes are read through a handle that was opened for writing too.
  package func noteRead(_ handle: LiveHandle) {
    lock.withLock { _ in
      guard handle.seenBefore != nil, !handle.mode.contains(.truncate) else { return }
      handle.seenBefore = nil
      noteReading(handle.process, of: handle.node, epoch: seenEpoch(of: handle))
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
    // Again where a sync of the staging file failed meanwhile: nothing may refer to it any more.
    while true {
      if let (records, before) = try put(handle, at: offset, bytes, mapped: mapped) {
        return try commit(records, orRestore: before)
      }
    }
  }

  /// Records bytes; nil if the staging file that they went to was given up.
  private func put(
    _ handle: LiveHandle, at offset: UInt64, _ bytes: UnsafeRawBufferPointer, mapped: Bool
  ) throws(FSError) -> ([Journal.Position], BytesBefore)? {
    let staged =
      bytes.count > Journal.inlineLimit
      ? try withRoom { () throws(FSError) in try journal.stage(halving: bytes) } : []
    defer { for part in staged { journal.recorded(part.source) } }
    let sum = staged.isEmpty ? Checksum.of(bytes) : 0
    let own = staged.isEmpty ? bytes.count : 0
    let size = staged.reduce(own + 512) { $0 + 128 * $1.checksums.count }
    try withRoom { () throws(FSError) in try journal.reserve(size) }
    return lock.withLock { _ -> ([Journal.Position], BytesBefore)? in
      if staged.contains(where: { journal.isGivenUp($0.source) }) { return nil }
      let node = handle.node
      ensureJournaled(node)
      var flags: Change.WriteFlags = handle.isSteady ? .steady : []
      if mapped { flags.insert(.mapped) }
      handle.wroteSinceFlush = true
      handle.wrote = true
      let now = Self.now()
      // Once: what is recorded is what was applied, also where that changes what the file shows.
      let seen = seenEpoch(of: handle)
      var before = BytesBefore(node, offset..<(offset + UInt64(bytes.count)))
      var start = offset
      var records: [Journal.Position] = []
      for part in staged {
        let extent = Extent(
          start: start, length: part.length, offset: part.offset, source: part.source)
        start = extent.end
        apply(
          .write(
            inode: node.inode, extent: extent, checksum: 0, time: now, epoch: seen,
            flags: flags))
        records += journal.append(
          staged: extent, checksums: part.checksums, inode: node.inode, time: now,
          epoch: seen, flags: flags)
      }
      if !staged.isEmpty {
        before.changed = node.stamp
        return (records, before)
      }
      let (extent, position) = journal.append(
        inline: bytes, checksum: sum, inode: node.inode, start: offset, time: now,
        epoch: seen, flags: flags)
      apply(
        .write(
          inode: node.inode, extent: extent, checksum: sum, time: now, epoch: seen,
          flags: flags))
      before.changed = node.stamp
      return ([position], before)
    }
  }

  /// Gives a node's bytes another size; call with the lock held.
  private func resized(
    _ node: LiveNode, to size: UInt64, epoch: UInt64, flags: Change.WriteFlags
  ) -> (Journal.Position, BytesBefore) {
    ensureJournaled(node)
    var before = BytesBefore(node, size..<max(size, node.size))
    let position = perform(
      .resize(inode: node.inode, size: size, time: Self.now(), epoch: epoch, flags: flags))
    before.changed = node.stamp
    return (position, before)
  }

  /// Gives a file another size: truncate(2) without a handle, ftruncate(2) with one.
  package func resize(
    _ inode: UInt64, to size: UInt64, through handle: LiveHandle?, thread: Int32 = 0
  ) throws(FSError) -> NodeStatus {
    var change = StatusChange()
    change.size = size
    return try setattr(inode, change, through: handle, thread: thread)
  }

  /// The change of a node's size, if there is one; call with the lock held.
  func resizing(
    _ node: LiveNode, _ change: StatusChange, through handle: LiveHandle?, _ process: Int32,
    at time: Attributes.Time
  ) throws(FSError) -> Change? {
    guard let size = change.size else { return nil }
    guard node.kind == .regular else {
      throw node.kind == .directory ? .isDirectory : .invalid
    }
    var flags: Change.WriteFlags = []
    if let handle {
      if handle.isSteady { flags.insert(.steady) }
    } else if node.file?.unsaved != true {
      flags = [.savedAtOnce, .steady]
    } else if node.file?.steady == true {
      flags.insert(.steady)
    }
    if change.changesAttributes { flags.insert(.joined) }
    var seen = handle.map { seenEpoch(of: $0) } ?? shownEpoch(of: node)
    if size < node.size {
      // Since it opened the file it may have read or saved it through another handle.
      let before: UInt64? =
        if let handle {
          handle.seenBefore.map { max($0, remembered(handle.process, at: node) ?? 0) }
        } else {
          remembered(process, at: node)
        }
      if let before { seen = min(seen, before) }
    }
    return .resize(inode: node.inode, size: size, time: time, epoch: seen, flags: flags)
  }

  /// Makes a range read as zeros, or makes the file reach to its end, or both, and gives room to its blocks that hold no
  /// bytes, where `room` says how much there is: fallocate(2), which moves the times whatever it finds to do.
  ///
  /// The room counts among the file's blocks while this tree lives, until bytes come to it, it is punched or cut off,
  /// or the file is gone.
  ///
  /// - Throws: ``FSError/noSpace`` for more than there is and other files were not given, ``FSError/fileTooBig``,
  ///   ``FSError/system(_:)`` for a full disk.
  package func allocate(
    _ handle: LiveHandle, range: Range<UInt64>, zeroing: Bool, keepingSize: Bool,
    room: UInt64? = nil
  ) throws(FSError) {
    guard range.upperBound <= Self.sizeLimit else { throw .fileTooBig }
    var given: [Range<UInt64>] = []
    if let room {
      given = try holes(of: handle.node, in: Allocations.blocks(of: range))
      let needed = given.reduce(0) { $0 + UInt64($1.count) }
      let free = lock.withLock { _ in room - min(room, allocations.total) }
      guard needed <= free else { throw .noSpace }
    }
    try withRoom { () throws(FSError) in try journal.reserve(1024, isRemoval: true) }
    let (records, before) = lock.withLock { _ -> ([Journal.Position], BytesBefore) in
      let node = handle.node
      ensureJournaled(node)
      handle.wroteSinceFlush = true
      handle.wrote = true
      var before = BytesBefore(node, range)
      let (now, seen) = (Self.now(), seenEpoch(of: handle))
      var flags: Change.WriteFlags = handle.isSteady ? .steady : []
      var changes: [Change] = []
      let end = min(range.upperBound, node.size)
      if zeroing, range.lowerBound < end {
        changes.append(
          .punch(inode: node.inode, range: range.lowerBound..<end, time: now, epoch: seen))
        flags.insert(.joined)
      }
      let isLonger = !keepingSize && range.upperBound > node.size
      // Where nothing changes, the times move all the same.
      if isLonger || changes.isEmpty {
        // Goes first, so that it can say whether it counts alone.
        changes.insert(
          .resize(
            inode: node.inode, size: isLonger ? range.upperBound : node.size, time: now,
            epoch: seen, flags: flags),
          at: 0)
      }
      let records = perform(changes)
      before.changed = node.stamp
      return (records, before)
    }
    try commit(records, orRestore: before)
    if room != nil { give(given + (zeroing ? [range] : []), to: handle.node) }
  }

  /// Notes the room that ranges of a file were given, but for what bytes have come to meanwhile.
  private func give(_ ranges: [Range<UInt64>], to node: LiveNode) {
    lock.withLock { _ in
      guard node.parent != nil || node.handles > 0 else { return }
      for range in ranges {
        allocations.add(range, to: node.inode)
        for extent in node.content.extents.extents(in: range) where extent.source != Extent.base {
          allocations.take(extent.start..<extent.end, from: node.inode)
        }
      }
    }
  }

  /// Bytes of the disk that files were given and do not use.
  package var allocatedBytes: UInt64 { lock.withLock { _ in allocations.total } }

  // MARK: - Saves

  /// Saves a node's bytes as they stand; call with the lock held.
  func save(_ node: LiveNode, by handle: LiveHandle?) -> Journal.Position? {
    guard let file = node.file, file.unsaved else { return nil }
    let position = perform(
      .save(inode: node.inode, time: Self.now(), epoch: file.writerEpoch))
    handle?.lastSave = file.saved
    handle?.seenStamp = stamp
    handle?.seenBefore = nil
    if let handle { noteSaver(of: node, handle.process) }
    return position
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
      settleDetached(node)
      dropIfUnused(node)
      return position
    }
    if let position { try journal.commit(through: position) }
  }

  /// A detached node that nobody has open or can open is forgotten, unless a cut still has to take it.
  func settleDetached(_ node: LiveNode) {
    guard node.parent == nil, node.handles == 0, node.lookups == 0,
      detachedNodes[node.inode] != nil
    else { return }
    if node.file?.saved?.takenIn != nil || node.file?.saved == nil {
      forgetDetached(node.inode)
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
}
