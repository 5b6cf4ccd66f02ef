import Inodes
import PendingTree

/// The open files of a working tree.
struct HandleTable {
  /// A place for an open file. A handle's number is the index of its slot, so that finding the file needs no hash, and
  /// the slot's generation, which tells the handle from earlier ones of the slot.
  private struct Slot {
    var generation: UInt32 = 0
    var file: OpenFile?
  }

  private struct Count {
    var all = 0
    var writers = 0
  }

  private var slots: ContiguousArray<Slot> = []
  private var free: [Int] = []
  private var counts: [InodeNumber: Count] = [:]

  /// Opens a file and returns its handle's number.
  mutating func open(_ file: OpenFile) -> HandleNumber {
    let index = free.popLast() ?? slots.count
    if index == slots.count { slots.append(Slot()) }
    slots[index].generation &+= 1
    slots[index].file = file
    var count = counts[file.inode] ?? Count()
    count.all += 1
    if file.mode.contains(.write) { count.writers += 1 }
    counts[file.inode] = count
    return HandleNumber(UInt64(slots[index].generation) << 32 | UInt64(index))
  }

  /// The slot of a handle; it has no file if that was closed.
  private func slot(_ number: HandleNumber) -> Int? {
    let index = Int(number.rawValue & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].generation == number.rawValue >> 32 else { return nil }
    return index
  }

  /// Closes a handle; returns its file, nil if there is no such handle.
  mutating func close(_ number: HandleNumber) -> OpenFile? {
    guard let slot = slot(number), let file = slots[slot].file, var count = counts[file.inode]
    else { return nil }
    slots[slot].file = nil
    free.append(slot)
    count.all -= 1
    if file.mode.contains(.write) { count.writers -= 1 }
    counts[file.inode] = count.all > 0 ? count : nil
    return file
  }

  /// An open file, by its handle.
  subscript(_ number: HandleNumber) -> OpenFile? {
    get { slot(number).flatMap { slots[$0].file } }
    // A handle that was closed meanwhile is not put back.
    set {
      guard let newValue, let slot = slot(number), slots[slot].file != nil else { return }
      slots[slot].file = newValue
    }
  }

  /// The oldest epoch that the program of an open file had seen; nil if none is open.
  var oldestEpoch: Epoch? {
    slots.lazy.compactMap(\.file).map { file in
      file.seenBefore.map { min($0, file.opened) } ?? file.opened
    }.min()
  }

  /// Notes that bytes were written through a handle, or a size was given; nil stands for no handle.
  mutating func noteWrite(through number: HandleNumber?) {
    guard let number, let slot = slot(number) else { return }
    slots[slot].file?.wroteSinceFlush = true
    slots[slot].file?.wrote = true
  }

  /// Notes that what was written through a handle is no more to be saved by it; if it `hasSaved`, it has seen
  /// what the file shows.
  mutating func noteSave(through number: HandleNumber, hasSaved: Bool) {
    guard let slot = slot(number) else { return }
    slots[slot].file?.wroteSinceFlush = false
    if hasSaved {
      slots[slot].file?.hasSaved = true
      slots[slot].file?.seenBefore = nil
    }
  }

  /// Notes that a cut took bytes of a file beside the head, saved by a program that had seen `seen`. Programs that
  /// opened the file later than that go on with the version that has these bytes, since their handles show them.
  mutating func noteTaken(_ inode: InodeNumber, seen: Epoch, as epoch: Epoch) {
    guard counts[inode] != nil else { return }
    for slot in slots.indices {
      guard let file = slots[slot].file, file.inode == inode, file.opened > seen else { continue }
      slots[slot].file?.opened = epoch
    }
  }

  /// The files that anybody has open.
  var openInodes: [InodeNumber] { Array(counts.keys) }

  /// True if anybody has the file open.
  func isOpen(_ inode: InodeNumber) -> Bool { counts[inode] != nil }

  /// True if anybody has the file open for writing.
  func isWritten(_ inode: InodeNumber) -> Bool { counts[inode]?.writers ?? 0 > 0 }
}

/// The number of a handle, which FUSE calls fh.
package struct HandleNumber: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// Creates a number.
  package init(_ rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// The ways in which a file is opened.
@usableFromInline
package struct OpenMode: OptionSet, Hashable, Sendable {
  @usableFromInline package let rawValue: UInt8
  @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// O_RDONLY or O_RDWR.
  package static let read = OpenMode(rawValue: 1)
  /// O_WRONLY or O_RDWR.
  package static let write = OpenMode(rawValue: 2)
  /// O_APPEND.
  package static let append = OpenMode(rawValue: 4)
  /// O_TRUNC.
  package static let truncate = OpenMode(rawValue: 8)
  /// The open made the file.
  package static let created = OpenMode(rawValue: 16)
}

/// A file as a program has it open.
struct OpenFile {
  /// The file.
  let inode: InodeNumber
  let mode: OpenMode
  /// The process that opened it; 0 where nobody knows.
  let process: Int32
  /// The epoch that the program had seen when it opened the file, or which a cut made of what was saved since.
  var opened: Epoch
  /// The epoch of the file that the process had seen before it opened it for writing, if it is older than
  /// the shown one: it counts if the process cuts the file without having read it through the handle.
  var seenBefore: Epoch?
  /// True if bytes were saved through the handle: it has seen what the file shows.
  var hasSaved = false
  /// True if bytes were written through the handle since its last flush.
  var wroteSinceFlush = false
  /// True if bytes were ever written through the handle.
  var wrote = false
  /// The number of times that a copy of its descriptor was closed.
  var flushes = 0

  init(inode: InodeNumber, mode: OpenMode, process: Int32, opened: Epoch) {
    self.inode = inode
    self.mode = mode
    self.process = process
    self.opened = opened
  }

  /// True if a write through it is a log's or a database's rather than a new file's.
  var isSteady: Bool {
    mode.contains(.append) || mode.isDisjoint(with: [.created, .truncate])
  }
}
