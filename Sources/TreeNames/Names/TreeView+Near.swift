package import LLVSCore

extension TreeView {
  /// Returns a filter for the keys that may be shown at or below a path, or under an escaped name above it.
  package static func mayBeShown(atOrBelow path: [UInt8]) -> (Key) -> Bool {
    let isOwn = !path.split(separator: 0x2F).contains { $0.starts(with: DisplacedName.prefix) }
    guard isOwn, !path.isEmpty else { return { _ in true } }
    return { PathFilter.isAtOrBelow(TreeView.ownPath($0), path) }
  }
}
