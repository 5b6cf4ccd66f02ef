package import LLVSCore

/// Walks the entries whose own paths are below a directory: literal keys first, then escaped keys.
/// - Complexity: O(1) memory and O(*k*) time for *k* entries.
package struct TreeWalk {
  private let view: TreeView
  private let pathPrefix: [UInt8]
  private var cursor: MapCursor
  private var prefix: [UInt8]
  private var isEscapedRange = false
  private var hasBegun = false

  init(view: TreeView, directory: [UInt8]) {
    self.view = view
    pathPrefix = directory.isEmpty ? [] : directory + [0x2F]
    prefix = pathPrefix
    cursor = MapCursor(view.map)
  }

  package mutating func next() throws(StoreError) -> (relative: [UInt8], entry: Entry)? {
    if !hasBegun {
      hasBegun = true
      try cursor.seek(to: prefix)
    }
    while true {
      guard let key = cursor.key, key.bytes.starts(with: prefix) else {
        guard !isEscapedRange, try view.hasEscaped() else { return nil }
        isEscapedRange = true
        prefix = TreeView.escapedPrefix(pathPrefix)
        try cursor.seek(to: prefix)
        continue
      }
      let path = TreeView.ownPath(key)
      let isEscaped = path != key.bytes
      guard isEscaped == isEscapedRange, path.starts(with: pathPrefix),
        let entry = try cursor.entry()
      else {
        try cursor.advance()
        continue
      }
      try cursor.advance()
      return (Array(path[pathPrefix.count...]), entry)
    }
  }
}
