package import Inodes
package import LLVSCore
package import TreeNames

/// Scratch whose name the head has (docs/mounted-tree.md, rule 12).
package struct HidingScratch: Sendable {
  package var path: TreePath
  package var isDirectory: Bool
  /// The path at which programs see what the head has.
  package var shown: TreePath
  /// The version that stored what the head has; nil for a directory without an entry or a new file.
  package var version: VersionNumber?
}

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
}
