package import Inodes
import LLVSCore

/// Names and inodes of which something changed: what a cut looks at.
///
/// Listed numbers and places may be pending no longer, and places may be listed more than once.
package struct PendingList: Hashable, Sendable {
  /// The names at which something was put or removed.
  package internal(set) var places = SharedList<InodeName>()
  /// Every change with this stamp or a later one is listed by its place.
  package internal(set) var first = ChangeStamp.start
  /// The inodes of which bytes, attributes or names changed.
  package internal(set) var inodes = SharedSet<InodeNumber>()

  /// True if all that is pending is listed, so that nobody need look for it again.
  fileprivate var isWhole = false

  package init(from first: ChangeStamp = .start) { self.first = first }

  // The next two are arrays: iterators of generic storage are slow in other modules.

  /// The names, in the order in which they were listed.
  package var allPlaces: [InodeName] { Array(places) }

  /// The inodes, in no order.
  package var allInodes: [InodeNumber] { Array(inodes) }

  /// True if nothing is listed.
  package var isEmpty: Bool { places.isEmpty && inodes.isEmpty }
}

extension PendingList {
  /// The number of places that are pending no longer from which on the list is cleaned.
  private static let staleLimit = 4096

  /// Lists all changes.
  fileprivate mutating func listPlaces(of changes: ChangeMap) {
    (places, first) = (SharedList(), .start)
    for place in changes.keys { places.append(place) }
  }

  /// Lists a place at which something changed.
  mutating func note(_ place: InodeName, of changes: ChangeMap) {
    places.append(place)
    guard places.count > 2 * changes.count + Self.staleLimit else { return }
    // Names that came and went are most of the list.
    var known: Set<InodeName> = []
    var kept = SharedList<InodeName>()
    for place in places where changes[place] != nil && known.insert(place).inserted {
      kept.append(place)
    }
    places = kept
  }
}

extension Overlay {
  /// Lists all that is pending, so that the next cut looks at it: at a mount, and when other patterns say what is
  /// ignored.
  ///
  /// - Complexity: O(*p*) for *p* pending changes and nodes.
  package mutating func listAll() {
    guard !sinceCut.isWhole else { return }
    if sinceCut.first != .start { sinceCut.listPlaces(of: changes) }
    // A file that was open before a mount is no node after the next head.
    for (number, node) in nodes where node.isListable || !node.isDirectory {
      sinceCut.inodes.insert(number)
    }
    sinceCut.isWhole = true
  }

  /// Returns a list of all that is pending.
  ///
  /// - Complexity: O(*p*) for *p* pending changes and nodes.
  package func listedWhole() -> PendingList {
    var list = PendingList()
    list.listPlaces(of: changes)
    for (number, node) in nodes where node.isListable { list.inodes.insert(number) }
    return list
  }

  /// Returns what a cut has to look at: ``inCut``, and what is pending below directories whose names are in it.
  /// They may have been ignored at their old place.
  ///
  /// - Complexity: O(*m*) for *m* names and inodes that it returns.
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
        guard let change = changes[place], change.stamp < list.first, seen.insert(place).inserted
        else { continue }
        list.places.append(place)
        guard let number = change.inode else { continue }
        list.inodes.insert(number)
        open.append(number)
      }
    }
    return list
  }

  /// Ends a cut: what it had to look at and what is still pending is looked at by the next one too, but for what it
  /// put aside.
  mutating func endCut(aside: Set<InodeName> = []) {
    let listed = inCut
    inCut = PendingList()
    isCutting = false
    for place in listed.places {
      // One that changed since is listed already.
      guard let change = changes[place], change.stamp < sinceCut.first, !aside.contains(place)
      else { continue }
      sinceCut.places.append(place)
    }
    for number in listed.inodes {
      guard let node = nodes[number] else { continue }
      // The cut may have left the times of a directory that stays where it is, and a file may be open.
      let isInPlace = node.names.isEmpty || node.names.contains { changes[$0] == nil }
      guard node.isListable || isInPlace else { continue }
      let isAside = !node.names.isEmpty && node.names.allSatisfy(aside.contains)
      if !isAside { sinceCut.inodes.insert(number) }
    }
  }
}

extension PendingNode {
  /// True if a cut has to look at the inode, whatever name it has.
  var isListable: Bool { isPending || orphan != nil }
}
