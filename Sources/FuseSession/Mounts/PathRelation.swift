import CFuse3
import Glibc

/// The position of a mount point relative to a store.
package enum PathRelation: Hashable, Sendable {
  case separate
  case equal
  case above
  case inside

  /// Compares two directories by identity, so symbolic links and bind mounts make no difference. A missing store is
  /// compared by the nearest existing directory and the missing names.
  package static func of(
    mountPoint: String, toStore store: String
  ) throws(FuseError) -> PathRelation {
    let mount = try chain(mountPoint)
    let other = try chain(store)
    guard let mountItself = mount.directories.first, let storeItself = other.directories.first
    else { return .separate }
    if mountItself == storeItself {
      // Missing parts are compared by name.
      if mount.missing == other.missing { return .equal }
      if other.missing.starts(with: mount.missing) { return .above }
      return mount.missing.starts(with: other.missing) ? .inside : .separate
    }
    if mount.missing.isEmpty, other.directories.contains(mountItself) { return .above }
    if other.missing.isEmpty, mount.directories.contains(storeItself) { return .inside }
    return .separate
  }

  private struct Identity: Hashable {
    let device: UInt
    let inode: UInt
  }

  private struct Chain {
    /// From the nearest one up to the root.
    var directories: [Identity] = []
    /// Names below the nearest existing directory.
    var missing: [String] = []
  }

  private static func chain(_ path: String) throws(FuseError) -> Chain {
    var result = Chain()
    var path = path.hasPrefix("/") ? path : try currentDirectory() + "/" + path
    var resolved = try canonical(path)
    while resolved == nil {
      let parts = path.split(separator: "/")
      guard let last = parts.last else { throw .system(call: "realpath /", errno: ENOENT) }
      if last != "." { result.missing.insert(String(last), at: 0) }
      path = "/" + parts.dropLast().joined(separator: "/")
      resolved = try canonical(path)
    }
    var rest = resolved ?? "/"
    while true {
      var found = stat()
      guard unsafe stat(rest, &found) == 0 else {
        throw .system(call: "stat \(rest)", errno: errno)
      }
      result.directories.append(Identity(device: found.st_dev, inode: found.st_ino))
      if rest == "/" { return result }
      rest = "/" + rest.split(separator: "/").dropLast().joined(separator: "/")
    }
  }

  private static func canonical(_ path: String) throws(FuseError) -> String? {
    guard let resolved = unsafe realpath(path, nil) else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return nil }
      throw .system(call: "realpath \(path)", errno: code)
    }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  private static func currentDirectory() throws(FuseError) -> String {
    guard let directory = unsafe getcwd(nil, 0) else {
      throw .system(call: "getcwd", errno: errno)
    }
    defer { unsafe free(directory) }
    return unsafe String(cString: directory)
  }
}
