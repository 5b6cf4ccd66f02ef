package import Inodes
package import LLVSCore
package import TreeNames

// Scratch at aside names: docs/mounted-tree.md, rule 12.

extension WorkingTree {
  /// Returns the scratch with names of the head, sorted by path.
  /// - Complexity: O(*p*) for *p* pending names if there is any.
  package func hidingScratch() throws(FSError) -> [HidingScratch] {
    let overlay = state { $0.overlay }
    var found: [HidingScratch] = []
    for place in overlay.namesAside {
      let scratch = try answer { state, base throws(FSError) -> HidingScratch? in
        guard let number = try inode(at: place, state, base),
          let directory = state.overlay.path(of: place.directory)?.own
        else { return nil }
        let name = try FSError.translating(try state.overlay.shownName(of: place, over: base))
        let recorded = try FSError.translating(try base.inode(number))
        return HidingScratch(
          path: directory.appending(place.name),
          isDirectory: state.overlay.changes[place.aside]?.isDirectory ?? false,
          shown: directory.appending(name), version: recorded?.record.origin)
      }
      if let scratch { found.append(scratch) }
    }
    return found.sorted { $0.path < $1.path }
  }

  /// Returns the scratch that no pattern matches and whose name the head does not have, sorted by path.
  /// - Complexity: O(*p*) for *p* pending names if there is any.
  package func scratchWithoutPattern() throws(FSError) -> [TreePath] {
    let overlay = state { $0.overlay }
    var found: [TreePath] = []
    for place in overlay.namesAside {
      guard let above = overlay.path(of: place.directory), above == above.own,
        let change = overlay.changes[place.aside],
        try answer({ state, base throws(FSError) in try inode(at: place, state, base) }) == nil
      else { continue }
      let path = above.appending(place.name)
      if try reasonToIgnore(path, isDirectory: change.isDirectory) == nil { found.append(path) }
    }
    return found.sorted()
  }

  /// Lets patterns decide about scratch again, so that the next version has it if none matches. Throws
  /// ``FSError/noEntry`` for what no head or removed pattern made scratch, ``FSError/exists`` if the head has the
  /// name, or the error of the journal: then nothing has changed.
  package func track(_ path: TreePath) throws(FSError) {
    try withRoom { () throws(FSError) in
      try change { state, base throws(FSError) in
        var place = InodeName(directory: .root, name: path.names.first ?? FileName([]))
        for name in path.names.dropFirst() {
          let directory = try present(at: try self.place(shownAt: place, state, base), state, base)
          place = InodeName(directory: directory, name: name)
        }
        let aside = try self.place(shownAt: place, state, base)
        guard aside.isAside else { throw .noEntry }
        guard try inode(at: aside.own, state, base) == nil else { throw .exists }
        let number = try present(at: aside, state, base)
        return Decision(
          concerned: [number, aside.directory],
          operations: [
            .rename(
              number, from: aside, to: aside.own, over: nil, isKept: false, by: .reader, seen: nil)
          ]
        ) { _ in }
      }
    }
  }
}

/// Scratch whose name the head has (docs/mounted-tree.md, rule 12).
package struct HidingScratch: Sendable {
  package var path: TreePath
  package var isDirectory: Bool
  /// The path at which programs see what the head has.
  package var shown: TreePath
  /// The version that stored what the head has; nil for a directory without an entry or a new file.
  package var version: VersionNumber?
}
