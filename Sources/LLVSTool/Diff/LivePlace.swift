import Control
import HistoryTree
import LLVSCore
import Platform
import Reports
import WorkingTree

/// Access to a working tree: through its mount, or directly if its store is not mounted.
enum LivePlace: ComparedTree {
  case mount(MountView)
  case tree(TreeSession)

  /// Opens the working tree of an unmounted store; nil if it has none or, with a message, cannot be opened.
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

  func pending(in store: Store) throws -> [(change: PendingPath.Change, path: [UInt8])] {
    // Also what a view of a part does not show, because a comparison reports this.
    switch self {
    case .mount(let view):
      Self.pending(try CommandTarget.mounted(view, store: store.path).run(["pending"]).text)
    case .tree(let tree): try tree.pendingNames()
    }
  }

  static func pending(_ reply: String) -> [(change: PendingPath.Change, path: [UInt8])] {
    reply.split(separator: "\n").compactMap { line in
      guard let mark = line.utf8.first, let change = PendingPath.Change(rawValue: mark),
        line.utf8.dropFirst().first == 0x20
      else { return nil }
      var path = VisibleName.bytes(line.utf8.dropFirst(2))
      if path.last == 0x2F { path.removeLast() }
      return (change, path)
    }
  }

  func image(_ path: [UInt8]) throws -> FileImage? {
    switch self {
    case .mount(let view): try FileImage(live: try view.place(path))
    case .tree(let tree): try tree.status(at: path).map { try FileImage($0, of: tree) }
    }
  }

  func names(in path: [UInt8]) throws -> [[UInt8]] {
    switch self {
    case .mount(let view):
      let directory = try view.place(path)
      guard let status = try? FileSystem.status(directory), status.kind == .directory else {
        return []
      }
      return try FileSystem.names(in: directory).map(\.bytes).filter { name in
        let state = try FileSystem.extended(
          directory + [0x2F] + name, Array("user.llvs.state".utf8))
        return state?.elementsEqual("scratch".utf8) != true
      }
    case .tree(let tree): return try tree.searchedNames(in: path)
    }
  }

  func has(_ path: [UInt8]) throws -> Bool {
    switch self {
    case .mount(let view): try FileSystem.exists(try view.place(path))
    case .tree(let tree): try tree.status(at: path) != nil
    }
  }
}
