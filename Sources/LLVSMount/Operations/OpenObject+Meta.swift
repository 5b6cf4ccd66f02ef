import Control
import FuseSession
import HistoryTree
import Inodes
import WorkingTree

final class OpenMetaDirectory: OpenObject {
  let directory: MetaDirectory
  init(_ directory: MetaDirectory) { self.directory = directory }
}

final class OpenMetaFile: OpenObject {
  let file: MetaFile
  init(_ file: MetaFile) { self.file = file }
}

final class OpenControl: OpenObject {
  let session: ControlSession
  init(_ session: ControlSession) { self.session = session }
}

extension MetaEntry {
  /// The entry in FUSE's form: the kernel keeps history forever, and asks each time for everything else.
  var fuseEntry: EntryAttributes {
    EntryAttributes(
      node: NodeID(status.number.rawValue), attributes: status.attributes,
      entryTimeout: isLasting ? EntryAttributes.forever : 0,
      attributeTimeout: isLasting ? EntryAttributes.forever : 0)
  }
}
