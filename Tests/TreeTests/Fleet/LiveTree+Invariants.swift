import LLVSCore
import Platform

@testable import MountedTree
@testable import TreeNames

extension LiveTree {
  /// What is not as it must be between two changes; nil where all is well.
  ///
  /// A node differs from the base exactly if it stands in its parents' overrides; the journal knows no others;
  /// and whatever stands in none is what the base has there.
  func fault() throws -> String? {
    let (found, view, clean) = lock.withLock {
      _ -> (String?, TreeView, [(LiveNode, [UInt8], [UInt8])]) in
      var clean: [(LiveNode, [UInt8], [UInt8])] = []
      for node in nodes.values where node.inode != Self.rootInode {
        let text = "\(node.kind) \(node.inode) \(node.names.map { Self.text($0) })"
        for (name, override) in node.directory?.overrides ?? [:] {
          guard let child = override.node else { continue }
          if !child.isTouched || !child.stands(at: name, of: node) || nodes[child.inode] !== child {
            return (
              "\(text) has \(Self.text(NodeName(parent: node, name: name))) in its overrides", base,
              []
            )
          }
        }
        if node.isJournaled, !node.isTouched, node.parent != nil {
          return ("\(text) is journaled and not touched", base, [])
        }
        for one in node.names {
          let override = one.parent.directory?.overrides[one.name]
          if node.isTouched != (override?.node === node) {
            return (
              "\(text) is \(node.isTouched ? "" : "not ")touched, at \(Self.text(one)), where "
                + (override.map { "\($0.node?.inode ?? 0)" } ?? "none") + " is pending", base, []
            )
          }
          if node.isTouched, !one.parent.isTouched {
            return ("\(text) is touched, and what is above it is not", base, [])
          }
          if let path = one.parent.directory?.basePath, !node.isTouched {
            clean.append((node, path, one.name))
          }
        }
      }
      return (nil, names, clean)
    }
    if let found { return found }
    for (node, path, name) in clean {
      let inode: UInt64? =
        switch try view.child(of: path, named: name) {
        case .value(let entry)?: entry.inode
        case .directory(let entry)?: entry.flatMap { $0.inode == 0 ? nil : $0.inode } ?? node.inode
        case nil: nil
        }
      if case .value(let entry)? = try view.child(of: path, named: name),
        var shown = lock.withLock({ _ in node.isTouched ? nil : node.entry?.shortened })
      {
        // Of a file of several names a node has the entry of any.
        shown.key = entry.key
        if !shown.hasSameContent(as: entry.shortened) {
          return "\(node.kind) \(node.inode) at \(String(decoding: path, as: UTF8.self))/"
            + "\(String(decoding: name, as: UTF8.self)) shows \(shown), and the base has \(entry)"
        }
      }
      // What a number stands for in memory already has another there.
      let isImplied = lock.withLock { _ in impliedInodes.values.contains(node.inode) }
      guard inode != node.inode, !isImplied else { continue }
      return "\(node.kind) \(node.inode) stands at \(String(decoding: path, as: UTF8.self))/"
        + "\(String(decoding: name, as: UTF8.self)), where the base has \(inode ?? 0)"
    }
    return nil
  }

  private static func text(_ name: NodeName) -> String {
    String(decoding: (name.parent.path ?? []) + [0x2F] + name.name, as: UTF8.self)
  }
}
