import Events
package import LLVSCore
import Synchronization
package import TreeNames
import WorkingTree

/// An open file below `.llvs`.
/// - Concurrency: any thread. The locks guard memory only, except the one of a list of changes.
package final class MetaFile: Sendable {
  /// The kind of an open file, which decides how the kernel may cache it.
  package enum Kind: Sendable {
    case control
    /// Made when opened or read; reads bypass the page cache because the size is unknown before.
    case generated
    /// A value of a version, which never changes.
    case value(StoredContent)
    /// Edited in memory.
    case writable
  }

  private enum Source {
    case control
    case text([UInt8])
    case log(EventFile)
    case changes(ChangeText)
    case value(StoredContent, VersionNumber, Key)
    case writable(WritableFile)
  }

  /// The use of a handle; a leaf lock.
  private struct Use {
    var wrote = false
    var flushes = 0
    var isReleased = false
  }

  private let tree: MetaTree
  private let source: Source
  private let use = Mutex(Use())

  package var kind: Kind {
    switch source {
    case .control: .control
    case .text, .log, .changes: .generated
    case .value(let stored, _, _): .value(stored)
    case .writable: .writable
    }
  }

  init(tree: MetaTree, node: MetaNode) throws(FSError) {
    self.tree = tree
    switch node.content {
    case .control: source = .control
    case .readme: source = .text(MetaText.readme)
    case .status: source = .text(try tree.services.status(asJSON: false))
    case .statusJSON: source = .text(try tree.services.status(asJSON: true))
    case .log: source = .log(tree.services.log.open())
    case .info(let number, let path): source = .text(try tree.info(number, path))
    case .changes(let number, let path):
      source = .changes(ChangeText(try tree.changes(of: number, path)))
    case .value(let number, let key):
      source = .value(try tree.entry(number, key).stored, number, key)
    case .writable(let file): source = .writable(file)
    default: throw node.content.kind == .directory ? .isDirectory : .invalid
    }
  }

  fileprivate init(tree: MetaTree, file: WritableFile) {
    self.tree = tree
    source = .writable(file)
  }

  /// Reads bytes; fewer than fit into the buffer only at the end of the file.
  package func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) -> Int {
    switch source {
    case .control: throw .invalid
    case .text(let bytes): return bytes.copy(from: offset, into: buffer)
    case .log(let file): return try file.read(at: offset, into: buffer)
    case .changes(let text): return try text.read(at: offset, into: buffer)
    case .value(let stored, let number, let key):
      do throws(FSError) {
        return try FSError.translating(
          try tree.store.contents.read(stored, at: offset, into: buffer))
      } catch {
        if let reason = error.damage { tree.tell(reason, of: key, in: number) }
        throw error
      }
    case .writable(let file):
      return file.place.look(file).bytes.copy(from: offset, into: buffer)
    }
  }

  /// Returns the length of a file that never changes; for made texts this costs as much as reading.
  func length() throws(FSError) -> UInt64 {
    switch source {
    case .text(let bytes): UInt64(bytes.count)
    case .changes(let text): try text.length()
    case .value(let stored, _, _): stored.length
    case .control, .log, .writable: throw .invalid
    }
  }

  /// Finds data or a hole as lseek(2) does; only values have holes.
  package func seek(from offset: UInt64, toData: Bool) throws(FSError) -> UInt64 {
    guard case .value(let stored, _, _) = source else { throw .invalid }
    guard offset < stored.length else { throw .noDevice }
    var at = offset
    while at < stored.length {
      let run = try FSError.translating(try tree.store.contents.run(stored, at: at))
      if run.isHole != toData { return at }
      at = run.end
    }
    if toData { throw .noDevice }
    return stored.length
  }

  /// True if saving may make a version; it must then not run on a thread that the kernel waits for.
  package var changesStore: Bool {
    if case .writable = source { return true }
    return false
  }

  private func writable() throws(FSError) -> WritableFile {
    guard case .writable(let file) = source else { throw .readOnly }
    return file
  }

  /// - Throws: ``FSError/fileTooBig`` beyond the limit, ``FSError/readOnly`` if it is not writable.
  package func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(FSError) {
    let file = try writable()
    try file.place.write(file, at: offset, bytes)
    use.withLock { $0.wrote = true }
  }

  /// - Throws: as ``write(at:_:)``.
  package func resize(to size: UInt64) throws(FSError) {
    let file = try writable()
    try file.place.resize(file, to: size)
    use.withLock { $0.wrote = true }
  }

  /// Saves the file: at a flush of a handle that wrote, and at the second flush of one that truncated.
  /// - Throws: ``FSError/invalid`` for an invalid address, which stays without effect.
  package func flush() throws(FSError) {
    guard case .writable(let file) = source else { return }
    let isSave = use.withLock { use in
      defer { use.flushes += 1 }
      return use.wrote || use.flushes > 0
    }
    if isSave { try file.place.save(file) }
  }

  /// Releases the open file after its last descriptor was closed.
  package func release() {
    guard case .writable(let file) = source else { return }
    let isFirst = use.withLock { use in
      defer { use.isReleased = true }
      return !use.isReleased
    }
    guard isFirst else { return }
    // close(2) was answered at the flush.
    try? file.place.save(file)
    file.place.close(file)
  }
}

extension MetaTree {
  fileprivate func tell(_ reason: String, of key: Key, in number: VersionNumber) {
    // If the version's name cannot be read, the report has its number.
    let version = (try? store.version(number))?.name ?? "number \(number.rawValue)"
    live.damage.tell(reason, of: "\(key.rawValue) in version \(version)")
  }

  package func tellsPending(_ inode: UInt64) -> Bool {
    switch try? nodes.node(inode).content {
    case .status, .statusJSON: true
    default: false
    }
  }

  /// - Throws: ``FSError/readOnly`` in history, ``FSError/accessDenied`` for a generated file,
  ///   ``FSError/isDirectory``.
  package func open(
    _ inode: UInt64, writing: Bool = false, truncating: Bool = false
  ) throws(FSError) -> MetaFile {
    let node = try nodes.node(inode)
    let file = try MetaFile(tree: self, node: node)
    switch node.content {
    case .control: break
    case .writable(let opened): opened.place.open(opened, truncating: truncating)
    default:
      if writing || truncating { throw node.content.isHistory ? .readOnly : .accessDenied }
    }
    return file
  }

  /// - Throws: ``FSError/exists``; ``FSError/readOnly`` in history, ``FSError/notPermitted`` elsewhere.
  package func create(
    _ parent: UInt64, _ name: [UInt8], mode: UInt32
  ) throws(FSError) -> (MetaEntry, MetaFile) {
    let directory = try nodes.node(parent)
    let place = try place(of: directory, changing: name)
    let file = try place.create(name, mode: mode)
    let found = Found(.writable(file))
    let entry = try adopt(found, in: directory, name: name)
    place.open(file, truncating: false)
    return (entry, MetaFile(tree: self, file: file))
  }
}
