import Grammar
import HistoryTree
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// Writes a version's tree into a directory as a mount shows it, with escaped names if necessary. Only the owner
/// has access until it is complete; files that cannot be written are omitted and reported.
struct TreeExport {
  private let store: Store
  private let target: [UInt8]
  private let isCancelled: () -> Bool
  private let progress: (_ done: UInt64, _ total: UInt64) -> Void
  /// The bytes of the written files, and of all.
  private var bytes: (done: UInt64, total: UInt64) = (0, 0)
  private(set) var complaints: [String] = []
  private(set) var missing: MissingBytes
  private var links: [[UInt8]: [UInt8]] = [:]
  private let mask = SystemProcess.creationMask
  private let defaults = AttributeDefaults(uid: SystemProcess.user, gid: SystemProcess.group)

  init(
    store: Store, target: [UInt8], isCancelled: @escaping () -> Bool,
    progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void
  ) {
    self.store = store
    self.target = target
    self.isCancelled = isCancelled
    self.progress = progress
    missing = MissingBytes(store)
  }

  private struct Level {
    var path: [UInt8]
    var entry: Entry?
    var listing: TreeListing
  }

  // `part` is the path of the directory that is written; empty for the whole tree.
  mutating func run(_ record: VersionRecord, part: [UInt8]) throws {
    let view = TreeView(map: store.map(record.map))
    if !part.isEmpty {
      let shown = PrintableText.text(part)
      switch try view.find(path: part) {
      case .directory?: break
      case .value?:
        throw UsageError(
          "\(shown) is a file; llvs show \(record.name):\(shown) writes it to standard output")
      case nil: throw ControlError(.notFound, "\(record.name) has no \(shown)")
      }
    }
    let isNew = try !FileSystem.exists(target)
    if isNew { try FileSystem.makeDirectory(target) }
    let shown = FileSystem.text(target)
    guard try FileSystem.names(in: target).isEmpty else {
      throw ControlError(.exists, "\(shown) is not empty")
    }
    do {
      try write(record, part)
    } catch {
      Interruption.answer()
      var failure = ControlError(any: error)
      if failure.kind == .interrupted { failure.message = "interrupted" }
      let isRemoved = (try? remove(isNew)) != nil
      failure.message +=
        isRemoved
        ? "; what was written into \(shown) is removed" : "; \(shown) holds a part of the files"
      throw failure
    }
  }

  /// Removes everything in the target, which was empty, and a new target too.
  private func remove(_ isNew: Bool) throws {
    if isNew { return try FileSystem.removeTree(target) }
    for name in try FileSystem.names(in: target) { try FileSystem.removeTree(root + name.bytes) }
  }

  private mutating func write(_ record: VersionRecord, _ part: [UInt8]) throws {
    let view = TreeView(map: store.map(of: record))
    let above = part.isEmpty ? [] : part + [0x2F]
    var all = view.entries(below: part)
    while let item = try all.next() {
      if isCancelled() { throw StoreError.cancelled }
      bytes.total &+= item.entry.stored.length
    }
    var levels = [Level(path: [], entry: nil, listing: view.list(part))]
    while var level = levels.popLast() {
      if isCancelled() { throw StoreError.cancelled }
      guard let item = try level.listing.next() else {
        // Last, when nothing is made in it any more.
        if let entry = level.entry {
          try apply(entry, to: root + level.path)
        } else if !level.path.isEmpty {
          try FileSystem.setMode(root + level.path, 0o777 & ~mask)
        }
        continue
      }
      levels.append(level)
      let path = level.path.isEmpty ? item.name : level.path + [0x2F] + item.name
      if item.kind == .directory {
        let place = root + path
        if stands(
          try Self.obstacle(at: path) { try FileSystem.makeDirectory(place, permissions: 0o700) })
        {
          levels.append(Level(path: path, entry: item.entry, listing: view.list(above + path)))
        }
      } else if let entry = item.entry {
        if try store.canRead(entry.stored) {
          try write(entry, to: root + path)
        } else {
          try missing.add(above + path, of: record)
        }
      }
      bytes.done &+= item.entry?.stored.length ?? 0
      progress(bytes.done, bytes.total)
    }
  }

