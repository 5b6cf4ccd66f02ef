import Platform

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

  private struct Chain {
    /// From the nearest one up to the root.
    var directories: [FileStatus.Identity] = []
    /// Names below the nearest existing directory.
    var missing: [String] = []
  }

  private static func chain(_ path: String) throws(FuseError) -> Chain {
    var result = Chain()
    var path = path
    if !path.hasPrefix("/") {
      path = try FuseError.wrapping { () throws(SystemError) in
        try FileSystem.resolve(".") + "/" + path
      }
    }
    var resolved = try canonical(path)
    while resolved == nil {
      let parts = path.split(separator: "/")
      guard let last = parts.last else { throw .system(call: "realpath /", errno: Errno.noEntry) }
      if last != "." { result.missing.insert(String(last), at: 0) }
      path = "/" + parts.dropLast().joined(separator: "/")
      resolved = try canonical(path)
    }
    var rest = resolved ?? "/"
    while true {
      let found = try FuseError.wrapping { () throws(SystemError) in try FileSystem.status(rest) }
      result.directories.append(found.identity)
      if rest == "/" { return result }
      rest = FileSystem.directory(of: rest)
    }
  }

  private static func canonical(_ path: String) throws(FuseError) -> String? {
    try FuseError.wrapping { () throws(SystemError) in
      do throws(SystemError) {
        return try FileSystem.resolve(path)
      } catch  where error.isAbsence {
        return nil
      }
    }
  }
}
