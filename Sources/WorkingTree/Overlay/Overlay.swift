package import Inodes
package import LLVSCore
import TreeNames

/// The pending changes: the difference between the recorded tree and the tree that programs see.
///
/// A name shows its ``NameChange``, else the recorded entry; an inode its ``PendingNode``, else its record. Only
/// ``follow(_:)`` and ``check(over:)`` read the recorded tree. A cut has a cheap copy, which stays unchanged (F2).
///
/// INVARIANT I3: no change says what the recorded tree says, except while a cut is under way.
/// INVARIANT I4: an inode that a change leads to is a node, and its names are where programs see it.
/// INVARIANT I5: each directory on the way from a change, or a pending node, to the root is a node.
/// INVARIANT I6: a node without a name has a number that leads to nothing else.
/// INVARIANT I7: an inode that lost its last name here gets none again, and is forgotten unless a handle holds it.
package struct Overlay: Sendable {
  package internal(set) var changes = ChangeMap()
  /// The inodes with pending changes, and the directories above them.
  package internal(set) var nodes = NodeMap()
  /// The number of subdirectories that changes of names add to a directory, where not 0.
  var addedSubdirectories = SharedMap<InodeNumber, Int>()
  /// The cookies of changed names, by directory, once a listing needed them; no part of the image.
  var cookies = SharedMap<InodeNumber, SharedMap<FileName, EntryCookie>>()
  var orphans: Set<InodeNumber> = []
  package internal(set) var epoch: Epoch
  package internal(set) var stamp = ChangeStamp.start
  /// The quiet period in nanoseconds; a setting, and no part of the image.
  package var settle: UInt64 = 2_000_000_000
  /// The changes since the last cut, and those that it left; no part of the image.
  package internal(set) var sinceCut = PendingList()
  /// The changes that the current cut has to look at; empty without a cut.
  package internal(set) var inCut = PendingList()
  /// Directories made here that a cut ignored, and those made in them: what has names only in these is not listed.
  /// One leaves when the recorded tree has it. A cut that may take it looks at it or at a directory above it, and
  /// so at everything in it.
  package internal(set) var ignoredDirectories = SharedSet<InodeNumber>()
  /// The number of changes at aside names.
  private(set) var asideCount = 0
  /// True from a cut's instant until its head is followed; during that time nothing it may take is forgotten.
  package internal(set) var isCutting = false
  package init(epoch: Epoch = .first) { self.epoch = epoch }

  package enum Shown: Hashable, Sendable {
    case recorded
    /// An inode, or nothing, that hides the recorded tree's.
    case pending(InodeNumber?)
  }

  @inline(__always)
  package func shown(at place: InodeName) -> Shown {
    changes[place].map { .pending($0.inode) } ?? .recorded
  }

  /// nil if nothing is there.
  package func inode(at place: InodeName, over base: some Base) throws(StoreError) -> InodeNumber? {
    if case .pending(let number) = shown(at: place) { return number }
    return try base.child(of: place.directory, named: place.name)?.inode.number
  }

  @inline(__always)
  package func isRecorded(_ directory: InodeNumber) -> Bool {
    directory == .root || nodes.hasRecordedName(directory) ?? true
  }

  package func changedNames(of directory: InodeNumber) -> ChangedNames {
    changes.names(of: directory)
  }

  /// `recorded` is the number in the recorded tree.
  package func subdirectories(of directory: InodeNumber, recorded: Int) -> Int {
    max(0, recorded + (addedSubdirectories[directory] ?? 0))
  }

  /// nil for a directory without a name; the directory must be a node.
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

  /// The oldest epoch on which names were removed from a directory; nil for what the tree shows.
  func epochOfEmptiness(of directory: InodeNumber) -> Epoch? {
    changedNames(of: directory).lazy.map { changes[InodeName(directory: directory, name: $0)]?.on }
      .reduce(nil) { $0.older($1) }
  }

  /// The epochs that pending changes are made on, and the current one.
  /// - Complexity: O(pending).
  package var epochsInUse: Set<Epoch> {
    var used: Set<Epoch> = [epoch]
    for change in changes.values {
      used.formUnion([change.on, change.other?.on].compactMap(\.self))
    }
    for node in nodes.values {
      used.formUnion([node.on, node.file?.saved?.on, node.file?.counted?.on].compactMap(\.self))
      if case .detached(_, _, let epoch)? = node.orphan { used.insert(epoch) }
    }
    return used
  }
}

