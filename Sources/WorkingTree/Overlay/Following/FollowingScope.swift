package import Inodes
import LLVSCore

package struct ChangedRows: Sendable {
  /// The inodes with other records or names.
  package var numbers: Set<InodeNumber> = []
  /// Their names now and before.
  package var names: Set<InodeName> = []
}

/// The nodes and names that a new head may concern: those changed since the last cut, the rows that the head
/// changes, and the directories above. Unchanged ignored names are left out, because their number has no limit.
///
/// INVARIANT F4: a change or node outside the scope is below ignored names alone, the recorded tree has nothing
/// at its names, and no row belongs to it before or after the head.
struct FollowingScope {
  private(set) var numbers: Set<InodeNumber>
  private(set) var places: Set<InodeName>

  /// nil if the head may concern anything.
  /// - Complexity: O(*k* log *n*) for *k* changes and rows over *n* names.
  init?(of head: NewHead, _ base: FollowedBase, on overlay: Overlay) throws(StoreError) {
    guard let rows = head.rows, let taken = head.taken, overlay.isCutting else { return nil }
    if head.epoch != nil, try Self.movesDirectory(base, rows, on: overlay) { return nil }
    places = rows.names
    numbers = rows.numbers
    places.formUnion(taken.names.keys)
    numbers.formUnion(taken.nodes.keys)
    numbers.formUnion(overlay.orphans)
    places.formUnion(overlay.sinceCut.allPlaces)
    numbers.formUnion(overlay.sinceCut.allInodes)
    insertListed(of: overlay, besides: taken.aside)
    for place in places {
      numbers.insert(place.directory)
      guard let change = overlay.changes[place] else { continue }
      if let number = change.inode { numbers.insert(number) }
      guard change.hidesRecorded else { continue }
      let hidden = try base.child(of: place.directory, named: place.name)
      if let number = hidden?.inode.number { numbers.insert(number) }
    }
    insertNames(of: overlay)
    // Any change below a held directory may be its reason.
    if places.contains(where: { overlay.changes[$0]?.isHeld ?? false }) { return nil }
  }

  mutating func insert(_ number: InodeNumber, at place: InodeName) {
    numbers.insert(number)
    places.insert(place)
  }

  /// True if the head has a directory neither where it was recorded nor where it is visible.
  private static func movesDirectory(
    _ base: FollowedBase, _ rows: ChangedRows, on overlay: Overlay
  ) throws(StoreError) -> Bool {
    for number in rows.numbers where number != .root {
      guard overlay.nodes.kind(of: number) == .directory, let node = overlay.nodes.node(number)
      else { continue }
      let names = try base.names(of: number)
      if names != node.recordedNames, names != node.names { return true }
    }
    return false
  }

  /// Adds what the cut had to look at, without what it ignored; a later change of that is listed elsewhere.
  private mutating func insertListed(of overlay: Overlay, besides aside: Set<InodeName>) {
    // A file may have ignored names and others.
    func isAside(_ number: InodeNumber) -> Bool {
      guard let names = overlay.nodes.names(of: number), !names.isEmpty else { return false }
      return names.allSatisfy(aside.contains)
    }
    for place in overlay.inCut.allPlaces {
      if let number = overlay.changes[place]?.inode, isAside(number) { continue }
      places.insert(place)
    }
    for number in overlay.inCut.allInodes where !isAside(number) { numbers.insert(number) }
  }

  private mutating func insertNames(of overlay: Overlay) {
    var open = Array(numbers)
    while let number = open.popLast() {
      guard let node = overlay.nodes.node(number) else { continue }
      for name in node.names + node.recordedNames where overlay.changes[name] != nil {
        places.insert(name)
      }
      for name in node.names where numbers.insert(name.directory).inserted {
        open.append(name.directory)
      }
    }
  }
}
