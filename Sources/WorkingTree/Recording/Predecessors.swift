import Inodes
package import LLVSCore
package import TreeNames

/// The trees of the versions that changes are made on, compared with the head.
/// - Concurrency: one thread at a time.
package final class Predecessors {
  package let head: VersionNumber?
  private let store: Store
  private var views: [VersionNumber?: TreeView] = [:]
  private var present: [VersionNumber: Bool] = [:]
  private var ancestors: [VersionNumber: Bool] = [:]
  private var compared: [Comparison: Bool] = [:]

  private struct Comparison: Hashable {
    var path: TreePath
    var version: VersionNumber?
    var isWhole: Bool
  }

  package init(_ store: Store, head: VersionNumber?) {
    self.store = store
    self.head = head
  }

  /// An empty tree for the time before the first version.
  package func view(_ version: VersionNumber?) throws(StoreError) -> TreeView {
    if let known = views[version] { return known }
    let view = TreeView(map: store.map(of: try store.version(version)))
    views[version] = view
    return view
  }

  /// True if the store has the version; nil is the time before the first one.
  func has(_ version: VersionNumber?) throws(StoreError) -> Bool {
    guard let version else { return true }
    if let known = present[version] { return known }
    let isPresent = try store.version(version) != nil
    present[version] = isPresent
    return isPresent
  }

  package func isAncestor(_ version: VersionNumber?) throws(StoreError) -> Bool {
    guard let version, let head, version != head else { return version == nil || version == head }
    if let known = ancestors[version] { return known }
    let isAncestor = try store.graph.isAncestorOrSelf(version, of: head)
    ancestors[version] = isAncestor
    return isAncestor
  }

  /// True if a version and the head show the same at a path, and below it if `isWhole`.
  /// - Complexity: O(log *n*), or that of the difference of both below the path.
  func isSame(
    _ path: TreePath, _ version: VersionNumber?, isWhole: Bool
  ) throws(StoreError) -> Bool {
    let comparison = Comparison(path: path, version: version, isWhole: isWhole)
    if let known = compared[comparison] { return known }
    let isSame = try compare(comparison)
    compared[comparison] = isSame
    return isSame
  }

  private func compare(_ comparison: Comparison) throws(StoreError) -> Bool {
    let (old, new) = (try view(comparison.version), try view(head))
    if old.map.root.digest == new.map.root.digest { return true }
    let path = comparison.path.bytes
    let (before, after) = (try old.find(path: path), try new.find(path: path))
    // A value displaced by a directory is shown elsewhere, so it is not compared here.
    switch (before, after) {
    case (nil, nil): break
    case (.value(let a)?, .value(let b)?): if !a.hasSameContent(as: b) { return false }
    case (.directory(let a)?, .directory(let b)?): if !Self.isSame(a, b) { return false }
    default: return false
    }
    guard comparison.isWhole else { return true }
    // Keys that no plain name can be have a prefix of their own.
    for prefix in [path + [0x2F], TreeView.escapedPrefix(path + [0x2F])] {
      var below = try MapDiff(from: old.map, to: new.map, prefix: prefix, comparing: .content)
      if try below.next() != nil { return false }
    }
    return true
  }

  private static func isSame(_ a: Entry?, _ b: Entry?) -> Bool {
    switch (a, b) {
    case (nil, nil): true
    case (let a?, let b?): a.hasSameContent(as: b)
    default: false
    }
  }
}
