package import Inodes

// Scratch whose name the head has, or that no pattern matches any more, is at its aside name: a zero byte and its own
// name. No version and no program has such a name, so cuts and heads treat the scratch like any other name, and its own name is the head's. Programs see
// the scratch at its own name and what the head has there escaped (docs/mounted-tree.md, rule 12).

extension FileName {
  package var isAside: Bool { bytes.first == 0 }
  fileprivate var aside: FileName { FileName([0] + bytes) }
  fileprivate var own: FileName { isAside ? FileName(bytes.dropFirst()) : self }
}

extension InodeName {
  package var isAside: Bool { name.isAside }
  package var aside: InodeName { InodeName(directory: directory, name: name.aside) }
  /// The name that programs see for an aside name; itself for another.
  package var own: InodeName { InodeName(directory: directory, name: name.own) }
}

extension TreePath {
  /// The path with the own names of scratch.
  package var own: TreePath { bytes.contains(0) ? TreePath(bytes.filter { $0 != 0 }) : self }
}
