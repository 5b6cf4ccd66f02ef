import FuseSession
import Platform
import TreeNames
import WorkingTree

/// An open file or directory; its handle number is the object's address.
///
/// The kernel returns only numbers that it was given, and RELEASE comes last and once, so
/// `close(_:)` alone releases the reference that `number()` takes.
class OpenObject {
  /// Takes a reference for the kernel and returns the handle number.
  func number() -> HandleID {
    HandleID(UInt64(UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())))
  }

  /// Returns the object of a handle number.
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

/// An open file of the working tree.
final class OpenLiveFile: OpenObject {
  let handle: LiveHandle

  init(_ handle: LiveHandle) {
    self.handle = handle
  }
}

/// An open directory of the working tree: its names are read at the first READDIR.
final class OpenLiveDirectory: OpenObject {
  let inode: UInt64
  private let listing = Monitor<DirectoryListing?>(nil)

  init(inode: UInt64) {
    self.inode = inode
  }

  /// Returns the names; reads them anew at offset 0, as rewinddir(3) demands.
  func names(_ tree: LiveTree, from offset: Int64) throws(FSError) -> DirectoryListing {
    if offset != 0, let known = listing.withLock({ $0 }) { return known }
    let fresh = try tree.list(inode)
    listing.withLock { $0 = fresh }
    return fresh
  }
}