  private var root: [UInt8] { target + [0x2F] }

  /// Makes a file or directory, if it can exist there at all.
  private static func obstacle(at path: [UInt8], _ body: () throws -> Void) throws -> String? {
    do {
      try body()
      return nil
    } catch let error as SystemError where isOfOne(error) {
      return "\(FileSystem.text(path)) is left out: \(error)"
    } catch let error as StoreError where error.damage != nil {
      return "\(FileSystem.text(path)) is left out: \(error)"
    }
  }

  private mutating func stands(_ complaint: String?) -> Bool {
    if let complaint { complaints.append(complaint) }
    return complaint == nil
  }

  private static func isOfOne(_ error: SystemError) -> Bool {
    switch error.errno {
    case Errno.nameTooLong, Errno.invalid, Errno.noEntry, Errno.operationNotPermitted,
      Errno.notSupported, Errno.fileTooBig:
      true
    default: false
    }
  }

  private mutating func write(_ entry: Entry, to path: [UInt8]) throws {
    if let link = entry.attributes.linkID {
      if let first = links[link], try isSame(entry, first) {
        _ = stands(try Self.obstacle(at: path) { try FileSystem.link(first, to: path) })
        return
      }
    }
    var hasBegun = false
    let obstacle = try Self.obstacle(at: path) { try create(entry, at: path, &hasBegun) }
    guard stands(obstacle) else {
      // A partly written file is removed.
      if hasBegun { try FileSystem.unlink(path) }
      return
    }
    if let link = entry.attributes.linkID {
      links[link] = path
      linked[path] = entry
    }
    try apply(entry, to: path)
  }

  private func create(_ entry: Entry, at path: [UInt8], _ hasBegun: inout Bool) throws {
    switch entry.kind {
    case .regular:
      let file = try File(bytes: path, [.readWrite, .create, .exclusive], permissions: 0o600)
      hasBegun = true
      try copy(entry, to: file)
    case .symlink:
      try FileSystem.symlink(
        LinkTarget.shown(try store.contents.linkTarget(entry.stored)), at: path)
    case .fifo, .socket, .characterDevice, .blockDevice:
      try FileSystem.makeNode(
        path, kind: Self.kind(entry.kind), mode: entry.attributes.mode ?? 0o644,
        major: entry.attributes.device?.major ?? 0, minor: entry.attributes.device?.minor ?? 0)
    case .directory: return
    }
  }

  /// The entries of first names: names of one link id with other bytes are separate files.
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

  private func copy(_ entry: Entry, to file: File) throws {
    let length = entry.stored.length
    var offset: UInt64 = 0
    while offset < length {
      if isCancelled() { throw StoreError.cancelled }
      progress(bytes.done &+ offset, bytes.total)
      // Holes are not read: their length may be any number.
      let run = try store.contents.run(entry.stored, at: offset)
      if run.isHole {
        offset = run.end
        continue
      }
      // A run ends with its chunk; one read may cover several.
      let part = try store.contents.bytes(entry.stored, from: offset, count: 1 << 20)
      // Zeros are left as a hole.
      if part.contains(where: { $0 != 0 }) { try file.write(part, at: offset) }
      offset += UInt64(part.count)
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
    // Until now only the owner has access.
    if entry.kind != .symlink {
      let common: UInt32 = entry.kind == .directory ? 0o777 : 0o666
      try FileSystem.setMode(
        path, attributes.mode == nil ? common & ~mask : defaults.mode(attributes, of: entry.kind))
    }
    // A file without a recorded time has that of the version that stored its bytes.
    let time =
      try attributes.mtime
      ?? store.version(entry.storedVersion).map { Attributes.Time(ofVersion: $0.timestamp) }
    if let time, entry.kind != .directory || attributes.mtime != nil {
      try FileSystem.setModified(path, seconds: time.seconds, nanoseconds: time.nanoseconds)
    }
  }
}
