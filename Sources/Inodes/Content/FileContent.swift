package import LLVSCore

/// The bytes of a file: a value of the store, with pending extents over it. A copy is a save and shares everything.
package struct FileContent: Hashable, Sendable {
  /// In an object, because most files have no value, or the same one in several states.
  private final class Base: Hashable, Sendable {
    let stored: StoredContent

    init(_ stored: StoredContent) { self.stored = stored }
    static func == (a: Base, b: Base) -> Bool { a === b || a.stored == b.stored }
    func hash(into hasher: inout Hasher) { hasher.combine(stored) }
  }

  private var shared: Base?
  /// The value that ``Extent/base`` extents read.
  package var base: StoredContent? {
    get { shared?.stored }
    set { shared = newValue.map { Base($0) } }
  }
  package var extents: ExtentList
  package var size: UInt64

  package init() {
    extents = ExtentList()
    size = 0
  }

  package init(stored: StoredContent) {
    shared = Base(stored)
    extents = ExtentList(baseLength: stored.length)
    size = stored.length
  }

  /// A file of a checkpoint.
  package init(base: StoredContent?, extents: ExtentList, size: UInt64) {
    shared = base.map { Base($0) }
    self.extents = extents
    self.size = size
  }

  /// The value, if the file is exactly that value.
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

  package mutating func punchHole(_ range: Range<UInt64>) { extents.clear(range) }
}