extension Overlay {
  /// Sets or removes a change and lists it for the next cut.
  mutating func setChange(_ change: NameChange?, at place: InodeName) {
    setChange(change, at: place, over: changes[place])
  }

  /// As ``setChange(_:at:)``, with the change that is at the name.
  mutating func setChange(_ change: NameChange?, at place: InodeName, over old: NameChange?) {
    noteSubdirectories(from: old, to: change, in: place.directory)
    changes[place] = change
    if place.isAside { asideCount += (change == nil ? 0 : 1) - (old == nil ? 0 : 1) }
    if let change {
      let isKnown = old.map { isListed($0, at: place, since: sinceCut.first) } ?? false
      if !isKnown, lists(change, at: place) { sinceCut.note(place, of: changes) }
    } else {
      // Names that were added and removed leave the directory a later time.
      if nodes.contains(place.directory), !ignoredDirectories.contains(place.directory) {
        sinceCut.inodes.insert(place.directory)
      }
      forgetCookie(of: place)
    }
  }

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

  mutating func forget(_ number: InodeNumber) {
    nodes[number] = nil
    orphans.remove(number)
    sinceCut.inodes.remove(number)
    ignoredDirectories.remove(number)
  }

  /// Removes the last name of an open node, and its new attributes.
  mutating func makeOrphan(_ number: InodeNumber, _ reason: Orphan) {
    nodes[number]?.becomeOrphan(reason)
    orphans.insert(number)
    sinceCut.inodes.insert(number)
  }

  /// True if programs see scratch at a name, or saw it there until it was removed or moved away after the last cut,
  /// and see what the head has there escaped.
  package func isAside(_ place: InodeName) -> Bool {
    asideCount > 0 && changes[place.aside] != nil
  }

  /// The scratch whose names the head has, or had since the last head, by own name.
  /// - Complexity: O(*p*) for *p* pending names if there is any.
  package var namesAside: [InodeName] {
    guard asideCount > 0 else { return [] }
    return changes.compactMap { place, change in
      place.isAside && change.inode != nil ? place.own : nil
    }
  }

  /// Returns the place in the tree of a name that programs use.
  package func place(
    shownAt shown: InodeName, over base: some Base
  ) throws(StoreError) -> InodeName {
    guard asideCount > 0 else { return shown }
    if isAside(shown) { return shown.aside }
    guard shown.name.bytes.starts(with: DisplacedName.prefix),
      try inode(at: shown, over: base) == nil
    else { return shown }
    var places: [InodeName] = []
    if let key = DisplacedName.key(of: shown.name.bytes) {
      let name = TreePath(TreeView.ownPath(key)).name
      places = [InodeName(directory: shown.directory, name: name)]
    } else {
      // The name has only a hash.
      places = changedNames(of: shown.directory).map {
        InodeName(directory: shown.directory, name: $0).own
      }
    }
    for place in places where isAside(place) {
      guard try inode(at: place, over: base) != nil else { continue }
      if try escaped(place, over: base) == shown.name { return place }
    }
    return shown
  }

  /// Returns the name under which programs see a place of the tree.
  package func shownName(of place: InodeName, over base: some Base) throws(StoreError) -> FileName {
    if place.isAside { return place.own.name }
    return isAside(place) ? try escaped(place, over: base) : place.name
  }

  /// Returns the escaped name of what the head has at the name of scratch.
  private func escaped(_ place: InodeName, over base: some Base) throws(StoreError) -> FileName {
    let directory = path(of: place.directory) ?? .root
    let key = KeyCoding.key(ofPath: directory.appending(place.name).own.bytes)
    var shown = place
    var count = 0
    repeat {
      shown.name = FileName(DisplacedName.candidate(count, for: key))
      count += 1
    } while try inode(at: shown, over: base) != nil
    return shown.name
  }
}

extension Overlay: Equatable {
  /// Compares the images, without the lists for the next cut.
  package static func == (a: Overlay, b: Overlay) -> Bool {
    a.stamp == b.stamp && a.epoch == b.epoch && a.isCutting == b.isCutting
      && a.settle == b.settle && a.orphans == b.orphans && a.changes == b.changes
      && a.nodes == b.nodes
  }
}
