import FuseSession
import Platform
import TreeNames
import WorkingTree

/// What a handle number stands for while something is open: the number is the object's address.
///
/// The kernel gives back only numbers it was given, and RELEASE comes last and once, so the reference that
/// `number` takes is given up by `close(_:)` alone.
class OpenObject {
  /// Takes a reference for the kernel and returns the number that stands for it.
  func number() -> HandleID {
    HandleID(UInt64(UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())))
  }

  /// The object that a number stands for.
  static func object(_ handle: HandleID) -> OpenObject? {
    guard let pointer = UnsafeRawPointer(bitPattern: UInt(handle.rawValue)) else { return nil }
    return Unmanaged<OpenObject>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Gives up the kernel's reference.
  static func close(_ handle: HandleID) {
    guard let pointer = UnsafeRawPointer(bitPattern: UInt(handle.rawValue)) else { return }
    Unmanaged<OpenObject>.fromOpaque(pointer).release()
  }
}

/// An open file of the live tree.
final class OpenLiveFile: OpenObject {
  let handle: LiveHandle

  init(_ handle: LiveHandle) {
    self.handle = handle
  }
}

/// An open directory of the live tree: its names are read when they are first asked for.
final class OpenLiveDirectory: OpenObject {
  let inode: UInt64
  private let listing = Monitor<DirectoryListing?>(nil)

  init(inode: UInt64) {
    self.inode = inode
  }

  /// The names; read anew at offset 0, which is what rewinddir(3) asks for.
  func names(_ tree: LiveTree, from offset: Int64) throws(FSError) -> DirectoryListing {
    if offset != 0, let known = listing.withLock({ $0 }) { return known }
    let fresh = try tree.list(inode)
    listing.withLock { $0 = fresh }
    return fresh
  }
}
