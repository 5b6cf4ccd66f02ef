import Inodes
import LLVSCore
import TreeNames
import WorkingTree

/// A file or a directory that leaves the versions and stays in the working tree.
struct KeptItem: Sendable {
  var path: [UInt8]
  /// Nil for a directory without an entry.
  var entry: Entry?
  var isDirectory: Bool { entry?.isDirectory ?? true }

  /// Returns a directory and everything below it, directories before their contents.
  static func all(
    below path: [UInt8], _ entry: Entry?, in view: TreeView
  ) throws(StoreError) -> [KeptItem] {
    var items = [KeptItem(path: path, entry: entry)]
    var walk = view.entries(below: path)
    while let (relative, entry) = try walk.next() {
      items.append(KeptItem(path: path + [0x2F] + relative, entry: entry))
    }
    return items.sorted { $0.path.lexicographicallyPrecedes($1.path) }
  }
}

extension ControlService {
  /// Makes a version's files and directories in the working tree where nothing exists now.
  func keep(_ items: [KeptItem]) throws(FSError) {
    var told: [KernelNotice] = []
    defer { tree.notifyKernel(told) }
    for item in items {
      var parts = item.path.split(separator: 0x2F).map { FileName($0) }
      guard let name = parts.popLast() else { continue }
      var parent = InodeNumber.root
      for part in parts { parent = try directory(part, in: parent, mode: 0o755, &told) }
      if item.isDirectory {
        let mode = item.entry?.attributes.mode ?? 0o755
        _ = try directory(name, in: parent, mode: mode, &told)
      } else if let entry = item.entry {
        try keep(entry, as: name, in: parent)
        told.append(.name(InodeName(directory: parent, name: name)))
      }
    }
  }

  private var caller: Caller { Caller(uid: tree.defaults.uid, gid: tree.defaults.gid, process: 0) }

  private func directory(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, _ told: inout [KernelNotice]
  ) throws(FSError) -> InodeNumber {
    let status: InodeStatus
    do throws(FSError) {
      status = try tree.files.lookup(parent, name)
    } catch .noEntry {
      status = try tree.files.makeDirectory(parent, name, mode: mode, caller: caller)
      told.append(.name(InodeName(directory: parent, name: name)))
    }
    tree.files.forget(status.number, count: 1)
    return status.number
  }

  private func keep(_ entry: Entry, as name: FileName, in parent: InodeNumber) throws(FSError) {
    let mode = entry.attributes.mode ?? 0o644
    let status: InodeStatus
    do throws(FSError) {
      switch entry.kind {
      case .regular: status = try write(entry, as: name, in: parent, mode: mode)
      case .symlink:
        let target = try FSError.translating(try store.contents.bytes(entry.stored))
        status = try tree.files.makeSymlink(parent, name, target: target, caller: caller)
      default:
        status = try tree.files.makeNode(
          parent, name, kind: entry.kind, mode: mode, device: entry.attributes.device,
          caller: caller)
      }
    } catch .exists {
      // Another process created a file of that name first.
      return
    }
    defer { tree.files.forget(status.number, count: 1) }
    for attribute in entry.attributes.extended {
      try tree.files.setxattr(status.number, attribute.name, attribute.value)
    }
    var change = StatusChange()
    change.mtime = entry.attributes.mtime
    change.uid = entry.attributes.uid
    change.gid = entry.attributes.gid
    if change.mtime != nil || change.uid != nil || change.gid != nil {
      _ = try tree.files.setattr(status.number, change)
    }
  }

  private func write(
    _ entry: Entry, as name: FileName, in parent: InodeNumber, mode: UInt32
  ) throws(FSError) -> InodeStatus {
    let (status, handle) = try tree.files.create(
      parent, name, mode: mode, open: .write, caller: caller)
    var offset: UInt64 = 0
    do throws(FSError) {
      while offset < entry.stored.length {
        let part = try FSError.translating(
          try store.contents.bytes(entry.stored, from: offset, count: 1 << 20))
        try part.withPiece { (bytes) throws(FSError) in
          try tree.files.write(handle, at: offset, bytes)
        }
        offset += UInt64(part.count)
      }
    } catch {
      try? tree.files.release(handle)
      throw error
    }
    try tree.files.release(handle)
    return status
  }
}
