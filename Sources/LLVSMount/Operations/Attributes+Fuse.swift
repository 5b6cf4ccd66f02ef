import FuseSession
import Inodes
import LLVSCore
import TreeNames
import WorkingTree

extension EntryKind {
  var typeBits: UInt32 {
    switch self {
    case .regular: 0o100000
    case .symlink: 0o120000
    case .fifo: 0o010000
    case .socket: 0o140000
    case .characterDevice: 0o020000
    case .blockDevice: 0o060000
    case .directory: 0o040000
    }
  }
}

extension FileTime {
  init(_ time: Attributes.Time) { self.init(seconds: time.seconds, nanoseconds: time.nanoseconds) }
}

extension Attributes.Time {
  init(_ time: FileTime) { self.init(seconds: time.seconds, nanoseconds: time.nanoseconds) }
}

extension Attributes.Device {
  /// Decodes Linux's device number: the major's 12 bits from bit 8 on, the minor's around them.
  init(number: UInt64) {
    self.init(
      major: UInt32(truncatingIfNeeded: number >> 8 & 0xFFF),
      minor: UInt32(truncatingIfNeeded: number & 0xFF | number >> 12 & 0xFFF00))
  }

  var number: UInt64 {
    UInt64(minor & 0xFF) | UInt64(major & 0xFFF) << 8 | UInt64(minor & ~0xFF) << 12
  }
}

extension NodeID {
  var number: InodeNumber { InodeNumber(rawValue) }
}

extension InodeStatus {
  var attributes: FileAttributes {
    var result = FileAttributes(inode: number.rawValue, mode: kind.typeBits | mode)
    result.linkCount = links
    result.uid = uid
    result.gid = gid
    result.device = device.number
    result.size = size
    result.blocks = (stored + 511) / 512
    result.modified = FileTime(mtime)
    result.changed = FileTime(ctime)
    result.accessed = FileTime(atime)
    return result
  }

  /// The seconds for which the kernel may keep a name. It asks for each use of an escaped name, which resolves to
  /// something else whenever scratch next to it is renamed or removed.
  static func timeout(at name: [UInt8]) -> Double {
    name.starts(with: DisplacedName.prefix) ? 0 : EntryAttributes.forever
  }

  func liveEntry(at name: [UInt8]) -> EntryAttributes {
    var entry = liveEntry
    entry.entryTimeout = Self.timeout(at: name)
    return entry
  }

  /// An entry of the working tree: it stays valid until the kernel is notified.
  var liveEntry: EntryAttributes {
    EntryAttributes(node: NodeID(number.rawValue), attributes: attributes)
  }
}

extension SetAttributes {
  /// The requested change, with the clock's time for times that the caller left open.
  var change: StatusChange {
    var result = StatusChange()
    result.mode = mode
    result.uid = uid
    result.gid = gid
    result.size = size
    result.mtime = modified.map(Self.time)
    result.atime = accessed.map(Self.time)
    return result
  }

  private static func time(_ time: Time) -> Attributes.Time {
    switch time {
    case .now: Attributes.Time.now
    case .at(let named): Attributes.Time(named)
    }
  }
}

extension AccessRules {
  init(_ flags: MountFlags) {
    let files: Rule =
      switch flags.accessTimes {
      case _ where flags.isReadOnly: .never
      case .never: .never
      case .relative: .relative
      case .strict: .always
      }
    self.init(files: files, directories: flags.sparesDirectories ? .never : files)
  }
}
