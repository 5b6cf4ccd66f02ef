import HistoryTree
import Inodes
package import LLVSCore
package import Search
import TreeNames
package import WorkingTree

/// A working tree whose files can be searched before a version has them.
package protocol SearchedTree {
  /// Returns the names that differ from the head.
  /// - Throws: ``ControlError`` of kind busy if there are too many.
  func pendingNames() throws -> [(change: PendingPath.Change, path: [UInt8])]
  func searchedFile(_ path: [UInt8]) throws -> SearchedFile?
  /// Returns the names in a directory, without ignored ones.
  func searchedNames(in path: [UInt8]) throws -> [[UInt8]]
}

package struct SearchedFile {
  var kind: EntryKind
  var length: UInt64
  var time: Int64
  /// Reads up to a number of bytes from the beginning; nil if the file was removed.
  var read: (Int) throws -> [UInt8]?

  package init(
    kind: EntryKind, length: UInt64, time: Int64, read: @escaping (Int) throws -> [UInt8]?
  ) {
    self.kind = kind
    self.length = length
    self.time = time
    self.read = read
  }
}

extension SearchPending {
  /// Reads the files of a working tree that no version has yet.
  /// - Complexity: O(pending files); reads at most ``SearchPending/limit`` bytes.
  package init(of tree: some SearchedTree, textLimit: Int) throws {
    self.init()
    for (change, path) in try tree.pendingNames() {
      hide(path)
      if change != .gone { try add(path, of: tree, isWhole: change == .new, textLimit) }
    }
  }

  private mutating func add(
    _ path: [UInt8], of tree: some SearchedTree, isWhole: Bool, _ textLimit: Int
  ) throws {
    guard let file = try tree.searchedFile(path) else { return }
    switch file.kind {
    case .regular:
      let length = min(file.length, UInt64(textLimit))
      try add(path, length: length, time: file.time, isCut: file.length > length) { () throws in
        try file.read(Int(length))
      }
    case .directory:
      // Files below a renamed directory are not listed one by one.
      guard isWhole else { return }
      for name in try tree.searchedNames(in: path) {
        try add(path + [0x2F] + name, of: tree, isWhole: true, textLimit)
      }
    default: break
    }
  }
}

extension TreeSession: SearchedTree {
  package func pendingNames() throws -> [(change: PendingPath.Change, path: [UInt8])] {
    try somePending().map { ($0.change, $0.path.bytes) }
  }

  package func searchedFile(_ path: [UInt8]) throws -> SearchedFile? {
    guard let status = try status(at: path) else { return nil }
    return SearchedFile(kind: status.kind, length: status.size, time: status.mtime.seconds) {
      [self] count in
      guard let now = try self.status(at: path), now.kind == .regular else { return nil }
      return try [UInt8](count: count) { (out) throws(FSError) in
        try files.read(now.number, at: 0, into: out, accessing: false)
      }
    }
  }

  package func searchedNames(in path: [UInt8]) throws -> [[UInt8]] {
    guard let status = try status(at: path), status.kind == .directory else { return [] }
    var names: [[UInt8]] = []
    for item in try self.names(in: status.number) {
      let child = path + [0x2F] + item.bytes
      guard let status = try self.status(at: child) else { continue }
      let state = try files.getxattr(status.number, Array("user.llvs.state".utf8))
      if !state.elementsEqual("scratch".utf8) { names.append(item.bytes) }
    }
    return names
  }
}
