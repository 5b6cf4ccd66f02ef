import CShims
import Glibc

// The calls of RandomNames, each with what it must do to the tree.

extension RandomNames {
  func act() throws {
    let entry = anyEntry()
    switch dice.below(24) {
    case 0...2: try create(entry)
    case 3, 4: try makeDirectory(entry)
    case 5: try makeLink(entry)
    case 6: try makeFIFO(entry)
    case 7, 8: try link(entry)
    case 9, 10: try unlink(entry)
    case 11: try removeDirectory(entry)
    case 12...15: try rename(entry)
    case 16: try write(entry)
    case 17: try truncate(entry)
    case 18: try changeMode(entry)
    case 19: try changeAttributes(entry)
    case 20: try setTimes(entry)
    case 21: try hold(entry)
    case 22: try read(entry)
    default: if mount != nil, dice.oneIn(3) { try commit() } else { try writeHeld() }
    }
  }

  /// Expects a call to fail with an errno, or to succeed.
  private func expect(_ errno: Int32?, _ result: Int, _ what: String) throws -> Bool {
    if let errno {
      try require(result < 0 && Glibc.errno == errno, "\(what): not refused as by \(errno)")
      return false
    }
    try ok(result, what)
    return true
  }

  /// Takes the number and the times of what was just made.
  private func made(_ node: ModelNode, _ entry: ModelEntry) throws {
    set(entry, node)
    var status = stat()
    try ok(Sys.stat(path(entry), &status, follow: false), "stat of what was made")
    node.number = status.st_ino
    node.times = ModelTimes(status)
    touch(entry.directory, modified: true)
  }

  // MARK: - Making

  private func create(_ entry: ModelEntry) throws {
    let isExclusive = dice.oneIn(2)
    let truncates = dice.oneIn(2)
    note("create \(short(entry)) \(isExclusive) \(truncates)")
    // A symbolic link's target is nowhere here: creating through it would make a file elsewhere.
    if !isExclusive, entry.node?.kind == .symlink || entry.node?.kind == .fifo { return }
    var flags = O_RDWR | O_CREAT
    if isExclusive { flags |= O_EXCL }
    if truncates { flags |= O_TRUNC }
    var refusal: Int32?
    if let node = entry.node {
      if isExclusive { refusal = EEXIST } else if node.isDirectory { refusal = EISDIR }
    }
    let fd = Sys.open(path(entry), flags, 0o640)
    guard try expect(refusal, fd, "open") else { return }
    Sys.close(fd)
    if let node = entry.node {
      guard truncates else { return }
      node.text = []
      touch(node, modified: true)
    } else {
      try made(ModelNode(.regular, mode: 0o640), entry)
    }
  }

  private func makeDirectory(_ entry: ModelEntry) throws {
    note("mkdir \(short(entry))")
    let refusal = entry.node == nil ? nil : EEXIST
    guard directories().count < 12 || refusal != nil else { return }
    guard try expect(refusal, Sys.mkdir(path(entry), 0o750), "mkdir") else { return }
    try made(ModelNode(.directory, mode: 0o750), entry)
  }

  private func makeLink(_ entry: ModelEntry) throws {
    note("symlink \(short(entry))")
    let target = "nowhere/\(dice.below(1000))"
    let refusal = entry.node == nil ? nil : EEXIST
    guard try expect(refusal, Sys.symlink(target, path(entry)), "symlink") else { return }
    let node = ModelNode(.symlink, mode: 0o777)
    node.text = Array(target.utf8)
    try made(node, entry)
  }

  private func makeFIFO(_ entry: ModelEntry) throws {
    note("mkfifo \(short(entry))")
    let refusal = entry.node == nil ? nil : EEXIST
    let mode = Int(Kind.fifo.typeBits) | 0o600
    guard try expect(refusal, Sys.mknod(path(entry), mode), "mkfifo") else { return }
    try made(ModelNode(.fifo, mode: 0o600), entry)
  }

