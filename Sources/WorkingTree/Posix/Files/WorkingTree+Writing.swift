package import Inodes
import LLVSCore
package import TreeNames

extension WorkingTree {
  /// The largest size of a file: beyond any disk, and small enough that offsets can be added.
  static let sizeLimit: UInt64 = 1 << 56

  /// Writes bytes, which are in the host's kernel afterwards; `mapped` ones have no handle that tells the writer.
  /// Throws ``FSError/fileTooBig``, ``FSError/stale`` for a closed handle, or the error of the journal: then
  /// nothing has changed.
  package func write(
    _ handle: HandleNumber, at offset: UInt64, _ bytes: UnsafeRawBufferPointer, mapped: Bool = false
  ) throws(FSError) {
    guard !bytes.isEmpty else { return }
    guard offset <= Self.sizeLimit - UInt64(bytes.count) else { throw .fileTooBig }
    try withRoom { () throws(FSError) in
      let extent: Extent
      do throws(StoreError) {
        extent = try journal.stage(bytes, at: offset)
      } catch {
        throw FSError(error)
      }
      do throws(FSError) {
        try write(handle, extent, mapped: mapped)
      } catch {
        journal.abandon(extent)
        throw error
      }
    }
  }

  private func write(_ handle: HandleNumber, _ extent: Extent, mapped: Bool) throws(FSError) {
    try change { state, base throws(FSError) in
      guard let file = state.handles[handle], file.mode.contains(.write) else { throw .stale }
      let size = try regularContent(of: file.inode, state, base).size
      let flags = Change.WriteFlags(isSteady: file.isSteady, isMapped: mapped)
      guard file.isUnread, !mapped, extent.start <= file.overwritten, extent.end > file.overwritten
      else {
        return Decision(.write(file.inode, extent, flags, seen: nil), of: file.inode) { state in
          state.handles.noteWrite(through: handle)
        }
      }
      // A process that writes all of an unread file replaces it.
      let isReplaced = extent.end >= size
      let seen = isReplaced ? try seen(by: file.process, of: file.inode, state, base) : nil
      return Decision(.write(file.inode, extent, flags, seen: seen), of: file.inode) { state in
        state.handles.noteWrite(through: handle)
        state.handles[handle]?.overwritten = extent.end
        if isReplaced { state.noteReplaced(through: handle) }
      }
    }
  }

  /// Resizes a file: truncate(2) without a handle, ftruncate(2) with one. Throws ``FSError/fileTooBig``,
  /// ``FSError/isDirectory``, ``FSError/invalid`` for a file that has no size, ``FSError/stale``, or the error of
  /// the journal: then nothing has changed.
  package func resize(
    _ number: InodeNumber, to size: UInt64, through handle: HandleNumber? = nil, process: Int32 = 0
  ) throws(FSError) {
    let process = writer(through: handle) ?? process
    confirm(process)
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
        let operations = try resizing(
          number, to: size, through: handle, process: process, state, base)
        return Decision(concerned: [number], operations: operations) { state in
          state.handles.noteWrite(through: handle)
        }
      }
    }
  }

  func writer(through handle: HandleNumber?) -> Int32? {
    handle.flatMap { handle in state { $0.handles[handle]?.process } }
  }

  /// Returns the operations that resize a file, with the lock held; then ``HandleTable/noteWrite(through:)`` is to
  /// be called. Without a handle the file is saved at once, unless a program has unsaved bytes in it.
  func resizing(
    _ number: InodeNumber, to size: UInt64, through handle: HandleNumber?, process: Int32,
    _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [Change.Operation] {
    guard size <= Self.sizeLimit else { throw .fileTooBig }
    let isCut = size < (try regularContent(of: number, state, base)).size
    if let handle {
      guard let file = state.handles[handle], file.inode == number else { throw .stale }
      let seen = isCut && file.isUnread ? try seen(by: process, of: number, state, base) : nil
      return [.resize(number, to: size, file.isSteady ? .steady : [], seen: seen)]
    }
    let seen = isCut ? try seen(by: process, of: number, state, base) : nil
    if let file = state.overlay.nodes[number]?.file, file.isUnsaved {
      return [.resize(number, to: size, file.isSteady ? .steady : [], seen: seen)]
    }
    return [.resize(number, to: size, .steady, seen: seen), .save(number)]
  }

  /// Zeroes a range, extends the file to its end unless `keepingSize`, and gives room to its empty blocks:
  /// fallocate(2), which always moves the times. `room` are the free bytes; nil needs no room.
  ///
  /// The room counts among the file's blocks while the tree is mounted, until bytes, a punch or a truncation take
  /// it.
  ///
  /// - Throws: ``FSError/noSpace`` for more than is free, ``FSError/fileTooBig``, ``FSError/stale``, or the error
  ///   of the journal: then nothing has changed.
  package func allocate(
    _ handle: HandleNumber, range: Range<UInt64>, zeroing: Bool, keepingSize: Bool,
    room: UInt64? = nil
  ) throws(FSError) {
    guard range.upperBound <= Self.sizeLimit else { throw .fileTooBig }
    guard let number = state({ $0.handles[handle]?.inode }) else { throw .stale }
    var given: [Range<UInt64>] = []
    if let room {
      given = try holes(of: number, in: FileRooms.blocks(of: range))
      let needed = given.reduce(0) { $0 + UInt64($1.count) }
      guard needed <= state({ room - min(room, $0.rooms.total) }) else { throw .noSpace }
    }
    let ranges = room == nil ? [] : given + (zeroing ? [range] : [])
    try withRoom { () throws(FSError) in
      try change(mayUseReserve: true) { state, base throws(FSError) in
        guard let file = state.handles[handle], file.mode.contains(.write) else { throw .stale }
        let content = try regularContent(of: number, state, base)
        let operations = Self.allocating(
          number, range, zeroing: zeroing, keepingSize: keepingSize, size: content.size,
          file.isSteady ? .steady : [])
        return Decision(concerned: [number], operations: operations) { state in
          state.handles.noteWrite(through: handle)
          for range in ranges { state.giveRoom(range, to: number) }
        }
      }
    }
  }

  private static func allocating(
    _ number: InodeNumber, _ range: Range<UInt64>, zeroing: Bool, keepingSize: Bool, size: UInt64,
    _ flags: Change.WriteFlags
  ) -> [Change.Operation] {
    var operations: [Change.Operation] = []
    let end = min(range.upperBound, size)
    if zeroing, range.lowerBound < end {
      operations.append(.punch(number, range.lowerBound..<end, flags, seen: nil))
    }
    let isLonger = !keepingSize && range.upperBound > size
    // The times move even if nothing else changes.
    if isLonger || operations.isEmpty {
      let newSize = isLonger ? range.upperBound : size
      operations.append(.resize(number, to: newSize, flags, seen: nil))
    }
    return operations
  }

  package var roomBytes: UInt64 { state { $0.rooms.total } }
}

extension TreeState {
  /// Notes that a handle's process has overwritten the whole file without reading it.
  mutating func noteReplaced(through handle: HandleNumber) {
    guard let file = handles[handle] else { return }
    handles[handle]?.isUnread = false
    writers.note(file.process, replacing: overlay.nodes.names(of: file.inode) ?? [])
  }

  /// Gives room to a range of a file, except where bytes were written.
  mutating func giveRoom(_ range: Range<UInt64>, to number: InodeNumber) {
    guard let content = overlay.nodes.content(of: number) else { return }
    rooms.add(range, to: number)
    for extent in content.extents.extents(in: range) where extent.source != Extent.base {
      rooms.take(extent.start..<extent.end, from: number)
    }
  }
}
