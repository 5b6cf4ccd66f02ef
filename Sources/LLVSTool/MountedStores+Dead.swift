import FuseSession
import Grammar
import LLVSMount
import Platform

// Mounts of a dead daemon that cannot exit: the kernel holds the store's lock while a program waits for an answer
// (ConnectionWatch.swift). A request would hang, so only the kernel's tables are read.

extension MountedStores {
  /// The longest wait for a dead daemon to release its store after its connections ended, in nanoseconds.
  private static let patience: UInt64 = 10_000_000_000

  /// Ends the connections of a store's daemon if the daemon is dead and still holds the store.
  static func release(_ store: String) throws {
    let lock = "\(store)/lock"
    guard let holder = holder(of: lock), let device = holder.device,
      HeldDaemon.isHeld(holder.process, named: "llvs")
    else { return }
    let table = try MountTable()
    let mounts = table.entries.filter { $0.type == "fuse.llvs" }
    let own = mounts.first { $0.device == device }
    // The kernel reuses the number of a connection that has ended.
    guard own != nil || !table.entries.contains(where: { $0.device == device }) else { return }
    if let own, let other = Self.holder(of: "\(FileSystem.text(own.source))/lock"),
      other.device == device, other.process != holder.process
    {
      return
    }
    let history = own.flatMap { own in
      let path = Array(HistoryMount.path(below: FileSystem.text(own.path)).utf8)
      return mounts.first { $0.path == path && $0.source == own.source }
    }
    var isEnded = MountPoint.endConnection(device: device)
    if let history, !MountPoint.endConnection(device: history.device) { isEnded = false }
    let end = SystemClock.monotonic() + patience
    while isEnded, self.holder(of: lock)?.process == holder.process {
      if SystemClock.monotonic() > end { isEnded = false }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
    guard isEnded else {
      let place = own.map { FileSystem.text($0.path) } ?? "MOUNTPOINT"
      throw ControlError(
        .busy,
        "the daemon of \(store) (process \(holder.process)) is dead, and the kernel keeps it while programs wait for it; root ends that with: umount -f \(place)"
      )
    }
  }

  /// Does the same for the store that is mounted at a path.
  static func release(at place: String) throws {
    guard let path = unasked(place) else { return }
    for entry in try MountTable().entries where entry.path == path && entry.type == "fuse.llvs" {
      try release(String(decoding: entry.source, as: UTF8.self))
    }
  }

  /// Resolves a path without a request to its last file, which may be a dead mount; nil if impossible.
  private static func unasked(_ path: String) -> [UInt8]? {
    var path = path
    for _ in 0..<8 {
      while path.count > 1, path.hasSuffix("/") { path.removeLast() }
      guard let name = path.split(separator: "/").last, name != ".", name != "..",
        let above = try? FileSystem.resolve(FileSystem.directory(of: path))
      else { return nil }
      path = (above == "/" ? "" : above) + "/" + name
      let bytes = Array(path.utf8)
      if (try? MountTable())?.mount(at: bytes) != nil { return bytes }
      guard let target = try? FileSystem.readlink(bytes) else { return bytes }
      let text = FileSystem.text(target)
      path = text.hasPrefix("/") ? text : "\(above)/\(text)"
    }
    return nil
  }
}
