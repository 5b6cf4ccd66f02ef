import Control
import Grammar
import HistoryTree
import Inodes
import LLVSCore
import Platform
import Reports
import TreeNames
import WorkingTree

/// Access to a working tree: through its mount, or directly if its store is not mounted.
enum LivePlace: ComparedTree {
  case mount(MountView)
  case tree(TreeSession)

  /// Opens the working tree of a store that is not mounted, with the changes that its last mount
  /// left pending. Nil if it has none, or, with a message, if it cannot be opened.
  init?(unmounted site: CommandTarget, _ console: Console) {
    do {
      guard try FileSystem.exists("\(site.storePath)/journal") else { return nil }
      self = .tree(try ControlService.open(try site.writer()).tree)
    } catch {
      console.complain("llvs: what is in no version yet is not looked at.")
      console.complain(Failure(error).sentence)
      return nil
    }
  }

  /// Returns the paths that differ from the head.
  ///
  /// - Throws: ``ControlError`` of kind busy if there are too many.
  func pending(
    in store: Store
  ) throws -> [(change: PendingPath.Change, path: [UInt8])] {
    switch self {
    case .mount(let view):
      return Self.pending(
        try CommandTarget.mounted(view, store: store.path).run(["pending"]).text)
    case .tree(let tree):
      guard let pending = try tree.pendingPaths(atMost: ControlService.pendingLimit) else {
        throw ControlError(
          .busy,
          "more than \(ControlService.pendingLimit) changes are in no version yet; commit first")
      }
      return pending.map { ($0.change, $0.path.bytes) }
    }
  }

  /// Reads the reply of the command `pending`.
  static func pending(
    _ reply: String
  ) -> [(change: PendingPath.Change, path: [UInt8])] {
    reply.split(separator: "\n").compactMap { line in
      guard let mark = line.utf8.first, let change = PendingPath.Change(rawValue: mark),
        line.utf8.dropFirst().first == 0x20
      else { return nil }
      var path = VisibleName.bytes(line.utf8.dropFirst(2))
      if path.last == 0x2F { path.removeLast() }
      return (change, path)
    }
  }

  /// Reads the file at a path; nil if there is none.
  func image(_ path: [UInt8]) throws -> FileImage? {
    switch self {
    case .mount(let view): try FileImage(live: try view.place(path))
    case .tree(let tree): try Self.status(path, in: tree).map { try FileImage($0, of: tree) }
    }
  }

  /// Returns the names in a directory without ignored ones; none if there is no directory.
  func names(in path: [UInt8]) throws -> [[UInt8]] {
    let own = Array("user.llvs.state".utf8)
    func isTaken(_ state: [UInt8]?) -> Bool { state?.elementsEqual("scratch".utf8) != true }
    switch self {
    case .mount(let view):
      let directory = try view.place(path)
      guard let status = try? FileSystem.status(directory), status.kind == .directory else {
        return []
      }
      return try FileSystem.names(in: directory).map(\.bytes).filter {
        isTaken(try FileSystem.extended(directory + [0x2F] + $0, own))
      }
    case .tree(let tree):
      guard let status = try Self.status(path, in: tree), status.kind == .directory else {
        return []
      }
      return try StoreError.wrapping { () throws(FSError) in
        var names: [[UInt8]] = []
        for name in try tree.names(in: status.number) {
          let child = try tree.files.lookup(status.number, name)
          if isTaken(try tree.files.getxattr(child.number, own)) { names.append(name.bytes) }
        }
        return names
      }
    }
  }

  /// True if there is a file at a path.
  func has(_ path: [UInt8]) throws -> Bool {
    switch self {
    case .mount(let view): try FileSystem.exists(try view.place(path))
    case .tree(let tree): try Self.status(path, in: tree) != nil
    }
  }

  private static func status(_ path: [UInt8], in tree: TreeSession) throws(StoreError)
    -> InodeStatus?
  {
    try StoreError.wrapping { () throws(FSError) -> InodeStatus? in
      var status = try tree.files.status(of: .root)
      for name in path.split(separator: 0x2F) {
        guard status.kind == .directory else { return nil }
        do throws(FSError) {
          // Look-up counts do not matter: no kernel knows this tree.
          status = try tree.files.lookup(status.number, FileName(name))
        } catch .noEntry {
          return nil
        }
      }
      return status
    }
  }
}
