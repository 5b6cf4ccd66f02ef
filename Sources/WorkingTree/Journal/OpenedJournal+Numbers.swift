package import Inodes
package import LLVSCore

extension OpenedJournal {
  /// The greatest inode number of the pending changes and of an unsettled cut; nil without any.
  package var greatestNumber: InodeNumber? {
    let inCut = frozen?.nodes.keys.max()
    return [overlay.nodes.keys.max(), inCut].compactMap(\.self).max()
  }

  /// Gives every pending inode but the root another number that `number` returns, in O(*p*) for *p* pending nodes
  /// and changes.
  ///
  /// The journal file keeps the old numbers: the caller renews the journal, and renumbers the rows.
  ///
  /// - Throws: what `number` throws.
  package mutating func renumber(
    _ number: () throws(StoreError) -> InodeNumber
  ) throws(StoreError) {
    var numbers: [InodeNumber: InodeNumber] = [.root: .root]
    for old in overlay.nodes.keys.sorted() + (frozen?.nodes.keys.sorted() ?? [])
    where numbers[old] == nil { numbers[old] = try number() }
    overlay = overlay.renumbered(numbers)
    frozen = frozen?.renumbered(numbers)
    unsettled?.taken.renumber(numbers)
    settled = []
  }
}

extension [InodeNumber: InodeNumber] {
  /// Every number of an overlay is a node's (I4, I5), so the map has it.
  fileprivate func new(_ number: InodeNumber) -> InodeNumber { self[number] ?? number }

  fileprivate func new(_ name: InodeName) -> InodeName {
    InodeName(directory: new(name.directory), name: name.name)
  }
}

extension Overlay {
  fileprivate func renumbered(_ numbers: [InodeNumber: InodeNumber]) -> Overlay {
    var new = Overlay(epoch: epoch)
    (new.stamp, new.isCutting, new.settle) = (stamp, isCutting, settle)
    for (number, node) in nodes {
      var node = node
      node.names = node.names.map(numbers.new)
      node.recordedNames = node.recordedNames.map(numbers.new)
      if case .detached(let place, let path, let epoch)? = node.orphan {
        node.orphan = .detached(place: place.map(numbers.new), path: path, epoch: epoch)
      }
      new.load(numbers.new(number), node)
    }
    for (place, change) in changes {
      var change = change
      change.inode = change.inode.map(numbers.new)
      new.setChange(change, at: numbers.new(place))
    }
    return new
  }
}

extension TakenCut {
  fileprivate mutating func renumber(_ numbers: [InodeNumber: InodeNumber]) {
    names = Dictionary(uniqueKeysWithValues: names.map { (numbers.new($0), $1) })
    nodes = Dictionary(uniqueKeysWithValues: nodes.map { (numbers.new($0), $1) })
    aside = Set(aside.map(numbers.new))
  }
}
