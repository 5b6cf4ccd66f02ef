internal import CShims
internal import Glibc

/// stat(2).
package struct FileStatus: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case regular, directory, symlink, fifo, socket, characterDevice, blockDevice, unknown
  }

  /// Distinguishes a file from all others that exist.
  package struct Identity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
  }

  package var identity: Identity { Identity(device: device, inode: inode) }
  package var device: UInt64
  package var inode: UInt64
  package var kind: Kind
  /// 0 to 0o7777.
  package var mode: UInt32
  package var links: UInt64
  package var uid: UInt32
  package var gid: UInt32
  package var size: UInt64
  /// In bytes.
  package var allocated: UInt64
  /// Since 1970.
  package var modifiedSeconds: Int64
  package var modifiedNanoseconds: UInt32

  /// `major:minor` (makedev(3)).
  package var deviceName: String { Self.name(ofDevice: device) }

  static func name(ofDevice device: UInt64) -> String {
    let major = (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000
    let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
    return "\(major):\(minor)"
  }

  init(_ raw: stat) {
    device = UInt64(raw.st_dev)
    inode = UInt64(raw.st_ino)
    mode = raw.st_mode & 0o7777
    links = UInt64(raw.st_nlink)
    uid = raw.st_uid
    gid = raw.st_gid
    size = UInt64(max(0, raw.st_size))
    allocated = UInt64(max(0, raw.st_blocks)) * 512
    modifiedSeconds = Int64(raw.st_mtim.tv_sec)
    modifiedNanoseconds = UInt32(truncatingIfNeeded: raw.st_mtim.tv_nsec)
    switch raw.st_mode & S_IFMT {
    case S_IFREG: kind = .regular
    case S_IFDIR: kind = .directory
    case S_IFLNK: kind = .symlink
    case S_IFIFO: kind = .fifo
    case S_IFSOCK: kind = .socket
    case S_IFCHR: kind = .characterDevice
    case S_IFBLK: kind = .blockDevice
    default: kind = .unknown
    }
  }
}

/// statfs(2).
package struct FileSystemStatus: Hashable, Sendable {
  /// `f_type`.
  package var type: UInt64
  package var blockSize: UInt64
  package var blocks: UInt64
  /// With those reserved for root.
  package var freeBlocks: UInt64
  package var availableBlocks: UInt64
  package var files: UInt64
  package var freeFiles: UInt64

  /// The bytes that an ordinary user may still write.
  package var availableBytes: UInt64 {
    availableBlocks.multipliedReportingOverflow(by: blockSize).partialValue
  }

  /// The name of a network or user-space file system, where locks and syncs are unreliable.
  package var unreliableKind: String? {
    switch type {
    case 0x6969: "NFS"
    case 0xFF53_4D42, 0xFE53_4D42: "SMB"
    case 0x517B: "SMB"
    case 0x0102_1997: "9p"
    case 0x6573_5546: "FUSE"
    default: nil
    }
  }

  init(_ raw: llvs_statfs) {
    type = raw.type
    blockSize = raw.block_size
    blocks = raw.blocks
    freeBlocks = raw.free_blocks
    availableBlocks = raw.available_blocks
    files = raw.files
    freeFiles = raw.free_files
  }
}
