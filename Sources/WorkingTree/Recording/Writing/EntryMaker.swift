import Inodes
import LLVSCore
import Platform
import TreeNames

/// Makes the entries of files and directories for the versions of a cut, and stores their bytes once.
final class EntryMaker {
  let transaction: WriteTransaction
  private let tree: FrozenTree
  private let contents: any PendingContents
  /// The head's tree, which the recorded tree shows.
  private let head: TreeView
  private var revisions: Range<UInt64> = 0..<0
  /// The stored bytes of files of several names.
  private var stored: [InodeNumber: (content: FileContent, stored: StoredContent)] = [:]
  /// The entries of files' first names in the current version.
  private var links: [InodeNumber: Entry] = [:]
  /// The tree of the current version's predecessor.
  private var predecessor: TreeView
  private var isOnHead = true
  private(set) var number = VersionNumber(0)
  /// True once stored but unreadable bytes were stored again in the current version.
  private(set) var replacesDamaged = false
  /// The file, and its bytes, that could not be read when making an entry failed.
  private(set) var failed: (number: InodeNumber, content: FileContent, isForgotten: Bool)?

  init(
    _ transaction: WriteTransaction, tree: FrozenTree, contents: any PendingContents, head: TreeView
  ) {
    self.transaction = transaction
    self.tree = tree
    self.contents = contents
    self.head = head
    predecessor = head
  }

  func begin(on predecessor: TreeView) {
    self.predecessor = predecessor
    isOnHead = predecessor.map.root == head.map.root
    number = transaction.nextVersion
    links = [:]
    replacesDamaged = false
  }

  func nextRevision() throws(StoreError) -> UInt64 {
    if revisions.isEmpty {
      let first = try transaction.allotRevisions(256)
      revisions = first..<(first + 256)
    }
    defer { revisions = (revisions.lowerBound + 1)..<revisions.upperBound }
    return revisions.lowerBound
  }

  /// Returns the entry of a file at a key. `old` is the predecessor's entry at the key, `shown` the value that it
  /// shows at the path, `ready` the prepared bytes, if any.
  /// - Throws: ``StoreError`` if bytes cannot be read or stored.
  func file(
    _ edit: PathEdit, at key: Key, old: Entry?, shown: Entry?, ready: ReadyValue? = nil
  ) throws(StoreError) -> Entry {
    guard let node = edit.node, let number = edit.number, let bytes = edit.bytes
    else { throw .invalid("a file without bytes") }
    let path = try recordedPath(of: node)
    let recorded = try path.flatMap { (path) throws(StoreError) in
      if path == edit.path, isOnHead { return shown }
      return try value(at: path, in: head)
    }
    var attributes = try attributes(of: node) { () throws(StoreError) in
      // A new head may have removed them from a file with pending bytes.
      guard let path else { return old }
      let seen = try value(at: path, in: predecessor)
      return seen?.attributes.hasLongExtended ?? false ? seen : recorded
    }
    let hasSetTime: Bool
    // A file from another name brings its time along.
    var bringsTime = false
    let content: StoredContent
    switch bytes {
    case .save(let save):
      // Prepared bytes are for this one name in one version.
      if let ready {
        content = try transaction.write(ready, after: old?.stored)
      } else {
        content = try store(save.content, of: number, after: old)
      }
      attributes.mtime = save.mtime
      hasSetTime = save.hasSetTime
    case .kept(let kept):
      content = try store(kept, of: number, after: old)
      hasSetTime = node.hasSetTime
    case .recorded:
      guard let recorded else { throw .corrupt("a file of the tree is missing in the head's map") }
      content = recorded.stored
      bringsTime = true
      hasSetTime = node.hasSetTime
      if !hasSetTime { attributes.mtime = recorded.attributes.mtime }
      // All names of a file have one time, so an old name records it with a new one.
      if recorded.key != key || attributes.linkID != nil {
        try keepShownTime(of: recorded, in: &attributes)
      }
    }
    if edit.turn > 0 { attributes.linkID = nil }
    let link = attributes.linkID == nil ? nil : links[number]
    var entry = Entry(
      key: key, kind: node.kind, attributes: attributes, stored: content,
      storedVersion: self.number, revision: 0)
    if !hasSetTime, let known = link ?? (bringsTime ? nil : old) { entry.keepTime(of: known) }
    try keepBytes(of: old, in: &entry)
    if let old, old.hasSameContent(as: entry) {
      entry.revision = old.revision
    } else if let link, link.hasSameContent(as: entry, at: key) {
      entry.revision = link.revision
    } else {
      entry.revision = try nextRevision()
    }
    if attributes.linkID != nil { links[number] = entry }
    return entry
  }

  /// Leaves bytes where the predecessor has them, unless they cannot be read there.
  private func keepBytes(of old: Entry?, in entry: inout Entry) throws(StoreError) {
    guard let old, old.kind == entry.kind, old.stored.digest == entry.stored.digest,
      old.stored.length == entry.stored.length
    else { return }
    guard try transaction.store.contents.isSound(old.stored, besides: entry.stored) else {
      replacesDamaged = true
      return
    }
    entry.stored = old.stored
    entry.storedVersion = old.storedVersion
  }

