import FuseSession
import LLVSCore
import Platform

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
}
