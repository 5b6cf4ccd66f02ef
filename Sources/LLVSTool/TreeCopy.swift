import Platform

/// Copies a directory tree into another directory as `cp -a` does: kinds, modes, owners if permitted, times,
/// attributes below `user.`, hard links and holes. Paths may be longer than cp(1) accepts. Existing files are
/// replaced; existing directories are entered.
struct TreeCopy {
  private struct Level {
    var source: [UInt8]
    var copy: [UInt8]
    var names: ArraySlice<DirectoryName>
  }

  private let directory: [UInt8]
  private let target: [UInt8]
  private let leftOut: [UInt8]
  private let isCancelled: () -> Bool
  private(set) var count = 0
  private var levels: [Level] = []
  /// The copy of the first name of each file with several names.
  private var links: [FileStatus.Identity: [UInt8]] = [:]
  private var made: Set<[UInt8]> = []

  /// `leftOut` is a name that is not copied at any level.
  init(
    from directory: [UInt8], to target: [UInt8], without leftOut: [UInt8],
    isCancelled: @escaping () -> Bool
  ) {
    self.directory = directory
    self.target = target
    self.leftOut = leftOut
    self.isCancelled = isCancelled
  }

  /// Copies the tree, or only the files for which `isWanted` is true of the copy's path; throws at the first error,
  /// and EINTR if it was cancelled.
  mutating func run(
    _ isWanted: (([UInt8]) throws(SystemError) -> Bool)? = nil
  ) throws(SystemError) {
    try enter(directory, target)
    while var level = levels.popLast() {
      guard let name = level.names.popFirst() else {
        // Last, when nothing is made in it any more. The slash permits a link to the copied directory. Existing
        // directories keep their attributes.
        if isWanted != nil, !made.contains(level.copy) { continue }
        let source = level.source + (levels.isEmpty ? [0x2F] : [])
        try copyAttributes(of: source, try FileSystem.status(source), to: level.copy)
        continue
      }
      levels.append(level)
      guard name.bytes != leftOut else { continue }
      try check(name.bytes)
      count += 1
      let source = level.source + [0x2F] + name.bytes
      let copy = level.copy + [0x2F] + name.bytes
      guard name.kind == .directory else {
        if try isWanted?(copy) ?? true { try copyFile(source, to: copy) }
        continue
      }
      if try Self.kind(at: copy) != .directory {
        try FileSystem.makeDirectory(copy, permissions: 0o700)
        if isWanted != nil { made.insert(copy) }
      }
      try enter(source, copy)
    }
  }

  private func check(_ path: [UInt8]) throws(SystemError) {
    guard isCancelled() else { return }
    throw SystemError(errno: Errno.interrupted, call: "copy", subject: FileSystem.text(path))
  }

  private mutating func enter(_ source: [UInt8], _ copy: [UInt8]) throws(SystemError) {
    let names = try FileSystem.names(in: source)
    levels.append(Level(source: source, copy: copy, names: names[...]))
  }

  static func kind(at path: [UInt8]) throws(SystemError) -> FileStatus.Kind? {
    do throws(SystemError) {
      return try FileSystem.status(path).kind
    } catch {
      guard error.errno == Errno.noEntry else { throw error }
      return nil
    }
  }

  private mutating func copyFile(_ source: [UInt8], to copy: [UInt8]) throws(SystemError) {
    let status = try FileSystem.status(source)
    let first = status.links > 1 ? links[status.identity] : nil
    let old = try Self.kind(at: copy)
    if old != nil, old != .regular || status.kind != .regular || first != nil {
      try FileSystem.unlink(copy)
    }
    if let first { return try FileSystem.link(first, to: copy) }
    switch status.kind {
    case .regular: try copyBytes(of: source, to: copy)
    case .symlink: try FileSystem.symlink(try FileSystem.readlink(source), at: copy)
    case .fifo, .socket, .characterDevice, .blockDevice:
      let isDevice = status.kind == .characterDevice || status.kind == .blockDevice
      let number = isDevice ? try FileSystem.deviceNumber(source) : (0, 0)
      try FileSystem.makeNode(
        copy, kind: status.kind, mode: 0o600, major: number.0, minor: number.1)
    case .directory, .unknown: return
    }
    if status.links > 1 { links[status.identity] = copy }
    try copyAttributes(of: source, status, to: copy)
  }

  private func copyBytes(of source: [UInt8], to copy: [UInt8]) throws(SystemError) {
    let from = try File(bytes: source, [.read, .noFollow, .nonBlocking])
    let to = try File(
      bytes: copy, [.readWrite, .create, .truncate, .noFollow], permissions: 0o600)
    var offset: UInt64 = 0
    while let start = try from.nextData(from: offset) {
      offset = start
      let end = try from.nextHole(from: start) ?? .max
      while offset < end {
        try check(source)
        let part = try from.read(Int(min(1 << 20, end - offset)), at: offset)
        if part.isEmpty { break }
        try to.write(part, at: offset)
        offset += UInt64(part.count)
      }
      // The file became shorter during the copy.
      guard offset == end else { break }
    }
    try to.truncate(to: max(offset, try from.status().size))
  }

  private func copyAttributes(
    of source: [UInt8], _ status: FileStatus, to copy: [UInt8]
  ) throws(SystemError) {
    for name in try FileSystem.extendedNames(source) {
      guard let value = try FileSystem.extended(source, name) else { continue }
      try FileSystem.setExtended(copy, name, to: value)
    }
    var mode = status.mode
    do throws(SystemError) {
      try FileSystem.setOwner(copy, uid: status.uid, gid: status.gid)
    } catch {
      guard error.errno == Errno.operationNotPermitted else { throw error }
      // As in cp -a: without the right to change owners the copy loses the set-id bits.
      mode &= 0o1777
    }
    if status.kind != .symlink { try FileSystem.setMode(copy, mode) }
    try FileSystem.setModified(
      copy, seconds: status.modifiedSeconds, nanoseconds: status.modifiedNanoseconds)
  }
}
