import Events
package import Grammar
import Inodes
package import LLVSCore
import Platform
import TreeNames
package import WorkingTree

/// Imports a directory into a store as one version. Files are read in the order of their keys; memory holds the
/// names on the path and the index's keys.
package struct TreeImport {
  /// The mount's own name in every directory.
  package static let reserved = Array(".llvs".utf8)

  private struct Item {
    enum What { case entry, below }
    /// Its siblings are sorted by these bytes.
    var order: [UInt8]
    var name: [UInt8]
    var what: What
  }

  private struct Level {
    var path: [UInt8]
    var directory: [UInt8]
    var items: ArraySlice<Item>
    /// The patterns for names in it; nil for none.
    var scope: IgnoreScope?
  }

  private let directory: [UInt8]
  private let prefix: [UInt8]
  /// The tree whose ignore patterns exclude files; nil to import all.
  private let ignoring: TreeSession?
  private let isCancelled: @Sendable () -> Bool
  private let progress: @Sendable (_ done: UInt64, _ total: UInt64) -> Void
  /// The bytes of the imported files, and of all.
  private var bytes: (done: UInt64, total: UInt64) = (0, 0)
  package private(set) var count = 0
  /// The paths of omitted files and directories named `.llvs`.
  package private(set) var leftOut: [[UInt8]] = []
  private var levels: [Level] = []
  /// Entries whose escaped keys sort at another place.
  private var displaced: [MapEdit] = []
  private var links: [FileStatus.Identity: [UInt8]] = [:]
  /// The revision of the first name of each link id; its other names share it.
  private var linkRevisions: [[UInt8]: UInt64] = [:]
  private var revisions: Range<UInt64> = 0..<0
  private let user = SystemProcess.user
  private let group = SystemProcess.group

  /// Imports a directory to a path of the tree, without unversioned files that the patterns of `ignoring` match.
  package init(
    directory: [UInt8], prefix: [UInt8], ignoring: TreeSession? = nil,
    isCancelled: @escaping @Sendable () -> Bool = { false },
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void
  ) {
    self.directory = directory
    self.prefix = prefix
    self.ignoring = ignoring
    self.isCancelled = isCancelled
    self.progress = progress
  }

  /// The error of an import that its caller cancelled; everything that it copied is removed.
  package var interruption: ControlError {
    ControlError(
      .interrupted,
      "interrupted; the copies of \(PrintableText.entries(count)) of \(PrintableText.text(directory)) are removed, "
        + "none is in a version")
  }

  /// Makes the version; nil if the tree has the same contents already.
  /// - Throws: ``StoreError/cancelled``; then nothing was imported.
  package mutating func run(in store: Store, message: String?) throws(StoreError) -> VersionRecord?
  {
    let isUntouched = try StoreError.translating(try !FileSystem.exists("\(store.path)/journal"))
    let state = try store.state()
    if isUntouched, state.head == nil {
      // This store was never mounted, so its first version is made without a working tree.
      let made = try store.write { (transaction) throws(StoreError) -> VersionRecord? in
        guard let record = try add(to: transaction, head: nil, store, message) else { return nil }
        try transaction.setHead(record.number, map: record.map, reason: .imported)
        return record
      }
      return made.map { logged($0, in: EventLog(directory: store.path)) }
    }
    return try run(through: try ControlService.open(store), base: nil, message: message)
  }

  /// Makes the version on the head, or on `base` and merges it; all files become visible at once.
  mutating func run(
    through service: ControlService, base: VersionNumber?, message: String?,
    arbiter: ChosenArbiter.Maker? = nil
  ) throws(StoreError) -> VersionRecord? {
    let store = service.store
    var made: VersionRecord?
    _ = try service.tree.transition(.command, headReason: .imported) {
      (transaction, head) throws(StoreError) in
      made = try add(to: transaction, head: base ?? head, store, message)
      guard let made else { return head }
      guard let base, base != head, let arbiter else { return made.number }
      let line = try service.line(of: head, in: transaction)
      return try transaction.mergeHeads(ofLine: line, live: head, arbiter: arbiter).outcome
    }
    return made.map { logged($0, in: service.log) }
  }

  private func logged(_ record: VersionRecord, in log: EventLog) -> VersionRecord {
    log.add(
      "version",
      "\(record.name) imported \(PrintableText.entries(count)) of \(PrintableText.text(directory))")
    return record
  }

  private mutating func add(
    to transaction: WriteTransaction, head: VersionNumber?, _ store: Store, _ message: String?
  ) throws(StoreError) -> VersionRecord? {
    transaction.isCancelled = isCancelled
    let record: VersionRecord? = if let head { try transaction.version(head) } else { nil }
    let base = store.map(of: record)
    let view = TreeView(map: base)
    let number = transaction.nextVersion
    var parents: [MapEdit] = []
    var parent: [UInt8] = []
    for name in prefix.split(separator: 0x2F) {
      parent += (parent.isEmpty ? [] : [0x2F]) + name
      if let found = try view.find(path: parent) {
        guard case .directory = found else {
          throw .exists("\(PrintableText.text(parent)) is not a directory in the tree")
        }
        continue
      }
      parents.append(
        .put(try made(.directory, Attributes(mode: 0o755), parent, nil, number, view, transaction)))
    }
    displaced = parents
    bytes = (0, Self.length(of: directory))
    let scope = try StoreError.wrapping { () throws(FSError) in
      try ignoring.map { (tree) throws(FSError) in
        try tree.files.ignoreScope(of: TreePath(prefix))
      }
    }
    try descend(into: directory, at: prefix, scope, view)
    // The closure works on a copy, because an escaping closure cannot borrow `self`.
    let puller = Puller(source: self, view: view, number: number, transaction: transaction)
    defer { count = puller.source.count }
    var map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
      .applying { () throws(StoreError) in try puller.source.next(view, number, transaction) }
    self = puller.source
    if !displaced.isEmpty {
      displaced.sort(by: MapEdit.precedes)
      map = try map.applying(edits: displaced)
    }
    guard map.contentDigest != base.contentDigest else { return nil }
    var faults: [String] = []
    let author = try StoreSettings(of: store, faults: &faults).maker
    return try transaction.add(
      AuthoredVersion(
        number: try transaction.reserveVersion(), first: head, base: base, map: map,
        line: record.flatMap {
          $0.line == VersionRecord.unnamedLine ? nil : Branch(rawValue: $0.line)
        }, author: author, message: message ?? "import"))
  }

  private final class Puller {
    var source: TreeImport
    let view: TreeView
    let number: VersionNumber
    let transaction: WriteTransaction

    init(source: TreeImport, view: TreeView, number: VersionNumber, transaction: WriteTransaction) {
      self.source = source
      self.view = view
      self.number = number
      self.transaction = transaction
    }
  }

  /// Returns the bytes of the files below a directory; the import itself reports what cannot be read.
  private static func length(of directory: [UInt8]) -> UInt64 {
    var length: UInt64 = 0
    var open = [directory]
    while let directory = open.popLast() {
      for name in (try? FileSystem.names(in: directory)) ?? [] where name.bytes != reserved {
        let path = directory + [0x2F] + name.bytes
        guard let status = try? FileSystem.status(path) else { continue }
        if status.kind == .directory { open.append(path) }
        if status.kind == .regular { length &+= status.size }
      }
    }
    return length
  }

  private mutating func descend(
    into directory: [UInt8], at path: [UInt8], _ scope: IgnoreScope?, _ view: TreeView
  ) throws(StoreError) {
    let names = try StoreError.translating(try FileSystem.names(in: directory))
    let scope = try scope.map { (scope) throws(StoreError) in
      try self.scope(scope, in: directory, at: path, names)
    }
    var items: [Item] = []
    for name in names {
      let bytes = name.bytes
      guard bytes != Self.reserved else {
        leftOut.append(directory + [0x2F] + bytes)
        continue
      }
      if let scope {
        let place = (path.isEmpty ? [] : path + [0x2F]) + bytes
        let isIgnored = scope.ignores(path: place, isDirectory: name.kind == .directory)
        if isIgnored, try view.find(path: place) == nil { continue }
      }
      items.append(Item(order: bytes, name: bytes, what: .entry))
      if name.kind == .directory {
        items.append(Item(order: bytes + [0x2F], name: bytes, what: .below))
      }
    }
    items.sort { $0.order.lexicographicallyPrecedes($1.order) }
    levels.append(Level(path: path, directory: directory, items: items[...], scope: scope))
  }

  /// The patterns for names in a directory; its own file `.llvsignore` already applies.
  private func scope(
    _ above: IgnoreScope, in directory: [UInt8], at path: [UInt8], _ names: [DirectoryName]
  ) throws(StoreError) -> IgnoreScope {
    var scope = above
    var patterns = try StoreError.wrapping { () throws(FSError) in
      path.isEmpty ? nil : try ignoring?.files.ignorePatterns(in: TreePath(path))
    }
    if names.contains(where: { $0.bytes == IgnoreScope.fileName && $0.kind == .regular }) {
      let text = try StoreError.translating(
        try File(
          bytes: directory + [0x2F] + IgnoreScope.fileName, [.read, .noFollow, .nonBlocking]
        ).read(IgnoreScope.fileLimit + 1, at: 0))
      if text.count <= IgnoreScope.fileLimit { patterns = IgnorePatterns(text) }
    }
    if let patterns { scope.add(patterns, of: path) }
    return scope
  }

  private mutating func next(
    _ view: TreeView, _ number: VersionNumber, _ transaction: WriteTransaction
  ) throws(StoreError) -> MapEdit? {
    while var level = levels.popLast() {
      guard let item = level.items.popFirst() else { continue }
      levels.append(level)
      let path = (level.path.isEmpty ? [] : level.path + [0x2F]) + item.name
      let file = level.directory + [0x2F] + item.name
      switch item.what {
      case .below: try descend(into: file, at: path, level.scope, view)
      case .entry:
        if isCancelled() { throw .cancelled }
        progress(bytes.done, bytes.total)
        guard let edit = try edit(file, path, view, number, transaction) else { continue }
        count += 1
        if edit.key.bytes == path { return edit }
        displaced.append(edit)
      }
    }
    return nil
  }

  private mutating func edit(
    _ file: [UInt8], _ path: [UInt8], _ view: TreeView, _ number: VersionNumber,
    _ transaction: WriteTransaction
  ) throws(StoreError) -> MapEdit? {
    guard PathLimit.allows(path: path) else {
      throw .system(
        SystemError(errno: Errno.nameTooLong, call: "import", subject: FileSystem.text(file)))
    }
    let status = try StoreError.translating(try FileSystem.status(file))
    var attributes = try StoreError.translating(try self.attributes(of: file, status))
    guard let kind = EntryKind(status.kind) else { return nil }
    AttributeDefaults(uid: user, gid: group).nameOwner(in: &attributes, of: kind)
    let old: Entry?
    switch try view.map.count == 0 ? nil : view.find(path: path) {
    case .value(let entry)?: old = entry
    case .directory(let entry)?: old = entry
    case nil: old = nil
    }
    if status.links > 1, kind != .directory {
      let link = status.identity
      let id = links[link] ?? old?.attributes.linkID ?? SystemRandom.bytes(16)
      links[link] = id
      attributes.linkID = id
    }
    let stored = try bytes(of: file, kind, status, transaction)
    if kind == .regular { bytes.done &+= status.size }
    if let old, old.isDirectory != (kind == .directory) {
      throw .exists(
        "\(PrintableText.text(path)) is \(old.isDirectory ? "a" : "not a") directory in the tree")
    }
    var entry = try made(kind, attributes, path, old, number, view, transaction)
    if let old, old.stored.digest == stored.digest, old.kind == kind {
      entry.stored = old.stored
      entry.storedVersion = old.storedVersion
    } else {
      entry.stored = stored
    }
    if let old, old.hasSameContent(as: entry) { return nil }
    if let id = attributes.linkID {
      if let first = linkRevisions[id] { entry.revision = first }
      linkRevisions[id] = entry.revision
    }
    transaction.noteLink(entry)
    return .put(entry)
  }

  private func attributes(
    of file: [UInt8], _ status: FileStatus
  ) throws(SystemError) -> Attributes {
    var attributes = Attributes()
    if status.kind != .symlink { attributes.mode = status.mode }
    attributes.mtime = Attributes.Time(
      seconds: status.modifiedSeconds, nanoseconds: status.modifiedNanoseconds)
    if status.uid != user { attributes.uid = status.uid }
    if status.gid != group { attributes.gid = status.gid }
    if status.kind == .characterDevice || status.kind == .blockDevice {
      let number = try FileSystem.deviceNumber(file)
      attributes.device = Attributes.Device(major: number.major, minor: number.minor)
    }
    for name in try FileSystem.extendedNames(file).sorted(by: { $0.lexicographicallyPrecedes($1) })
    {
      guard let value = try FileSystem.extended(file, name) else { continue }
      attributes.extended.append(Attributes.Extended(name: name, value: value))
    }
    return attributes
  }

  private func bytes(
    of file: [UInt8], _ kind: EntryKind, _ status: FileStatus, _ transaction: WriteTransaction
  ) throws(StoreError) -> StoredContent {
    switch kind {
    case .symlink:
      return try transaction.write(try StoreError.translating(try FileSystem.readlink(file)))
    case .regular where status.size > 65_536:
      let open = try StoreError.translating(
        try File(bytes: file, [.read, .noFollow, .nonBlocking]))
      return try transaction.write(
        FileSource(open, length: try StoreError.translating(try open.status().size)) {
          [bytes, progress, isCancelled] offset in
          progress(bytes.done &+ offset, bytes.total)
          return isCancelled()
        })
    case .regular where status.size > 0:
      return try transaction.write(
        try StoreError.translating(
          try File(bytes: file, [.read, .noFollow, .nonBlocking]).read(Int(status.size), at: 0)))
    default: return StoredContent(length: 0, digest: .ofNothing, content: .none)
    }
  }

  private mutating func made(
    _ kind: EntryKind, _ attributes: Attributes, _ path: [UInt8], _ old: Entry?,
    _ number: VersionNumber, _ view: TreeView, _ transaction: WriteTransaction
  ) throws(StoreError) -> Entry {
    if revisions.isEmpty {
      let first = try transaction.allotRevisions(4096)
      revisions = first..<(first + 4096)
    }
    let key: Key =
      if let old { old.key } else if view.map.count == 0 { KeyCoding.key(ofPath: path) } else {
        try view.key(forNewPath: path)
      }
    return Entry(
      key: key, kind: kind, attributes: attributes,
      stored: StoredContent(length: 0, digest: .ofNothing, content: .none), storedVersion: number,
      revision: revisions.removeFirst())
  }
}
