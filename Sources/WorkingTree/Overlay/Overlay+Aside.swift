package import Inodes
package import LLVSCore
import TreeNames

extension Overlay {
  /// True if programs see scratch at a name, and what the head has there escaped.
  package func isAside(_ place: InodeName) -> Bool {
    asideCount > 0 && changes[place.aside]?.inode != nil
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
