import Inodes
import LLVSCore
import Platform
import TreeNames

/// The state of a working tree in memory.
struct TreeState {
  /// The pending changes.
  var overlay: Overlay
  /// The inodes that the kernel knows; always the root.
  private(set) var known: [InodeNumber: KernelNode] = [.root: KernelNode()]
  /// The open files.
  var handles = HandleTable()
  /// The directories without a name that the kernel knows: a program works in each, or has it open.
  private(set) var removed: [InodeNumber: PendingNode] = [:]
  /// The files with bytes that no save covers.
  private(set) var unsaved: Set<InodeNumber> = []
  /// Room that files were given and do not use.
  var rooms = FileRooms()
  /// The times at which files were read.
  var accessTimes = AccessTimes()
  /// The processes that read files, and those that a head left behind.
  var writers = WriterMemory()
  /// The threads that look a path up again.
  var staleOpens = StaleOpens()
  /// The times of what happened since the last cut.
  var activity = TreeActivity()
  /// The store's own patterns of names that no version takes.
  var ignore = IgnorePatterns([])
  /// The versions that epochs stand for, by the store's numbers: a journal begins with them.
  var epochs: [Epoch: UInt32] = [:]
  static let leastEpochLimit = 64
  /// The number of epochs beyond which those are forgotten that nothing refers to.
  var epochLimit = TreeState.leastEpochLimit
  /// The overlay at the instant of the cut that is under way, which needs its bytes.
  var frozen: Overlay?
  /// Grows when another head is shown.
  var publication: UInt64 = 1
  /// True while another head is being put in place: nobody may read the recorded tree then.
  var isPublishing = false
  /// The names that were moved since a head was put in place; nil once the kernel was notified of it.
  var moved: [InodeName]?

  init(overlay: Overlay, epochs: [Epoch: UInt32] = [:]) {
    self.overlay = overlay
    self.epochs = epochs
    unsaved = Set(overlay.nodes.lazy.filter { $0.value.isUnsaved }.map(\.key))
    if !overlay.sinceCut.isEmpty || !unsaved.isEmpty { activity.noteTakeable() }
  }

  /// Goes on with what is pending after another head came, and forgets what belonged to files that are gone.
  ///
  /// `removed` are directories that lost their names with the head.
  mutating func show(
    _ new: Overlay, epochs more: [Epoch: UInt32], removed gone: [InodeNumber: PendingNode]
  ) {
    for (number, node) in gone { noteRemoved(number, node) }
    for (number, _, node) in new.nodes.differences(from: overlay.nodes) {
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

  /// True for an inode that lives on without a name: a program has it open or the kernel knows it.
  func isHeld(_ number: InodeNumber) -> Bool {
    handles.isOpen(number) || (known[number]?.lookups ?? 0) > 0
  }

  /// Notes a look-up of an inode by the kernel.
  mutating func noteLookup(_ number: InodeNumber) {
    known[number, default: KernelNode()].lookups += 1
  }

  /// Notes that the kernel is given the attributes of an inode for a thread; nil if it is not given them.
  mutating func noteReader(_ thread: Int32?, of number: InodeNumber) {
    if let thread { known[number]?.noteReader(thread) }
  }

  /// Notes that a thread changed the attributes of an inode; true if another thread may still bring the old ones to the
  /// kernel.
  mutating func noteChange(of number: InodeNumber, by thread: Int32) -> Bool {
    known[number]?.noteChange(by: thread) ?? false
  }

  /// Forgets look-ups of an inode, as the kernel does; true if an orphan has no holder any more.
  mutating func forget(_ number: InodeNumber, count: UInt64) -> Bool {
    guard let lookups = known[number]?.lookups else { return false }
    guard lookups <= count, number != .root else {
      known[number]?.lookups = lookups - min(lookups, count)
      return false
    }
    known[number] = nil
    removed[number] = nil
    return !isHeld(number) && overlay.nodes.orphan(of: number) != nil
  }

  /// The node of an inode: of a removed directory as it was last, else the pending one.
  func node(_ number: InodeNumber) -> PendingNode? {
    removed.isEmpty ? overlay.nodes.node(number) : removed[number] ?? overlay.nodes.node(number)
  }

  private mutating func noteRemoved(_ number: InodeNumber, _ node: PendingNode) {
    guard known[number] != nil else { return }
    removed[number] = node
    removed[number]?.names = []
  }

  private mutating func noteRemoved(_ number: InodeNumber) {
    guard overlay.nodes.kind(of: number) == .directory, let node = overlay.nodes.node(number) else {
      return
    }
    noteRemoved(number, node)
  }

  // MARK: - What follows from changes

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
      .unlink(let place, _, _), .rmdir(let place, _):
      keepAccessTime(of: place.directory)
    case .rename(_, let from, let to, _, _, _), .exchange(_, let from, _, let to, _, _):
      keepAccessTime(of: from.directory)
      keepAccessTime(of: to.directory)
    case .node, .save, .release: break
    }
  }

  /// Notes what a change has done.
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
    case .unlink(_, let number, _), .rename(_, _, _, let number?, _, _), .release(let number):
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

  /// Notes which files left which names, for processes that have seen them there, and the names that the process has
  /// replaced or made.
  private mutating func noteNames(_ operation: Change.Operation, by process: Int32) {
    switch operation {
    case .unlink(let place, let number, _): writers.leave(place, by: number)
    case .rename(let number, let from, let to, let over, _, _):
      writers.leave(from, by: number)
      if let over { writers.leave(to, by: over) }
      writers.note(process, replacing: [to])
    case .exchange(let one, let place, let other, let otherPlace, _, _):
      writers.leave(place, by: one)
      writers.leave(otherPlace, by: other)
      writers.note(process, replacing: [place, otherPlace])
    case .create(_, let place, _, _, _, _, _), .link(_, let place, _, _):
      writers.note(process, replacing: [place])
    case .resize(let number, _, _, _?):
      writers.note(process, replacing: overlay.nodes.names(of: number) ?? [])
    case .node, .write, .resize, .punch, .save, .attributes, .rmdir, .release: break
    }
  }

  /// Records renames that are made before the kernel is notified of the new head: the kernel carries its old inode to
  /// the new name.
  private mutating func noteMoved(_ operation: Change.Operation) {
    guard moved != nil else { return }
    switch operation {
    case .rename(_, _, let to, _, _, _): moved?.append(to)
    case .exchange(_, let one, _, let other, _, _): moved? += [one, other]
    default: break
    }
  }

  private mutating func noteUnsaved(_ number: InodeNumber) {
    if overlay.nodes.isUnsaved(number) { unsaved.insert(number) } else { unsaved.remove(number) }
  }

  /// Notes the access time of an inode whose mtime is about to change: without a note the mtime is shown.
  private mutating func keepAccessTime(of number: InodeNumber) {
    guard let times = overlay.nodes.times(of: number) else { return }
    accessTimes.keep(number, mtime: times.mtime)
  }
}
