import Control
import FuseSession
import Grammar
import ObjectStores
import Platform

extension PeerOpener {
  /// Opens peers as usual, except those in the mount of the store itself.
  ///
  /// Sending there would change the tree, and so make something new to send. The mount is
  /// recognised by its device, whatever links or bind mounts lead to it.
  static func outside(mountPoint: String) -> PeerOpener {
    PeerOpener { (address, opening) throws(ControlError) in
      // Without a mount table or a directory, the usual way reports the error.
      if let path = address.directoryPath,
        let mount = (try? MountTable())?.mount(at: Array(mountPoint.utf8)),
        mount.type == "fuse.llvs",
        (try? FileSystem.status(path))?.deviceName == mount.device
      {
        throw ControlError(.grammar, "\(path) is in the mount of this store itself")
      }
      return try standard.open(address, opening)
    }
  }
}