  private func link(_ entry: ModelEntry) throws {
    let other = anyEntry()
    note("link \(short(entry)) to \(short(other))")
    var refusal: Int32?
    if entry.node == nil {
      refusal = ENOENT
    } else if other.node != nil {
      refusal = EEXIST
    } else if entry.node?.isDirectory == true {
      refusal = EPERM
    }
    guard try expect(refusal, Sys.link(path(entry), path(other)), "link") else { return }
    set(other, entry.node)
    touch(entry.node)
    touch(other.directory, modified: true)
  }

  // MARK: - Taking away and moving

  private func unlink(_ entry: ModelEntry) throws {
    note("unlink \(short(entry))")
    let node = entry.node
    let refusal: Int32? = node == nil ? ENOENT : node?.isDirectory == true ? EISDIR : nil
    guard try expect(refusal, Sys.unlink(path(entry)), "unlink") else { return }
    set(entry, nil)
    touch(node)
    touch(entry.directory, modified: true)
  }

  private func removeDirectory(_ entry: ModelEntry) throws {
    note("rmdir \(short(entry))")
    var refusal: Int32?
    if let node = entry.node {
      if !node.isDirectory {
        refusal = ENOTDIR
      } else if !node.children.isEmpty {
        refusal = ENOTEMPTY
      }
    } else {
      refusal = ENOENT
    }
    guard try expect(refusal, Sys.rmdir(path(entry)), "rmdir") else { return }
    set(entry, nil)
    touch(entry.directory, modified: true)
  }

  /// As do_renameat2() and vfs_rename() of Linux refuse, in their order.
  private func refusal(of entry: ModelEntry, to other: ModelEntry, _ flags: Int) -> Int32? {
    guard let node = entry.node else { return ENOENT }
    if flags == Linux.noReplace, other.node != nil { return EEXIST }
    if flags == Linux.exchange, other.node == nil { return ENOENT }
    if node.isDirectory, other.directory.isBelow(node) { return EINVAL }
    guard let target = other.node else { return nil }
    if target.isDirectory, entry.directory.isBelow(target) {
      return flags == Linux.exchange ? EINVAL : ENOTEMPTY
    }
    if flags == Linux.exchange || target === node { return nil }
    if node.isDirectory, !target.isDirectory { return ENOTDIR }
    if !node.isDirectory, target.isDirectory { return EISDIR }
    return target.isDirectory && !target.children.isEmpty ? ENOTEMPTY : nil
  }

  private func rename(_ entry: ModelEntry) throws {
    let other = anyEntry()
    let flags = dice.one(of: [0, 0, 0, Linux.noReplace, Linux.exchange])
    note("rename \(short(entry)) to \(short(other)) \(flags)")
    let refusal = refusal(of: entry, to: other, flags)
    let result = Sys.rename(path(entry), path(other), flags)
    guard try expect(refusal, result, "rename") else { return }
    guard let node = entry.node else { return }
    let target = other.node
    // Two names of one node: nothing is done.
    if target === node { return }
    // Both are held while they have no name, so that neither counts as let go.
    entry.directory.children[entry.name] = nil
    other.directory.children[other.name] = nil
    entry.directory.children[entry.name] = flags == Linux.exchange ? target : nil
    other.directory.children[other.name] = node
    if node.isDirectory { node.parent = other.directory }
    if let target {
      if flags == Linux.exchange {
        if target.isDirectory { target.parent = entry.directory }
      } else if !target.isDirectory {
        target.names -= 1
        if target.names == 0, target.fd != nil { nameless.append(target) }
      }
      touch(target)
    }
    touch(node)
    touch(entry.directory, modified: true)
    touch(other.directory, modified: true)
  }

  // MARK: - Changing what is there

  private func bytes() -> [UInt8] { (0..<dice.below(40)).map { UInt8(65 + $0 % 26) } }

  private func write(_ entry: ModelEntry) throws {
    guard let node = entry.node, node.kind == .regular else { return }
    let bytes = bytes()
    note("write \(short(entry)) \(bytes.count)")
    let fd = try ok(Sys.open(path(entry), O_WRONLY | O_APPEND), "open")
    let count = Sys.write(fd, bytes)
    Sys.close(fd)
    try equal(count, bytes.count)
    if bytes.isEmpty { return }
    node.text += bytes
    touch(node, modified: true)
  }

