package import LLVSCore

extension TreeView {
  /// Returns a filter for the keys that may be shown at a path or below it. It needs no look at the
  /// tree: among thousands of conflicts it finds a directory's few quickly.
  ///
  /// A key is shown at its own path, or under an escaped name in a directory on the way there.
  package static func mayBeShown(atOrBelow path: [UInt8]) -> (Key) -> Bool {
    let isOwn = !path.split(separator: 0x2F).contains { $0.starts(with: DisplacedName.prefix) }
    guard isOwn, !path.isEmpty else { return { _ in true } }
    return { PathFilter.isAtOrBelow(TreeView.ownPath($0), path) }
  }
}
