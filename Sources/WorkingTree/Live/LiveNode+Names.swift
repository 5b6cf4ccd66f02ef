import LLVSCore

// Where a node stands.

extension LiveNode {
  /// All names, the first included; none for the root and for a node without a name.
  var names: [NodeName] {
    guard let parent else { return [] }
    return [NodeName(parent: parent, name: name)] + furtherNames
  }

  /// Whether it stands at a name of a directory.
  func stands(at name: [UInt8], of directory: LiveNode) -> Bool {
    if parent === directory, isNamed(name) { return true }
    return !furtherNames.isEmpty && furtherNames.contains(NodeName(parent: directory, name: name))
  }

  /// Gives the node one name more.
  func addName(_ name: [UInt8], of directory: LiveNode) {
    guard parent != nil else { return move(to: directory, as: name) }
    guard !stands(at: name, of: directory) else { return }
    changeFurtherNames { $0.insert(NodeName(parent: directory, name: name)) }
    directory.pins += 1
  }

  /// Takes one of several names, or the last one.
  func removeName(_ name: [UInt8], of directory: LiveNode) {
    if parent === directory, isNamed(name) {
      guard !furtherNames.isEmpty, let next = changeFurtherNames({ $0.popLast() }) else {
        return move(to: nil, as: name)
      }
      next.parent.pins -= 1
      return move(to: next.parent, as: next.name)
    }
    guard !furtherNames.isEmpty,
      changeFurtherNames({ $0.remove(NodeName(parent: directory, name: name)) })
    else { return }
    directory.pins -= 1
  }

  /// Whether it is a directory or lies below it.
  func isInside(_ outer: LiveNode) -> Bool {
    var step: LiveNode? = self
    while let here = step {
      if here === outer { return true }
      step = here.parent
    }
    return false
  }

  /// Whether it may stand at a name of a directory: what is one has one name, and none below itself.
  func mayStand(at name: [UInt8], of above: LiveNode) -> Bool {
    guard kind == .directory, !stands(at: name, of: above) else { return true }
    return parent == nil && !above.isInside(self)
  }

  /// Whether a name leads to it from the root.
  var isLinked: Bool {
    var node = self
    while let next = node.parent { node = next }
    return node.inode == LiveTree.rootInode
  }

  /// The path from the root, "" for the root itself; nil for a node without a name.
  var path: [UInt8]? {
    var length = 0
    var node = self
    while let next = node.parent {
      length += node.withName { $0.count } + 1
      node = next
    }
    guard node.inode == LiveTree.rootInode else { return nil }
    guard length > 0 else { return [] }
    // From the end to the beginning; there is no slash before the first name.
    return [UInt8](unsafeUninitializedCapacity: length - 1) { buffer, used in
      var end = length - 1
      used = end
      var node = self
      while let next = node.parent {
        node.withName { name in
          end -= name.count
          UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[end...])
            .copyMemory(from: name)
        }
        if end > 0 {
          end -= 1
          buffer[end] = UInt8(ascii: "/")
        }
        node = next
      }
    }
  }
}
