/// The operations that a file system serves, by the names of the requests.
///
/// The kernel sends the first request for another operation, gets ENOSYS and sends no more. The kernel
/// itself serves access(2), because of `default_permissions`, locks, and copies of ranges.
package struct OperationSet: OptionSet, Sendable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }
  private init(bit: UInt64) { rawValue = 1 << bit }

  /// lookup, forget, getattr, statfs, which every file system has.
  package static let base = OperationSet(bit: 0)
  package static let setattr = OperationSet(bit: 1)
  package static let readlink = OperationSet(bit: 2)
  package static let mknod = OperationSet(bit: 3)
  package static let mkdir = OperationSet(bit: 4)
  package static let unlink = OperationSet(bit: 5)
  package static let rmdir = OperationSet(bit: 6)
  package static let symlink = OperationSet(bit: 7)
  package static let rename = OperationSet(bit: 8)
  package static let link = OperationSet(bit: 9)
  package static let open = OperationSet(bit: 10)
  package static let read = OperationSet(bit: 11)
  package static let write = OperationSet(bit: 12)
  package static let flush = OperationSet(bit: 13)
  package static let release = OperationSet(bit: 14)
  package static let fsync = OperationSet(bit: 15)
  package static let opendir = OperationSet(bit: 16)
  package static let readdir = OperationSet(bit: 17)
  package static let readdirplus = OperationSet(bit: 18)
  package static let releasedir = OperationSet(bit: 19)
  package static let fsyncdir = OperationSet(bit: 20)
  package static let setxattr = OperationSet(bit: 21)
  package static let getxattr = OperationSet(bit: 22)
  package static let listxattr = OperationSet(bit: 23)
  package static let removexattr = OperationSet(bit: 24)
  package static let create = OperationSet(bit: 25)
  package static let fallocate = OperationSet(bit: 26)
  package static let lseek = OperationSet(bit: 27)
  /// Answered with ENOTTY.
  package static let ioctl = OperationSet(bit: 28)
  package static let all = OperationSet(rawValue: .max)
}
