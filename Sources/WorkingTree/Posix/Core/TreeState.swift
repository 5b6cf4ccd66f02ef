package import Inodes
package import LLVSCore
package import TreeNames

/// The state of a working tree in memory.
struct TreeState {
  var overlay: Overlay
  /// The inodes that the kernel knows; always the root.
  private(set) var known = NumberMap(filler: KernelNode())
  var handles = HandleTable()
  /// The directories without a name that the kernel knows: a program works in each, or has it open.
  private(set) var removed: [InodeNumber: PendingNode] = [:]
  /// The files with bytes that no save covers.
  private(set) var unsaved: Set<InodeNumber> = []
  var rooms = FileRooms()
  var accessTimes = AccessTimes()
  var writers = WriterMemory()
  var staleOpens = StaleOpens()
  var activity = TreeActivity()
  /// The store's own patterns.
  var ignore: IgnorePatterns
  /// The versions of epochs, by the store's numbers.
  var epochs: [Epoch: UInt32] = [:]
  static let leastEpochLimit = 64
  /// The number of epochs beyond which unused ones are forgotten.
  var epochLimit = TreeState.leastEpochLimit
  /// The overlay at the instant of the current cut, which needs its bytes.
  var frozen: Overlay?
  /// Grows with each head that is shown.
  var publication: UInt64 = 1
  /// True while another head is being shown: then no call may read the recorded tree.
  var isPublishing = false
  /// The old and new names of renames since a head was shown; nil if the kernel has no notice to expect.
  var moved: [(from: InodeName, to: InodeName)]?

  init(
    overlay: Overlay, epochs: [Epoch: UInt32] = [:], ignore: IgnorePatterns = IgnorePatterns([])
  ) {
    self.overlay = overlay
    self.ignore = ignore
    self.epochs = epochs
    known[.root] = KernelNode()
    unsaved = Set(overlay.nodes.lazy.filter { $0.value.isUnsaved }.map(\.key))
    if !overlay.sinceCut.isEmpty || !unsaved.isEmpty { activity.noteTakeable() }
  }

  /// Shows what is pending over another head, and forgets what belonged to removed files. `removed` are directories
  /// that lost their names with the head.
  mutating func show(
    _ new: Overlay, epochs more: [Epoch: UInt32], removed gone: [InodeNumber: PendingNode]
  ) {
    for (number, node) in gone { noteRemoved(number, node) }
    new.nodes.forEachDifference(from: overlay.nodes) { number, _, node in
      if node == nil, !isHeld(number) { rooms.remove(number) }
      if node?.isUnsaved ?? false { unsaved.insert(number) } else { unsaved.remove(number) }
    }
    overlay = new
    epochs.merge(more) { $1 }
    frozen = nil
    publication += 1
    forgetEpochs(ifMoreThan: epochLimit)
  }

  /// Applies a change that is in the journal.
  mutating func apply(_ change: Change) {
    noteBefore(change.operation)
    overlay.apply(change)
    noteAfter(change.operation, at: change.time)
    activity.note(change.operation)
    noteNames(change.operation, by: change.process)
    noteMoved(change.operation)
  }

  /// True for an inode that lives without a name: a program has it open or the kernel knows it.
  @inline(__always)
  func isHeld(_ number: InodeNumber) -> Bool {
    // The kernel knows most that are asked for.
    (known[number]?.lookups ?? 0) > 0 || handles.isOpen(number)
  }

  mutating func noteLookup(_ number: InodeNumber) {
    known.change(number, default: KernelNode()) { $0.lookups += 1 }
  }

  /// Notes that a thread gets the attributes of an inode; nil for none.
  mutating func noteReader(_ thread: Int32?, of number: InodeNumber) {
    if let thread { known.change(number) { $0.noteReader(thread) } }
  }

  /// Notes a change of attributes by a thread; true if another thread may still bring the old ones to the kernel.
  mutating func noteChange(of number: InodeNumber, by thread: Int32) -> Bool {
    known.change(number) { $0.noteChange(by: thread) } ?? false
  }

  /// Forgets look-ups of an inode, as the kernel does; true if an orphan has no holder any more.
  mutating func forget(_ number: InodeNumber, count: UInt64) -> Bool {
    guard let lookups = known[number]?.lookups else { return false }
    guard lookups <= count, number != .root else {
      known.change(number) { $0.lookups = lookups - min(lookups, count) }
      return false
    }
    known[number] = nil
    removed[number] = nil
    return !isHeld(number) && overlay.nodes.orphan(of: number) != nil
  }

  /// The pending node of an inode, or the last one of a removed directory.
  func node(_ number: InodeNumber) -> PendingNode? {
    removed.isEmpty ? overlay.nodes.node(number) : removed[number] ?? overlay.nodes.node(number)
  }

  /// The parts of ``node(_:)`` that a status shows.
  @inline(__always)
  func stated(_ number: InodeNumber) -> NodeMap.Stated? {
    guard !removed.isEmpty, let node = removed[number] else { return overlay.nodes.stated(number) }
    return NodeMap.Stated(
      kind: node.kind, attributes: node.attributes, changed: node.changed, names: node.names.count,
      isRecorded: !node.recordedNames.isEmpty, content: node.file?.content)
  }