  private func writeHeld() throws {
    let held = everything().filter { $0.fd != nil }
    guard !held.isEmpty else { return }
    let node = dice.one(of: held)
    guard let fd = node.fd else { return }
    let bytes = bytes() + [0x2E]
    note("write to a held one \(bytes.count)")
    try equal(Sys.pwrite(fd, bytes, at: node.text.count), bytes.count)
    node.text += bytes
    touch(node, modified: true)
    try equal(Sys.pread(fd, 4096, at: 0), node.text)
    if dice.oneIn(3) {
      note("let go")
      Sys.close(fd)
      node.fd = nil
      nameless.removeAll { $0 === node }
    }
  }

  private func hold(_ entry: ModelEntry) throws {
    guard let node = entry.node, node.kind == .regular, node.fd == nil else { return }
    note("hold \(short(entry))")
    node.fd = try ok(Sys.open(path(entry), O_RDWR), "open")
  }

  private func truncate(_ entry: ModelEntry) throws {
    guard let node = entry.node, node.kind == .regular else { return }
    let size = dice.below(60)
    // To the size that it has: times move on some and not on others.
    if size == node.text.count { return }
    note("truncate \(short(entry)) \(size)")
    try ok(Sys.truncate(path(entry), size), "truncate")
    node.text =
      Array(node.text.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - node.text.count))
    touch(node, modified: true)
  }

  private func changeMode(_ entry: ModelEntry) throws {
    guard let node = entry.node, node.kind != .symlink else { return }
    node.mode = 0o700 | UInt32(dice.below(0o100))
    note("chmod \(short(entry)) \(String(node.mode, radix: 8))")
    try ok(Sys.chmod(path(entry), Int(node.mode)), "chmod")
    touch(node)
  }

  private func changeAttributes(_ entry: ModelEntry) throws {
    guard let node = entry.node, node.kind == .regular || node.isDirectory else { return }
    let name = "user.\(dice.below(3))"
    if dice.oneIn(3) {
      note("removexattr \(short(entry)) \(name)")
      let refusal = node.attributes[name] == nil ? ENODATA : nil
      guard try expect(refusal, Sys.removexattr(path(entry), name), "removexattr") else { return }
      node.attributes[name] = nil
    } else {
      let bytes = bytes()
      // To set what is there moves no time on some.
      if node.attributes[name] == bytes { return }
      note("setxattr \(short(entry)) \(name) \(bytes.count)")
      try ok(Sys.setxattr(path(entry), name, bytes), "setxattr")
      node.attributes[name] = bytes
    }
    touch(node)
  }

  private func setTimes(_ entry: ModelEntry) throws {
    guard let node = entry.node else { return }
    let (seconds, nanoseconds) = (dice.below(1_000_000_000), dice.below(1_000_000_000))
    note("utimensat \(short(entry)) \(seconds).\(nanoseconds)")
    let result = Sys.utimes(
      path(entry), .omit, .seconds(seconds, nanoseconds), flags: AT_SYMLINK_NOFOLLOW)
    try ok(result, "utimensat")
    touch(node, modified: true)
    node.isTimeSet = true
    var status = stat()
    try ok(Sys.stat(path(entry), &status, follow: false), "stat")
    try equal(ModelTimes(status).modified, seconds * 1_000_000_000 + nanoseconds)
  }

  // MARK: - Looking

  private func read(_ entry: ModelEntry) throws {
    note("read \(short(entry))")
    guard let node = entry.node else {
      return try fails(ENOENT, Sys.open(path(entry), O_RDONLY))
    }
    try compare(node, path(entry))
  }

  private func compare(_ node: ModelNode, _ path: String) throws {
    try compare(node.kind, node.text, node.attributes, path)
  }

  /// The bytes, target or attributes that a path leads to.
  private func compare(
    _ kind: Kind, _ text: [UInt8], _ attributes: [String: [UInt8]], _ path: String
  ) throws {
    switch kind {
    case .symlink:
      let target = try withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
        let count = try path.withCString { name in
          try ok(
            call(
              SYS_readlinkat, here, Int(bitPattern: name), Int(bitPattern: room.baseAddress), 4096),
            "readlink")
        }
        return Array(room[..<count])
      }
      try equal(target, text)
    case .regular:
      let fd = try ok(Sys.open(path, O_RDONLY), "open")
      defer { Sys.close(fd) }
      try equal(Sys.pread(fd, 1 << 16, at: 0), text)
    default: break
    }
    guard kind == .regular || kind == .directory else { return }
    for number in 0..<3 {
      try equal(Sys.getxattr(path, "user.\(number)"), attributes["user.\(number)"])
    }
  }

  // MARK: - Versions

  /// A version made now has this tree.
  private func commit() throws {
    guard let mount else { return }
    note("commit")
    // A version takes what is saved, and what is synced is.
    for node in everything() {
      if let fd = node.fd { try ok(call(SYS_fsync, fd)) }
    }
    let control = try ok(Sys.open("\(mount)/.llvs/control", O_RDWR), "open the control file")
    let said = Sys.write(control, Array("commit\n".utf8))
    Sys.close(control)
    try equal(said, 7)
    let link = "\(place.path)/.llvs/head"
    let version = try withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
      let count = try link.withCString {
        try ok(
          call(
            SYS_readlinkat, here, Int(bitPattern: $0), Int(bitPattern: room.baseAddress), 4096),
          "readlink of the head")
      }
      return String(decoding: room[..<count], as: UTF8.self)
    }
    let wanted = snapshot()
    try compare(wanted, with: version)
    versions[version] = wanted
  }

  /// The tree as a version must have it.
  private func snapshot() -> [String: ShownNode] {
    var found: [String: ShownNode] = [:]
    for entry in entries() {
      guard let node = entry.node else { continue }
      let inside = String(path(entry).dropFirst(place.path.count + 1))
      let isFile = node.kind == .regular
      found[inside] = ShownNode(
        kind: node.kind, text: node.text, attributes: node.attributes,
        // History is for reading alone.
        mode: isFile ? node.mode & 0o555 : 0,
        // A time that was set is a change; that a file was written, with the bytes that it had, is none.
        modified: isFile && node.isTimeSet ? node.times.modified : nil)
    }
    return found
  }

  private func compare(_ wanted: [String: ShownNode], with version: String) throws {
    let root = "\(place.path)/.llvs/\(version)"
    var held: [String: Set<[UInt8]>] = ["": []]
    for (path, node) in wanted {
      let parts = path.split(separator: "/")
      held[parts.dropLast().joined(separator: "/"), default: []].insert(
        Array((parts.last ?? "").utf8))
      if node.kind == .directory { held[path, default: []].formUnion([]) }
      var status = stat()
      let shown = "\(root)/\(path)"
      try ok(Sys.stat(shown, &status, follow: false), "stat \(shown)")
      try equal(status.st_mode & 0o170000, node.kind.typeBits)
      if node.kind == .regular { try equal(status.st_mode & 0o555, node.mode) }
      let modified = ModelTimes(status).modified
      try require(
        node.modified == nil || node.modified == modified,
        "the mtime of \(shown) is \(modified), not \(node.modified ?? 0)")
      try compare(node.kind, node.text, node.attributes, shown)
    }
    for (path, names) in held {
      let shown = path.isEmpty ? root : "\(root)/\(path)"
      let listed = try Place.names(Path(shown)) ?? { throw failure("opendir \(shown)") }()
      let all = names.union([[0x2E], [0x2E, 0x2E]])
      try require(Set(listed) == all && listed.count == all.count, "\(shown) lists \(listed)")
    }
  }

  /// What was committed shows what it showed then.
  func checkVersions() throws {
    for (version, wanted) in versions { try compare(wanted, with: version) }
  }
}
