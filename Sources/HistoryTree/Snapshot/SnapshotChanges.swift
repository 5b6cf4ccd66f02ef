import LLVSCore
import TreeNames

/// The paths below a directory at which two versions differ, in order of key, one at a time.
struct SnapshotChanges {
  private let path: [UInt8]
  private var diff: TreeDiff

  init(from old: TreeView, to new: TreeView, below path: [UInt8]) throws(StoreError) {
    self.path = path
    diff = try TreeDiff(from: old, to: new, paths: [path])
  }

  mutating func next() throws(StoreError) -> (mark: UInt8, path: [UInt8])? {
    while let (shown, change) = try diff.next() {
      guard path.isEmpty || shown.count > path.count else { continue }
      var path = Array(path.isEmpty ? shown[...] : shown.dropFirst(path.count + 1))
      if change.isDirectory { path.append(0x2F) }
      let mark =
        change.old == nil
        ? ChangeText.added : change.new == nil ? ChangeText.removed : ChangeText.changed
      return (mark, path)
    }
    return nil
  }
}
