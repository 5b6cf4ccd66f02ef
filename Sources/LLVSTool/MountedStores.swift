import Foundation
import FuseSession
import LLVSCore
import Platform

/// Which store a mount shows, and where a store is mounted.
///
/// The source that the kernel lists says it of a mount without `-o fsname`; of others it may be any word,
/// another store's path among them. So the lock of the store decides, which names the mount's device, and
/// where that does not fit, the mount is asked.
enum MountedStores {
  /// The process that holds a store's lock, and the device on which it shows the store.
  struct Holder {
    var process: Int32
    var device: String?
  }

  /// Who holds the lock; nil where it is free.
  static func holder(of lock: String) -> Holder? {
    guard let file = try? File.regular(lock, .read), (try? file.lock(.shared)) == false,
      let bytes = try? file.read(128, at: 0)
    else { return nil }
    let digits = bytes.prefix { (0x30...0x39).contains($0) }
    guard let id = Int32(String(decoding: digits, as: UTF8.self)), SystemProcess.isRunning(id)
    else { return nil }
    return Holder(process: id, device: Store.device(inLock: String(decoding: bytes, as: UTF8.self)))
  }

  /// The path of the store that a mount shows.
  ///
  /// - Throws: ``SystemError`` where the mount has to be asked and does not answer.
  static func store(of mount: MountEntry) throws -> String {
    let source = String(decoding: mount.source, as: UTF8.self)
    if source.hasPrefix("/"), holder(of: "\(source)/lock")?.device == mount.device {
      return source
    }
    let root = String(decoding: mount.path, as: UTF8.self)
    let bytes = try FileSystem.read("\(root)/.llvs/status.json", atMost: 64 << 20)
    let fields = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    // A daemon of before this was told is one whose source is its store.
    return fields?["store"] as? String ?? source
  }

  /// Where a store is mounted, of several places the newest that shows the whole tree; nil where it is not.
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
