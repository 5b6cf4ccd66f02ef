import Platform

/// Copies a directory as it is there for the kernel, as a kill leaves it; files of which the name begins with
/// `prefix` are left out.
func copyTree(_ path: String, to target: String, leavingOut prefix: String? = nil) throws {
  // The copy may be inside of what is copied.
  let names = try FileSystem.list(path).filter { "\(path)/\($0)" != target }
  try FileSystem.makeDirectory(target)
  for name in names {
    if let prefix, name.hasPrefix(prefix) { continue }
    let (from, to) = ("\(path)/\(name)", "\(target)/\(name)")
    if try FileSystem.status(from).kind == .directory {
      try copyTree(from, to: to)
    } else if !name.hasSuffix("-shm") {
      try File(to, [.readWrite, .create], permissions: 0o600)
        .write(try FileSystem.read(from, atMost: 1 << 28), at: 0)
    }
  }
}
