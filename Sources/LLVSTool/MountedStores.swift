import FuseSession
import Grammar
import LLVSCore
import LLVSMount
import Platform
import TreeNames

/// Finds the store of a mount, and the mount of a store.
/// With `-o fsname` a mount's source is any word: the device in the store's lock decides, else the mount.
enum MountedStores {
  struct Holder {
    var process: Int32
    var device: String?
  }

  static func holder(of lock: String) -> Holder? {
    guard let file = try? File.regular(lock, .read), (try? file.lock(.shared)) == false,
      let bytes = try? file.read(128, at: 0)
    else { return nil }
    let digits = bytes.prefix { (0x30...0x39).contains($0) }
    guard let id = Int32(String(decoding: digits, as: UTF8.self)), SystemProcess.isRunning(id)
    else { return nil }
    return Holder(process: id, device: Store.device(inLock: String(decoding: bytes, as: UTF8.self)))
  }

  static func store(of mount: MountEntry) throws -> String {
    let source = String(decoding: mount.source, as: UTF8.self)
    if source.hasPrefix("/"), holder(of: "\(source)/lock")?.device == mount.device { return source }
    let root = String(decoding: mount.path, as: UTF8.self)
    return try StoreReport(json: CommandTarget.status(of: root)).store
  }

  /// Returns the mount of a store: the newest that shows the whole tree; nil if it is not mounted.
  static func mount(of store: String, in mounts: [MountEntry]) -> MountEntry? {
    let device = holder(of: "\(store)/lock")?.device
    let found = mounts.filter { mount in
      guard mount.type == "fuse.llvs" else { return false }
      return device.map { $0 == mount.device }
        ?? (String(decoding: mount.source, as: UTF8.self) == store)
    }
    return found.last { !MountView($0).isPart } ?? found.last
  }

  // Mounts of a dead daemon that cannot exit: the kernel holds the store's lock while a program waits for an answer
  // (ConnectionWatch.swift). A request would hang, so only the kernel's tables are read.

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

/// A view of a tree: its mount, or a directory of it bind-mounted elsewhere.
struct MountView: Hashable, Sendable {
  let root: String
  /// The path in the tree of the shown directory; empty for the root.
  let part: [UInt8]

  init(_ mount: MountEntry) {
    root = String(decoding: mount.path, as: UTF8.self)
    part = Array(mount.root.drop { $0 == 0x2F })
  }

  var isPart: Bool { !part.isEmpty }

  /// Returns a path of the tree relative to the mount point; nil if the view does not show it.
  func below(_ path: [UInt8]) -> [UInt8]? {
    guard isPart else { return path }
    guard path.starts(with: part) else { return nil }
    let rest = path.dropFirst(part.count)
    guard let first = rest.first else { return [] }
    return first == 0x2F ? Array(rest.dropFirst()) : nil
  }

  func place(_ path: [UInt8]) throws(ControlError) -> [UInt8] {
    guard let below = below(path) else {
      throw ControlError(.notFound, "\(PrintableText.text(path)) is not to be seen in \(root)")
    }
    return Array("\(root)/".utf8) + below
  }
}
