import Inodes
import WorkingTree

extension KernelNotice {
  /// A name that leads to something else.
  static func entry(parent: UInt64, name: [UInt8]) -> KernelNotice {
    .name(InodeName(directory: InodeNumber(parent), name: FileName(name)))
  }

  /// An inode of other attributes.
  static func node(_ inode: UInt64) -> KernelNotice { .attributes(InodeNumber(inode)) }
}