  private func store(
    _ content: FileContent, of number: InodeNumber, after old: Entry?
  ) throws(StoreError) -> StoredContent {
    if let known = stored[number], known.content == content { return known.stored }
    do throws(StoreError) {
      let stored = try store(content, after: old?.stored)
      // Needed again for another name or another version.
      self.stored[number] = (content, stored)
      return stored
    } catch {
      if error.isOfReading || error.isForgotten {
        failed = (number, content, isForgotten: error.isForgotten)
      }
      throw error
    }
  }

  private func store(
    _ content: FileContent, after prior: StoredContent?
  ) throws(StoreError) -> StoredContent {
    if let stored = content.unchangedBase {
      guard case .inline(let bytes) = stored.content, bytes.count > Entry.inlineLimit
      else { return stored }
      return try transaction.write(bytes)
    }
    return try transaction.write(
      PendingSource(contents: contents, content: content), after: prior)
  }

  /// nil if the recorded tree does not have the file.
  private func recordedPath(of node: PendingNode) throws(StoreError) -> TreePath? {
    guard let name = node.recordedNames.first else { return nil }
    return try tree.recordedPath(of: name.directory)?.appending(name.name)
  }

  /// Returns the file's entry at a path of a map, so that no version contains a wrong row.
  private func value(at path: TreePath, in view: TreeView) throws(StoreError) -> Entry? {
    guard case .value(let entry)? = try view.find(path: path.bytes) else { return nil }
    return entry
  }

  /// Returns a node's attributes, with the long extended ones of the map's entry unless others removed them.
  private func attributes(
    of node: PendingNode, _ entry: () throws(StoreError) -> Entry?
  ) throws(StoreError) -> Attributes {
    guard node.lacksExtended else { return node.attributes }
    guard let entry = try entry(), entry.attributes.hasLongExtended else { return node.attributes }
    return node.attributes.completed(with: entry.attributes.extended)
  }

  /// Records the shown time of a value without one, because at another key a new version's time would be shown.
  func keepShownTime(of entry: Entry, in attributes: inout Attributes) throws(StoreError) {
    guard attributes.mtime == nil, !entry.isDirectory,
      let version = try transaction.version(entry.storedVersion)
    else { return }
    attributes.mtime = Attributes.Time(ofVersion: version.timestamp)
  }

  /// `old` is the version's entry of the directory, at its key or its old place.
  func directory(_ edit: PathEdit, at key: Key, old: Entry?) throws(StoreError) -> Entry {
    guard let node = edit.node else { throw .invalid("a directory without attributes") }
    var attributes = try attributes(of: node) { () throws(StoreError) in old }
    if !node.hasSetTime { attributes.mtime = old?.attributes.mtime }
    return try directory(attributes, at: key, old: old)
  }

  func directory(_ attributes: Attributes, at key: Key, old: Entry?) throws(StoreError) -> Entry {
    var entry = Entry(
      key: key, kind: .directory, attributes: attributes, stored: .none,
      storedVersion: number, revision: 0)
    if let old, old.hasSameContent(as: entry) {
      entry.storedVersion = old.storedVersion
      entry.revision = old.revision
    } else {
      entry.revision = try nextRevision()
    }
    return entry
  }

  func moved(_ entry: Entry, to key: Key) throws(StoreError) -> Entry {
    var moved = entry
    moved.key = key
    try keepShownTime(of: entry, in: &moved.attributes)
    moved.storedVersion = number
    moved.revision = try nextRevision()
    return moved
  }
}

extension Entry {
  /// Keeps the other's time if nothing else differs, because writing the same bytes is no change.
  fileprivate mutating func keepTime(of other: Entry) {
    guard kind == other.kind, stored.digest == other.stored.digest,
      stored.length == other.stored.length
    else { return }
    var same = attributes
    same.mtime = other.attributes.mtime
    if same == other.attributes { attributes = same }
  }

  fileprivate func hasSameContent(as other: Entry, at key: Key) -> Bool {
    var same = self
    same.key = key
    return same.hasSameContent(as: other)
  }
}

extension Attributes.Time {
  /// `timestamp` is in seconds since 2001.
  package init(ofVersion timestamp: Double) {
    let since1970 = timestamp + 978_307_200
    guard since1970.isFinite, abs(since1970) < 9e15 else {
      self.init(seconds: 0, nanoseconds: 0)
      return
    }
    let seconds = since1970.rounded(.down)
    let nanoseconds = min(999_999_999, max(0, (since1970 - seconds) * 1e9))
    self.init(seconds: Int64(seconds), nanoseconds: UInt32(nanoseconds))
  }
}

extension StoreError {
  /// True for bytes that could not be read or are damaged.
  package var isOfReading: Bool {
    switch self {
    case .corrupt, .rebuildable: true
    case .system(let error): error.isOfReading
    default: false
    }
  }
}