  /// True for a directory without a name that the kernel knows.
  func isRemoved(_ number: InodeNumber) -> Bool {
    !removed.isEmpty && removed.index(forKey: number) != nil
  }

  private mutating func noteRemoved(_ number: InodeNumber, _ node: PendingNode) {
    guard known.contains(number) else { return }
    removed[number] = node
    removed[number]?.names = []
  }

  private mutating func noteRemoved(_ number: InodeNumber) {
    guard overlay.nodes.kind(of: number) == .directory, let node = overlay.nodes.node(number) else {
      return
    }
    noteRemoved(number, node)
  }

  /// Notes what a change is about to replace.
  private mutating func noteBefore(_ operation: Change.Operation) {
    switch operation {
    case .write(let number, _, _, _), .punch(let number, _, _, _), .attributes(let number, _, _, _):
      keepAccessTime(of: number)
    case .resize(let number, let size, _, _):
      keepAccessTime(of: number)
      if let before = overlay.nodes.content(of: number)?.size, size < before {
        rooms.cutOff(number, at: size)
      }
    case .create(_, let place, _, _, _, _, _), .link(_, let place, _, _),
      .unlink(let place, _, _, _), .rmdir(let place, _):
      keepAccessTime(of: place.directory)
    case .rename(_, let from, let to, _, _, _, _), .exchange(_, let from, _, let to, _, _):
      keepAccessTime(of: from.directory)
      keepAccessTime(of: to.directory)
    case .node, .save, .release: break
    }
  }

  private mutating func noteAfter(_ operation: Change.Operation, at time: Attributes.Time) {
    switch operation {
    case .write(let number, let extent, _, _):
      rooms.take(extent.start..<extent.end, from: number)
      noteUnsaved(number)
    case .punch(let number, let range, _, _):
      rooms.take(range, from: number)
      noteUnsaved(number)
    case .create(let number, _, _, _, _, _, _), .resize(let number, _, _, _), .save(let number, _):
      noteUnsaved(number)
    case .unlink(_, let number, _, _), .rename(_, _, _, let number?, _, _, _), .release(let number):
      noteRemoved(number)
      guard !overlay.nodes.contains(number) else { break }
      rooms.remove(number)
      unsaved.remove(number)
    case .attributes(let number, let attributes, _, _):
      guard var node = removed[number] else { break }
      node.attributes = attributes
      node.changed = time
      removed[number] = node
    case .rmdir(_, let number): noteRemoved(number)
    case .node, .link, .rename, .exchange: break
    }
  }

  /// Records the inode that each removed name had, for processes that read it there, and the names that the process
  /// changed.
  private mutating func noteNames(_ operation: Change.Operation, by process: Int32) {
    switch operation {
    case .unlink(let place, let number, _, _): writers.leave(place, by: number)
    case .rename(let number, let from, let to, let over, _, _, _):
      writers.leave(from, by: number)
      if let over { writers.leave(to, by: over) }
      writers.note(process, replacing: [to])
    case .exchange(let one, let place, let other, let otherPlace, _, _):
      writers.leave(place, by: one)
      writers.leave(otherPlace, by: other)
      writers.note(process, replacing: [place, otherPlace])
    case .create(_, let place, _, _, _, _, _), .link(_, let place, _, _):
      if writers.isDoubtful(process) { writers.note(process, replacing: [place]) }
    case .resize(let number, _, _, _?):
      writers.note(process, replacing: overlay.nodes.names(of: number) ?? [])
    case .node, .write, .resize, .punch, .save, .attributes, .rmdir, .release: break
    }
  }

  /// Records renames made before the kernel is notified of the new head, because it carries its old inode to the
  /// new name.
  private mutating func noteMoved(_ operation: Change.Operation) {
    guard moved != nil else { return }
    switch operation {
    case .rename(_, let from, let to, _, _, _, _): moved?.append((from, to))
    case .exchange(_, let one, _, let other, _, _): moved? += [(one, other), (other, one)]
    default: break
    }
  }

  private mutating func noteUnsaved(_ number: InodeNumber) {
    if overlay.nodes.isUnsaved(number) { unsaved.insert(number) } else { unsaved.remove(number) }
  }

  /// Keeps the access time of an inode whose mtime is about to change: by default the mtime is shown.
  private mutating func keepAccessTime(of number: InodeNumber) {
    guard let times = overlay.nodes.times(of: number) else { return }
    if accessTimes[number] == nil { accessTimes[number] = times.mtime }
  }
}

/// Brings the recorded tree's rows to the disk.
package typealias RowsSync = @Sendable () throws(StoreError) -> Void

/// A reader of the maps of versions, for what the recorded tree's rows lack.
package protocol HeadReading: AnyObject, Sendable {
  /// Returns all extended attributes at a path of a version, sorted by name; nil is the head, which must have the
  /// path.
  func extended(
    at path: TreePath, in version: VersionNumber?
  ) throws(FSError) -> [Attributes.Extended]

  /// Returns the value of one of the store's attributes of a file (`user.llvs.*`); nil for another name.
  func ownAttribute(_ name: [UInt8], of place: StatedPlace) throws(FSError) -> [UInt8]?
}
