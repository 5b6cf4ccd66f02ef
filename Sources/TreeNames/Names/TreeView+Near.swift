package import LLVSCore

extension TreeView {
  /// Which keys may be shown at a path or below it: of some thousand conflicts a directory's few are found
  /// without a look at the tree for each.
  ///
  /// A key is shown at its own path, or under a displaced name in a directory on the way there.
  package static func mayBeShown(atOrBelow path: [UInt8]) -> (Key) -> Bool {
    let isOwn = !path.split(separator: 0x2F).contains { $0.starts(with: DisplacedName.prefix) }
    guard isOwn, !path.isEmpty else { return { _ in true } }
    return { PathFilter.isAtOrBelow(TreeView.ownPath($0), path) }
  }
}
