import LLVSCore
package import Platform

/// What a power failure would leave of a directory: the bytes and the names that were synced, and of the rest
/// whatever the disk happened to have.
///
/// A file's bytes are durable as they were at its last sync, names as they were at the last sync of their
/// directory, whatever file systems may do beyond that. SQLite's calls count where `DatabaseFaults` are in.
///
/// - Concurrency: any thread may work below the directory.
package final class PowerDisk: Sendable {
  /// What the disk has of what was not synced.
  package enum Rest: Sendable {
    case nothing, everything
    /// Some blocks and some names.
    case some(seed: UInt64)
  }

  private struct State {
    var bytes: [UInt64: [UInt8]] = [:]
    /// The names in directories, by the directory's inode.
    var names: [UInt64: [String: UInt64]] = [:]
    var directories: Set<UInt64> = []
    var token: Faults.Token?
  }

  private static let block = 4096
  private let root: String
  private let rootInode: UInt64
  /// Links of what was synced, so that no inode number is used again.
  private let links: TemporaryDirectory
  private let state = Monitor(State())
  /// Held while an image is made: no other thread's call begins meanwhile, so an image is of one instant.
  private let imaging = Monitor(())

  /// Watches a directory, all of which is durable now; `body` is called at every call below it, before the
  /// call and after every sync, allotment and hole.
  package init(
    _ root: String, body: @escaping @Sendable (PowerDisk, SystemCall, Faults.Phase) -> Void
  ) throws {
    self.root = root
    rootInode = try FileSystem.status(root).inode
    links = try TemporaryDirectory(inMemory: root.hasPrefix("/dev/shm/"))
    try takeAll(root)
    let token = Faults.watch(below: root) { [weak self] call, phase in
      guard let self else { return }
      imaging.withLock { _ in }
      if call == .sync, case .after(let place) = phase { note(place) }
      body(self, call, phase)
    }
    state.withLock { $0.token = token }
  }

  deinit { state.withLock { $0.token.map { Faults.unwatch($0) } } }

  /// Ends watching.
  package func stop() {
    state.withLock { s in
      if let token = s.token { Faults.unwatch(token) }
      s.token = nil
    }
  }

  private func takeAll(_ path: String) throws {
    if try FileSystem.status(path, following: false).kind == .directory {
      for name in try FileSystem.list(path) { try takeAll("\(path)/\(name)") }
    }
    try take(path, through: path)
  }

  private func note(_ place: String) {
    // What has no name any more is not there after a power failure, unless its name is.
    if place.hasPrefix(root) {
      try? take(place, through: "/proc/self/root" + place)
    } else {
      try? take(try FileSystem.readlink(place), through: place)
    }
  }

  private func take(_ path: String, through: String) throws {
    let status = try FileSystem.status(through)
    if status.kind == .directory {
      var names: [String: UInt64] = [:]
      var directories: Set<UInt64> = [status.inode]
      for name in try Self.list(path) {
        guard let found = try? Self.status("\(path)/\(name)") else { continue }
        names[name] = found.inode
        if found.kind == .directory { directories.insert(found.inode) }
      }
      state.withLock { s in
        s.names[status.inode] = names
        s.directories.formUnion(directories)
      }
    } else {
      let link = links.file("\(status.inode)")
      if try !FileSystem.exists(link) { try? FileSystem.link(path, to: link) }
      let bytes = try FileSystem.read(through, atMost: 1 << 30)
      state.withLock { $0.bytes[status.inode] = bytes }
    }
  }

  /// Looks at names below the root by a path that is not watched.
  private static func list(_ path: String) throws -> [String] {
    try FileSystem.list("/proc/self/root" + path)
  }

  private static func status(_ path: String) throws -> FileStatus {
    try FileSystem.status("/proc/self/root" + path, following: false)
  }

  // MARK: The image

  /// Makes a directory of what a power failure would leave now, which is not below the watched one.
  ///
  /// - Throws: If a file cannot be read or written; there is no directory then.
  package func image(at target: String, _ rest: Rest) throws {
    precondition(!target.hasPrefix(root + "/"), "an image is made outside of what is watched")
    var random: SeededRandom?
    if case .some(let seed) = rest { random = SeededRandom(seed: seed) }
    let part = target + ".part"
    do {
      try imaging.withLock { _ in
        try make(rootInode, root, part, rest, state.withLock { $0 }, &random)
      }
      try FileSystem.rename(part, to: target)
    } catch {
      try? FileSystem.removeTree(part)
      throw error
    }
  }

  private func make(
    _ inode: UInt64, _ current: String?, _ target: String, _ rest: Rest, _ state: State,
    _ random: inout SeededRandom?
  ) throws {
    try FileSystem.makeDirectory(target)
    let durable = state.names[inode] ?? [:]
    var now: [String: UInt64] = [:]
    var directories = state.directories
    for name in try current.map({ try Self.list($0) }) ?? [] {
      guard let current, let status = try? Self.status("\(current)/\(name)") else { continue }
      now[name] = status.inode
      if status.kind == .directory { directories.insert(status.inode) }
    }
    for name in Set(durable.keys).union(now.keys).sorted() {
      let found: UInt64? =
        switch rest {
        case .nothing: durable[name]
        case .everything: now[name]
        case .some: Self.isOdd(&random) ? durable[name] : now[name]
        }
      // The index into the log is made anew from it.
      guard let found, !name.hasSuffix("-shm") else { continue }
      let path = now[name] == found ? current.map { "\($0)/\(name)" } : nil
      if directories.contains(found) {
        try make(found, path, "\(target)/\(name)", rest, state, &random)
        continue
      }
      let old = state.bytes[found] ?? []
      let new = try path.map { try FileSystem.read("/proc/self/root" + $0, atMost: 1 << 30) } ?? old
      let bytes =
        switch rest {
        case .nothing: old
        case .everything: new
        case .some: Self.mixed(old, new, &random)
        }
      try File("\(target)/\(name)", [.readWrite, .create, .exclusive], permissions: 0o600)
        .write(bytes, at: 0)
    }
  }

  /// Blocks of either; what is in neither is zeros.
  private static func mixed(
    _ old: [UInt8], _ new: [UInt8], _ random: inout SeededRandom?
  ) -> [UInt8] {
    guard old != new else { return new }
    let size = isOdd(&random) ? old.count : new.count
    var bytes = [UInt8](repeating: 0, count: size)
    for start in stride(from: 0, to: size, by: block) {
      let source = isOdd(&random) ? old : new
      let end = min(start + block, size, source.count)
      if start < end { bytes.replaceSubrange(start..<end, with: source[start..<end]) }
    }
    return bytes
  }

  private static func isOdd(_ random: inout SeededRandom?) -> Bool {
    (random?.next() ?? 0) & 1 == 1
  }

  /// Lets the journals of a store's copy be of another run of the kernel, as after a power failure.
  package static func reboot(_ store: String) throws {
    let folder = store + "/journal"
    guard try FileSystem.exists(folder) else { return }
    for name in try FileSystem.list(folder) where name.contains(".journal") {
      let path = "\(folder)/\(name)"
      let file = try File(path, .readWrite)
      // Two copies of the header: docs/formats.md, "The journal".
      for start in [UInt64(0), 512] {
        let copy = try file.read(512, at: start)
        guard copy.starts(with: Array("llvstree".utf8)), copy.count == 512 else { continue }
        let length = Int(copy[20]) << 8 | Int(copy[21])
        guard length <= 490 else { continue }
        var body = Array(copy[22..<(22 + length)])
        func sum() -> [UInt8] {
          let sum = Checksum.of(body)
          return (0..<8).map { UInt8(truncatingIfNeeded: sum >> (56 - 8 * $0)) }
        }
        guard Array(copy[12..<20]) == sum(), length > 1, body[0] > 0 else { continue }
        body[1] ^= 1
        try file.write(sum() + copy[20..<22] + body, at: start + 12)
      }
    }
  }
}
