import Control
import FuseSession
import Grammar
import Platform

extension PeerOpener {
  /// The standard ways to peers, but for those in the mount of the store itself.
  ///
  /// What is sent there would be a change of the tree, and so the next thing to send. A file system is known
  /// by its device, whatever links or bind mounts lead to it.
  static func outside(mountPoint: String) -> PeerOpener {
    PeerOpener { (address, store) throws(ControlError) in
      // Without a table, or a directory, the standard ways say what is wrong.
      if let mount = (try? MountTable())?.mount(at: Array(mountPoint.utf8)),
        mount.type == "fuse.llvs",
        (try? FileSystem.status(address.path))?.deviceName == mount.device
      {
        throw ControlError(.grammar, "\(address.path) is in the mount of this store itself")
      }
      return try standard.open(address, store)
    }
  }
}
