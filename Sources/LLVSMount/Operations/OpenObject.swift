import Control
import FuseSession
import HistoryTree
import Inodes
import WorkingTree

/// An open file or directory; its handle number is the object's address. The kernel sends RELEASE last and once, so
/// only `close(_:)` releases the reference of `number()`.
class OpenObject {
  /// Takes a reference for the kernel and returns the handle number.
  func number() -> HandleID {
    HandleID(UInt64(UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())))
  }

  static func object(_ handle: HandleID) -> OpenObject? {
    guard let pointer = UnsafeRawPointer(bitPattern: UInt(handle.rawValue)) else { return nil }
    return Unmanaged<OpenObject>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Releases the kernel's reference.
  static func close(_ handle: HandleID) {
    guard let pointer = UnsafeRawPointer(bitPattern: UInt(handle.rawValue)) else { return }
    Unmanaged<OpenObject>.fromOpaque(pointer).release()
  }
}

final class OpenLiveFile: OpenObject {
  let handle: HandleNumber
  let mode: OpenMode

  init(_ handle: HandleNumber, mode: OpenMode) {
    self.handle = handle
    self.mode = mode
  }
}

final class OpenLiveDirectory: OpenObject {
  let listing: DirectoryListing
  let isCached: Bool

  init(_ listing: DirectoryListing, isCached: Bool) {
    self.listing = listing
    self.isCached = isCached
  }
}

final class OpenMetaDirectory: OpenObject {
  let directory: MetaDirectory
  init(_ directory: MetaDirectory) { self.directory = directory }
}

final class OpenMetaFile: OpenObject {
  let file: MetaFile
  private let contents: OpenContents
  /// The number in `contents` of a value of history.
  private let number: UInt64?

  init(_ file: MetaFile, in contents: OpenContents) {
    self.file = file
    self.contents = contents
    number = if case .value(let stored) = file.kind { contents.insert(stored) } else { nil }
  }

  deinit { if let number { contents.remove(number) } }
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
