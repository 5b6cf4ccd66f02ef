package import Inodes
import LLVSCore

/// The pending changes: the difference between the recorded tree and the tree that
/// programs see.
///
/// A name shows its ``NameChange``, where it has one, else what the recorded tree has there. An inode shows its
/// ``PendingNode``, where it has one, else its record. The overlay reads nothing while changes are applied; it
/// reads the recorded tree only to follow a new head (``follow(_:)``) and to check whether it is consistent
/// (``check(over:)``). Copies are cheap: a cut has one, which stays as it was (rule F2).
///
/// The invariants have the numbers that the whole working tree gives them.
///
/// INVARIANT I3: no change says what the recorded tree says, except while a cut is under way.
/// INVARIANT I4: an inode that a change leads to is a node, and its names are where programs see it.
/// INVARIANT I5: each directory on the way from a change, or a pending node, to the root is a node.
/// INVARIANT I6: a node without a name has a number that leads to nothing else.
/// INVARIANT I7: what lost its last name here gets none again, and goes unless somebody holds it.
package struct Overlay: Sendable {
  /// The changes of names.
  package internal(set) var changes = ChangeMap()
  /// The inodes of which something is pending, and the directories above them.
  package internal(set) var nodes = NodeMap()
  /// The number of subdirectories that the changes of a directory's names add to it, where that is not 0.
  var addedSubdirectories = SharedMap<InodeNumber, Int>()
  /// The places of changed names in listings, by the directory, once a listing asked for them; no part of the image.
  var cookies = SharedMap<InodeNumber, SharedMap<FileName, EntryCookie>>()
  /// The nodes without a name.
  var orphans: Set<InodeNumber> = []
  /// The epoch of the version that the tree shows.
  package internal(set) var epoch: Epoch
  /// The stamp of the newest change.
  package internal(set) var stamp = ChangeStamp.start
  /// The time in nanoseconds without a write after which a save counts; a setting, and no part of the image.
  package var settle: UInt64 = 2_000_000_000
  /// The changes since the last cut, and those that it left for the next; no part of the image.
  package internal(set) var sinceCut = PendingList()
  /// The changes that the cut under way has to look at; empty without a cut.
  package internal(set) var inCut = PendingList()
  /// True from a cut's instant until its head is followed: what it may have taken is not forgotten.
  package internal(set) var isCutting = false

  package init(epoch: Epoch = .first) { self.epoch = epoch }

  // MARK: - Reading

  /// The inode at a name.
  package enum Shown: Hashable, Sendable {
    /// The recorded tree's inode.
    case recorded
    /// An inode, or nothing, whatever the recorded tree has.
    case pending(InodeNumber?)
  }

  /// Returns what is at a name.
  package func shown(at place: InodeName) -> Shown {
    changes[place].map { .pending($0.inode) } ?? .recorded
  }

  /// Returns the inode that a name leads to; nil if nothing is there.
  ///
  /// - Throws: ``BaseError`` if the recorded tree cannot be read.
  package func inode(at place: InodeName, over base: some Base) throws(BaseError) -> InodeNumber? {
    if case .pending(let number) = shown(at: place) { return number }
    return try base.child(of: place.directory, named: place.name)?.inode.number
  }

  /// False for a directory that the recorded tree does not have.
  package func isRecorded(_ directory: InodeNumber) -> Bool {
    directory == .root || nodes.hasRecordedName(directory) ?? true
  }

  /// Returns the names at which a directory shows something else than the recorded tree.
  package func changedNames(of directory: InodeNumber) -> ChangedNames {
    changes.names(of: directory)
  }

  /// Returns the number of subdirectories that a directory shows, where the recorded tree has so many in it.
  package func subdirectories(of directory: InodeNumber, recorded: Int) -> Int {
    max(0, recorded + (addedSubdirectories[directory] ?? 0))
  }

  /// Returns the path of a directory that is a node; nil if it has no name.
  package func path(of directory: InodeNumber) -> TreePath? {
    var names: [FileName] = []
    var number = directory
    while number != .root {
      guard let place = nodes.place(of: number), names.count <= 4096 else { return nil }
      names.append(place.name)
      number = place.directory
    }
    return names.reversed().reduce(TreePath.root) { $0.appending($1) }
  }

  /// Returns the epoch of the oldest version on which names were removed from a directory; nil for what the tree
  /// shows.
  func epochOfEmptiness(of directory: InodeNumber) -> Epoch? {
    changedNames(of: directory).lazy.map { changes[InodeName(directory: directory, name: $0)]?.on }
      .reduce(nil) { $0.older($1) }
  }
}

extension Overlay {
  /// Sets or removes a change and notes it for the next cut.
  mutating func setChange(_ change: NameChange?, at place: InodeName) {
    let old = changes[place]
    noteSubdirectories(from: old, to: change, in: place.directory)
    changes[place] = change
    if change != nil {
      let isListed = old.map { $0.stamp >= sinceCut.first } ?? false
      if !isListed { sinceCut.note(place, of: changes) }
    } else {
      // Names that came and went leave the directory a later time.
      if nodes.contains(place.directory) { sinceCut.inodes.insert(place.directory) }
      forgetCookie(of: place)
    }
  }

  /// Notes what the recorded tree has at a name where there is a change.
  mutating func setHidden(_ recorded: BaseInode?, at place: InodeName) {
    guard var change = changes[place] else { return }
    let before = change
    change.hide(recorded)
    guard change != before else { return }
    noteSubdirectories(from: before, to: change, in: place.directory)
    changes[place] = change
  }

  private mutating func noteSubdirectories(
    from old: NameChange?, to new: NameChange?, in directory: InodeNumber
  ) {
    let more = (new?.addedSubdirectories ?? 0) - (old?.addedSubdirectories ?? 0)
    guard more != 0 else { return }
    let count = (addedSubdirectories[directory] ?? 0) + more
    addedSubdirectories[directory] = count == 0 ? nil : count
  }

  /// Forgets a node.
  mutating func forget(_ number: InodeNumber) {
    nodes[number] = nil
    orphans.remove(number)
    sinceCut.inodes.remove(number)
  }

  /// Takes the last name of a node, which lives on for those who hold it. Attributes go with the name.
  mutating func makeOrphan(_ number: InodeNumber, _ reason: Orphan) {
    nodes[number]?.becomeOrphan(reason)
    orphans.insert(number)
    sinceCut.inodes.insert(number)
  }
}

extension Overlay: Hashable {
  /// Returns true if two overlays have the same image: the lists for the next cut may differ.
  package static func == (a: Overlay, b: Overlay) -> Bool {
    a.stamp == b.stamp && a.epoch == b.epoch && a.isCutting == b.isCutting
      && a.settle == b.settle && a.orphans == b.orphans && a.changes == b.changes
      && a.nodes == b.nodes
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(stamp)
    hasher.combine(epoch)
  }
}
