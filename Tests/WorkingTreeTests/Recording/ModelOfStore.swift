import Inodes
import LLVSCore
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

// The plain model of a store: its maps, and the recorded tree.

extension Store {
  /// The bytes of a value of a test, which are all there.
  func readable(_ stored: StoredContent) -> [UInt8] { (try? contents.bytes(stored)) ?? [] }

  /// A version's map as the model has it; that of no version is empty.
  func modelMap(of map: ValueMap) throws -> ModelMap {
    var model: ModelMap = [:]
    var cursor = MapCursor(map)
    while let entry = try cursor.next() {
      let path = String(decoding: TreeView.ownPath(entry.key), as: UTF8.self)
      if entry.isDirectory {
        model[path + "/"] = .directory
      } else {
        model[path] = ModelValue(
          marks: Mark.marks(in: readable(entry.stored)),
          link: entry.attributes.linkID.map { ModelLink.number($0) })
      }
    }
    return model
  }
}

extension ModelTree {
  /// A copy of a recorded tree.
  convenience init(_ base: RecordedTree, read: (StoredContent) -> [UInt8]) throws {
    self.init()
    var open: [InodeNumber] = [.root]
    while let directory = open.popLast() {
      for entry in try base.page(of: directory, after: .start, limit: .max) {
        let (number, record) = (entry.inode.number, entry.inode.record)
        put(
          Inode(
            isDirectory: record.isDirectory, marks: Mark.marks(in: read(record.stored)),
            link: record.attributes.linkID.map { ModelLink.number($0) }), number)
        set(
          InodeName(directory: directory, name: entry.name), number,
          key: entry.key.map { String(decoding: TreeView.ownPath($0), as: UTF8.self) })
        if record.isDirectory { open.append(number) }
      }
    }
  }
}

/// The bytes of marks, which stand in no file.
struct MarkContents: PendingContents {
  let store: Store
  /// Marks that cannot be read.
  var damaged: Set<Int> = []

  func read(
    _ content: FileContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    var bytes = [UInt8](repeating: 0, count: Int(content.size))
    let base = content.base.map { store.readable($0) } ?? []
    var isDamaged = false
    content.extents.forEach { extent in
      if extent.source != Extent.base, damaged.contains(Int(extent.source)) { isDamaged = true }
      for at in 0..<Int(extent.length) {
        let source = extent.source == Extent.base ? base : Mark.bytes(Int(extent.source))
        bytes[Int(extent.start) + at] = source[Int(extent.offset) + at]
      }
    }
    if isDamaged { throw .corrupt("a mark that cannot be read") }
    buffer.copyBytes(from: bytes[Int(offset)..<(Int(offset) + buffer.count)])
  }
}
