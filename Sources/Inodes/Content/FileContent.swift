package import LLVSCore

/// The bytes of a file: a value of the store, with pending extents over it.
///
/// A copy is a save: it costs one reference and shares everything.
package struct FileContent: Hashable, Sendable {
  /// The value that ``Extent/base`` extents read; nil while there is none.
  package var base: StoredContent?
  package var extents: ExtentList
  package var size: UInt64

  /// An empty file.
  package init() {
    extents = ExtentList()
    size = 0
  }

  /// A file that shows a value of the store.
  package init(stored: StoredContent) {
    base = stored
    extents = ExtentList(baseLength: stored.length)
    size = stored.length
  }

  /// A file read back from a checkpoint.
  package init(base: StoredContent?, extents: ExtentList, size: UInt64) {
    self.base = base
    self.extents = extents
    self.size = size
  }

  /// The value of the store, if the file is exactly that value.
  package var unchangedBase: StoredContent? {
    guard let base, base.length == size else { return nil }
    let whole = ExtentList(baseLength: base.length)
    return extents == whole ? base : nil
  }

  package mutating func write(_ extent: Extent) {
    extents.put(extent)
    size = max(size, extent.end)
  }

  package mutating func resize(to newSize: UInt64) {
    if newSize < size { extents.truncate(to: newSize) }
    size = newSize
  }

  package mutating func punchHole(_ range: Range<UInt64>) {
    extents.clear(range)
  }
}
