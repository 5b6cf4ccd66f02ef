import LLVSCore
import TreeNames

/// The paths below a directory at which two versions differ, in order of key, one at a time.
struct SnapshotChanges {
  private let old: TreeView
  private let new: TreeView
  private let pathPrefix: [UInt8]
  private var prefixes: [[UInt8]]
  private var diff: MapDiff?

  init(from old: TreeView, to new: TreeView, below path: [UInt8]) {
    self.old = old
    self.new = new
    pathPrefix = path.isEmpty ? [] : path + [0x2F]
    // Below the root, escaped keys are among the others.
    prefixes = path.isEmpty ? [[]] : [TreeView.escapedPrefix(pathPrefix), pathPrefix]
  }

  mutating func next() throws(StoreError) -> (mark: UInt8, path: [UInt8])? {
    while true {
      guard let change = try diff?.next() else {
        guard let prefix = prefixes.popLast() else { return nil }
        diff = try MapDiff(from: old.map, to: new.map, prefix: prefix, comparing: .content)
        continue
      }
      var path = try (change.new == nil ? old : new).path(of: change.key)
      guard path.starts(with: pathPrefix) else { continue }
      path.removeFirst(pathPrefix.count)
      if change.isDirectory { path.append(0x2F) }
      let mark =
        change.old == nil
        ? ChangeText.added : change.new == nil ? ChangeText.removed : ChangeText.changed
      return (mark, path)
    }
  }
}
