import Inodes

struct HandleTable {
  /// A place for an open file. A handle's number is the slot's index, so no hash is needed, and its generation.
  private struct Slot {
    var generation: UInt32 = 0
    var file: OpenFile?
  }

  private struct Count {
    var all = 0
    var writers = 0

    mutating func add(_ all: Int, writers: Int) {
      self.all += all
      self.writers += writers
    }
  }

  private var slots: ContiguousArray<Slot> = []
  private var free: [Int] = []
  private var counts = NumberMap(filler: Count())

  mutating func open(_ file: OpenFile) -> HandleNumber {
    let index = free.popLast() ?? slots.count
    if index == slots.count { slots.append(Slot()) }
    slots[index].generation &+= 1
    slots[index].file = file
    let writers = file.mode.contains(.write) ? 1 : 0
    counts.change(file.inode, default: Count()) { $0.add(1, writers: writers) }
    return HandleNumber(UInt64(slots[index].generation) << 32 | UInt64(index))
  }

  /// The slot of a handle; its file is nil if it was closed.
  private func slot(_ number: HandleNumber) -> Int? {
    let index = Int(number.rawValue & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].generation == number.rawValue >> 32 else { return nil }
    return index
  }

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

  subscript(_ number: HandleNumber) -> OpenFile? {
    get { slot(number).flatMap { slots[$0].file } }
    // A handle that was closed concurrently is not put back.
    set {
      guard let newValue, let slot = slot(number), slots[slot].file != nil else { return }
      slots[slot].file = newValue
    }
  }

  mutating func noteWrite(through number: HandleNumber?) {
    guard let number, let slot = slot(number) else { return }
    slots[slot].file?.wroteSinceFlush = true
    slots[slot].file?.wrote = true
  }

  /// Notes that a copy of a handle's descriptor was closed, and its bytes were saved.
  mutating func noteFlush(through number: HandleNumber) {
    guard let slot = slot(number) else { return }
    slots[slot].file?.flushes += 1
    slots[slot].file?.wroteSinceFlush = false
  }

  /// Notes that the bytes written through a handle need no save by it.
  mutating func noteSave(through number: HandleNumber) {
    guard let slot = slot(number) else { return }
    slots[slot].file?.wroteSinceFlush = false
  }

  var openInodes: [InodeNumber] { counts.numbers }
  func isOpen(_ inode: InodeNumber) -> Bool { counts.contains(inode) }
  func isWritten(_ inode: InodeNumber) -> Bool { counts[inode]?.writers ?? 0 > 0 }
  func hasOneWriter(_ inode: InodeNumber) -> Bool { counts[inode]?.writers == 1 }
}

/// The number that FUSE calls fh.
package struct HandleNumber: Hashable, Sendable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

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

struct OpenFile {
  let inode: InodeNumber
  let mode: OpenMode
  /// 0 if unknown.
  let process: Int32
  /// True if the process was behind at the file's name when it opened it, and has not read through the handle.
  var isUnread = false
  /// The bytes from the file's beginning that were written through the handle since.
  var overwritten: UInt64 = 0
  var wroteSinceFlush = false
  var wrote = false
  /// The number of closed copies of its descriptor.
  var flushes = 0

  /// True if its writes are a log's or a database's, not a new file's.
  var isSteady: Bool { mode.contains(.append) || mode.isDisjoint(with: [.created, .truncate]) }
}
