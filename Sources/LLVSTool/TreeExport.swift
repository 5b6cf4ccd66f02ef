import FileTree
import LLVS
import Platform

/// A version's tree written into a directory.
struct TreeExport {
  private let store: Store
  private let target: String
  private let progress: (Int) -> Void
  private var count = 0
  /// What could not be given as it was, such as an owner: a clause each.
  private(set) var complaints: [String] = []
  private var links: [[UInt8]: [UInt8]] = [:]
  /// Directories get their attributes last, when nothing is made in them any more.
  private var directories: [(path: [UInt8], entry: Entry)] = []

  init(store: Store, target: String, progress: @escaping (Int) -> Void) {
    self.store = store
    self.target = target
    self.progress = progress
  }

  mutating func run(_ record: VersionRecord) throws {
    if try !FileSystem.exists(target) { try FileSystem.makeDirectory(target) }
    guard try FileSystem.list(target).isEmpty else {
      throw ControlError(.exists, "\(target) is not empty")
    }
    var made: Set<[UInt8]> = [[]]
    var below = TreeView(map: store.map(record.map)).entries(below: [])
    while let (relative, entry) = try below.next() {
      var parts = relative.split(separator: 0x2F).map(Array.init)
      if !entry.isDirectory { parts.removeLast() }
      try makeDirectories(parts, &made)
      let path = root + relative
      if entry.isDirectory {
        directories.append((path, entry))
      } else {
        try write(entry, to: path)
      }
      count += 1
      if count % 256 == 0 { progress(count) }
    }
    for (path, entry) in directories.reversed() { try apply(entry, to: path) }
  }

  /// What all paths begin with.
  private var root: [UInt8] { Array("\(target)/".utf8) }

  private func makeDirectories(_ parts: [[UInt8]], _ made: inout Set<[UInt8]>) throws {
    var path: [UInt8] = []
    for part in parts {
      path += path.isEmpty ? part : [0x2F] + part
      if made.insert(path).inserted { try FileSystem.makeDirectory(root + path) }
    }
  }

  private mutating func write(_ entry: Entry, to path: [UInt8]) throws {
    if let link = entry.attributes.linkID {
      if let first = links[link], try isSame(entry, first) {
        try FileSystem.link(first, to: path)
        return
      }
      links[link] = path
      linked[path] = entry
    }
    switch entry.kind {
    case .regular: try copy(entry, to: path)
    case .symlink:
      let bytes = try store.contents.bytes(entry.stored, atMost: 4096)
      try FileSystem.symlink(bytes, at: path)
    case .fifo, .socket, .characterDevice, .blockDevice:
      do {
        try FileSystem.makeNode(
          path, kind: Self.kind(entry.kind), mode: entry.attributes.mode ?? 0o644,
          major: entry.attributes.device?.major ?? 0, minor: entry.attributes.device?.minor ?? 0)
      } catch {
        complaints.append("\(FileSystem.text(path)) is left out: \(error)")
        return
      }
    case .directory: return
    }
    try apply(entry, to: path)
  }

  /// The entries of first links: names of one link with other bytes are files of their own.
  private var linked: [[UInt8]: Entry] = [:]

  private func isSame(_ entry: Entry, _ first: [UInt8]) throws -> Bool {
    guard var other = linked[first] else { return false }
    other.key = entry.key
    return other.hasSameContent(as: entry)
  }

  private static func kind(_ kind: EntryKind) -> FileStatus.Kind {
    switch kind {
    case .fifo: .fifo
    case .socket: .socket
    case .characterDevice: .characterDevice
    case .blockDevice: .blockDevice
    case .regular, .symlink, .directory: .unknown
    }
  }

  private func copy(_ entry: Entry, to path: [UInt8]) throws {
    let file = try File(bytes: path, [.readWrite, .create, .exclusive])
    var buffer = [UInt8](
      repeating: 0, count: Int(min(entry.stored.length, 1 << 20)))
    var offset: UInt64 = 0
    while offset < entry.stored.length {
      let count = try buffer.withUnsafeMutableBytes {
        try store.contents.read(entry.stored, at: offset, into: $0)
      }
      guard count > 0 else {
        throw StoreError.corrupt("\(FileSystem.text(path)): its bytes end too early")
      }
      // Zeros stay a hole.
      let part = buffer[..<count]
      if part.contains(where: { $0 != 0 }) { try file.write(Array(part), at: offset) }
      offset += UInt64(count)
    }
    try file.truncate(to: entry.stored.length)
  }

  private mutating func apply(_ entry: Entry, to path: [UInt8]) throws {
    let attributes = entry.attributes
    if attributes.uid != nil || attributes.gid != nil {
      do {
        try FileSystem.setOwner(
          path, uid: attributes.uid ?? SystemProcess.user,
          gid: attributes.gid ?? SystemProcess.group)
      } catch {
        complaints.append("\(FileSystem.text(path)) keeps your owner: \(error)")
      }
    }
    for extended in attributes.extended {
      do {
        try FileSystem.setExtended(path, extended.name, to: extended.value)
      } catch {
        complaints.append("\(FileSystem.text(path)) lacks an extended attribute: \(error)")
      }
    }
    if entry.kind != .symlink, let mode = attributes.mode { try FileSystem.setMode(path, mode) }
    let time = try attributes.mtime ?? storedTime(entry)
    if let time, entry.kind != .directory || attributes.mtime != nil {
      try FileSystem.setModified(path, seconds: time.seconds, nanoseconds: time.nanoseconds)
    }
  }

  /// A time that nobody recorded is shown as that of the version that stored the bytes.
  private func storedTime(_ entry: Entry) throws -> Attributes.Time? {
    guard let record = try store.version(entry.storedVersion) else { return nil }
    return Attributes.Time(referenceTimestamp: record.timestamp)
  }
}
