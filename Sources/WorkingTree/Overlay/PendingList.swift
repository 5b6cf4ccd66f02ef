package import Inodes
import LLVSCore

/// The names and inodes that a cut looks at. Some may be pending no longer, and places may be listed repeatedly.
package struct PendingList: Equatable, Sendable {
  package internal(set) var places = SharedList<InodeName>()
  /// Changes with this stamp or a later one are listed by place, except in ignored directories.
  package internal(set) var first = ChangeStamp.start
  /// The inodes whose bytes, attributes or names changed.
  package internal(set) var inodes = SharedSet<InodeNumber>()
  /// True if all that is pending is listed.
  fileprivate var isWhole = false
  package init(from first: ChangeStamp = .start) { self.first = first }

  // Arrays, because iterators of generic storage are slow in other modules.

  /// In the order in which they were listed.
  package var allPlaces: [InodeName] { Array(places) }
  package var allInodes: [InodeNumber] { Array(inodes) }
  package var isEmpty: Bool { places.isEmpty && inodes.isEmpty }

  /// The number of places no longer pending from which on the list is cleaned.
  private static let staleLimit = 4096

  fileprivate mutating func listPlaces(of changes: ChangeMap) {
    (places, first) = (SharedList(), .start)
    for place in changes.keys { places.append(place) }
  }

  mutating func note(_ place: InodeName, of changes: ChangeMap) {
    places.append(place)
    guard places.count > 2 * changes.count + Self.staleLimit else { return }
    // Names that were added and removed are most of the list.
    var known: Set<InodeName> = []
    var kept = SharedList<InodeName>()
    for place in places where changes[place] != nil && known.insert(place).inserted {
      kept.append(place)
    }
    places = kept
  }
}

extension Overlay {
  /// Lists all that is pending for the next cut, at a mount.
  /// - Complexity: O(*p*) for *p* pending changes and nodes.
  package mutating func listAll() {
    guard !sinceCut.isWhole else { return }
    if sinceCut.first != .start { sinceCut.listPlaces(of: changes) }
    // The next head forgets a file that was open before a mount.
    for (number, node) in nodes where node.isListable || !node.isDirectory {
      sinceCut.inodes.insert(number)
    }
    sinceCut.isWhole = true
  }

  /// True for a change that is listed by its place. Absences always are, because heads drop them.
  func lists(_ change: NameChange, at place: InodeName) -> Bool {
    guard ignoredDirectories.contains(place.directory), let number = change.inode
    else { return true }
    return change.isDirectory && !ignoredDirectories.contains(number)
  }

  /// True if a change is surely on a list that began at a stamp.
  package func isListed(
    _ change: NameChange, at place: InodeName, since first: ChangeStamp
  ) -> Bool { change.stamp >= first && lists(change, at: place) }

  /// Lists an inode for the next cut, but not one that was made in ignored directories.
  mutating func list(_ number: InodeNumber) {
    if !isIgnored(number) { sinceCut.inodes.insert(number) }
  }

  private func isIgnored(_ number: InodeNumber) -> Bool {
    guard !ignoredDirectories.isEmpty, nodes.hasRecordedName(number) == false,
      let names = nodes.names(of: number), !names.isEmpty, names.count <= Self.fewNames,
      nodes.kind(of: number) != .directory || ignoredDirectories.contains(number)
    else { return false }
    return names.allSatisfy { ignoredDirectories.contains($0.directory) }
  }

  /// The most names of a file that are looked at with each change of the file.
  private static var fewNames: Int { 16 }

  /// Lists what is in a directory that was ignored and that the recorded tree has. `before` has the names whose
  /// changes a cut took.
  mutating func listNames(in directory: InodeNumber, besides before: Overlay) {
    ignoredDirectories.remove(directory)
    for overlay in [before, self] {
      for name in overlay.changedNames(of: directory) {
        let place = InodeName(directory: directory, name: name)
        sinceCut.places.append(place)
        guard let number = overlay.changes[place]?.inode, nodes.contains(number) else { continue }
        sinceCut.inodes.insert(number)
      }
    }
  }

  /// Returns ``inCut`` and what is pending below its directories, which may have been ignored at their old place.
  /// - Complexity: O(*m*) for *m* returned names and inodes.
  package func listedInCut() -> PendingList {
    var list = inCut
    var seen: Set<InodeName> = []
    var open = inCut.places.compactMap { place -> InodeNumber? in
      guard let change = changes[place], change.isDirectory else { return nil }
      return change.inode
    }
    while let directory = open.popLast() {
      guard nodes.kind(of: directory) == .directory else { continue }
      for name in changedNames(of: directory) {
        let place = InodeName(directory: directory, name: name)
        guard let change = changes[place], !isListed(change, at: place, since: list.first),
          seen.insert(place).inserted
        else { continue }
        list.places.append(place)
        guard let number = change.inode else { continue }
        list.inodes.insert(number)
        open.append(number)
      }
    }
    return list
  }

  /// Ends a cut: the next one looks again at what is still pending, but for `aside`.
  mutating func endCut(aside: Set<InodeName> = []) {
    let listed = inCut
    inCut = PendingList()
    isCutting = false
    for place in aside {
      guard let change = changes[place], change.stamp < sinceCut.first, change.isDirectory,
        let number = change.inode, nodes.hasRecordedName(number) == false
      else { continue }
      ignoredDirectories.insert(number)
    }
    for place in listed.places {
      // A later change is listed already.
      guard let change = changes[place], change.stamp < sinceCut.first, !aside.contains(place)
      else { continue }
      sinceCut.places.append(place)
    }
    for number in listed.inodes {
      guard let node = nodes[number] else { continue }
      // The cut may have left the time of a directory that did not move, and a file may be open.
      let isInPlace = node.names.isEmpty || node.names.contains { changes[$0] == nil }
      guard node.isListable || isInPlace else { continue }
      let isAside = !node.names.isEmpty && node.names.allSatisfy(aside.contains)
      if !isAside { sinceCut.inodes.insert(number) }
    }
  }
}

extension PendingNode {
  /// True if a cut has to look at the inode under any name.
  var isListable: Bool { isPending || orphan != nil }
}
