package import Grammar
package import Inodes
package import LLVSCore
import Platform
package import TreeNames

// The calls of the module PosixTree for this older tree.

extension LiveTree {
  /// The files of the tree.
  package var files: LiveTree { self }

  /// The head's tree, as programs see it.
  package var shownBase: TreeView { lock.withLock { _ in base } }

  /// The version that the tree continues from; nil before the first version.
  package var shownHead: VersionNumber? { lock.withLock { _ in head } }

  /// The ignore patterns in force.
  package var ignorePatterns: IgnorePatterns { lock.withLock { _ in ignore } }

  /// The settings in force.
  package var storeSettings: StoreSettings {
    get { lock.withLock { _ in settings } }
    set { lock.withLock { _ in settings = newValue } }
  }

  /// Has somebody told once when something becomes pending.
  package func listenForPending(_ wake: @escaping @Sendable () -> Void) {
    lock.withLock { _ in self.wake = wake }
  }

  /// The reason that the journal takes no records; nil as a rule.
  package var refusal: String? { journal.refusal }

  /// Gives the disk back what nothing refers to; false if nothing was.
  @discardableResult
  package func makeRoom() -> Bool { reclaim() }

  /// Changes whenever another head was put under the tree.
  package var publications: UInt64 { installations }

  /// The bytes of room that files were given and do not use.
  package var roomBytes: UInt64 { allocatedBytes }

  // MARK: - Names

  package func lookup(_ directory: InodeNumber, _ name: FileName) throws(FSError) -> NodeStatus {
    try lookup(directory.rawValue, name.bytes)
  }

  package func lookup(number: InodeNumber, above: Bool = false) throws(FSError) -> NodeStatus {
    try lookup(number: number.rawValue, above: above)
  }

  package func status(of number: InodeNumber) throws(FSError) -> NodeStatus {
    try getattr(number.rawValue)
  }

  package func path(of number: InodeNumber) throws(FSError) -> TreePath? {
    path(of: number.rawValue).map { TreePath($0) }
  }

  package func parent(of directory: InodeNumber) throws(FSError) -> InodeNumber {
    InodeNumber(try parent(of: directory.rawValue))
  }

  package func forget(_ number: InodeNumber, count: UInt64) {
    forget(number.rawValue, count: count)
  }

  package func isKnownToKernel(_ number: InodeNumber, besides count: UInt64) -> Bool {
    isKnownToKernel(number.rawValue, besides: count)
  }

  package func isOpen(_ number: InodeNumber) -> Bool { isOpen(number.rawValue) }

  package func create(
    _ directory: InodeNumber, _ name: FileName, mode: UInt32, open: OpenMode, caller: Caller
  ) throws(FSError) -> (status: NodeStatus, handle: HandleNumber) {
    try create(directory.rawValue, name.bytes, mode: mode, open: open, caller: caller)
  }

  package func makeNode(
    _ directory: InodeNumber, _ name: FileName, kind: EntryKind, mode: UInt32,
    device: Attributes.Device? = nil, caller: Caller
  ) throws(FSError) -> NodeStatus {
    try makeNode(
      directory.rawValue, name.bytes, kind: kind, mode: mode, device: device, caller: caller)
  }

  package func makeDirectory(
    _ directory: InodeNumber, _ name: FileName, mode: UInt32, caller: Caller
  ) throws(FSError) -> NodeStatus {
    try makeDirectory(directory.rawValue, name.bytes, mode: mode, caller: caller)
  }

  package func makeSymlink(
    _ directory: InodeNumber, _ name: FileName, target: [UInt8], caller: Caller
  ) throws(FSError) -> NodeStatus {
    try makeSymlink(directory.rawValue, name.bytes, target: target, caller: caller)
  }

  package func link(
    _ number: InodeNumber, _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) -> NodeStatus {
    try link(number.rawValue, directory.rawValue, name.bytes, thread: process)
  }

  package func unlink(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    try unlink(directory.rawValue, name.bytes, thread: process)
  }

  package func removeDirectory(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    try removeDirectory(directory.rawValue, name.bytes)
  }

  package func rename(
    _ from: InodeName, to target: InodeName, mode: RenameMode, process: Int32 = 0
  ) throws(FSError) {
    try rename(
      from.directory.rawValue, from.name.bytes, target.directory.rawValue, target.name.bytes,
      mode: mode, thread: process)
  }

  // MARK: - Directories

  package func openDirectory(_ number: InodeNumber) throws(FSError) -> DirectoryListing {
    DirectoryListing(number, of: self)
  }

  package func list(
    _ listing: DirectoryListing, after start: EntryCookie
  ) throws(FSError) -> [ListedName] {
    var names = listing.names.withLock { $0 }
    if names == nil || start == .start {
      names = try list(listing.directory.rawValue)
      listing.names.withLock { $0 = names }
    }
    return names.map { names in
      names.items(after: max(start.rawValue, 2)).map {
        ListedName(
          name: FileName($0.name), cookie: EntryCookie($0.offset), number: InodeNumber($0.inode),
          kind: $0.kind)
      }
    } ?? []
  }

  package func noteListing(_ number: InodeNumber) throws(FSError) { noteListing(number.rawValue) }

  // MARK: - Files

  package func open(
    _ number: InodeNumber, mode: OpenMode, process: Int32 = 0, accessing: Bool = true
  ) throws(FSError) -> OpenedFile {
    let handle = try open(number.rawValue, mode: mode, thread: process, accessing: accessing)
    return OpenedFile(
      handle: handle, hasMovedAccessTime: handle.hasMovedAccessTime, dropsPages: handle.dropsPages)
  }

  package func read(
    _ number: InodeNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    accessing: Bool = true
  ) throws(FSError) -> Int {
    try read(number.rawValue, at: offset, into: buffer, accessing: accessing)
  }

  package func seek(
    _ number: InodeNumber, from offset: UInt64, toData: Bool
  ) throws(FSError) -> SoughtPlace {
    try seek(number.rawValue, from: offset, toData: toData)
  }

  package func readlink(_ number: InodeNumber) throws(FSError) -> [UInt8] {
    try readlink(number.rawValue)
  }

  // MARK: - Attributes

  package func setattr(
    _ number: InodeNumber, _ change: StatusChange, through handle: HandleNumber? = nil,
    process: Int32 = 0
  ) throws(FSError) -> NodeStatus {
    try setattr(number.rawValue, change, through: handle, thread: process)
  }

  @discardableResult
  package func clearMode(
    _ bits: UInt32, of number: InodeNumber, process: Int32 = 0
  ) throws(FSError) -> NodeStatus {
    try clearMode(bits, of: number.rawValue)
  }

  package func setIDsLost(
    _ number: InodeNumber, keepsGroup: (UInt32) -> Bool
  ) throws(FSError) -> UInt32 {
    setIDsLost(number.rawValue, keepsGroup: keepsGroup)
  }

  package func getxattr(_ number: InodeNumber, _ name: [UInt8]) throws(FSError) -> [UInt8] {
    try getxattr(number.rawValue, name)
  }

  package func listxattr(_ number: InodeNumber) throws(FSError) -> [UInt8] {
    try listxattr(number.rawValue)
  }

  package func setxattr(
    _ number: InodeNumber, _ name: [UInt8], _ value: [UInt8], mode: ExtendedMode = [],
    lostSetIDs: UInt32 = 0, process: Int32 = 0
  ) throws(FSError) {
    try setxattr(
      number.rawValue, name, value, mode: mode, thread: process, lostSetIDs: lostSetIDs)
  }

  package func removexattr(
    _ number: InodeNumber, _ name: [UInt8], process: Int32 = 0
  ) throws(FSError) {
    try removexattr(number.rawValue, name, thread: process)
  }

  // MARK: - What is pending

  package func ignoreScope(of path: TreePath) throws(FSError) -> IgnoreScope {
    ignoreScope(of: path.parent.bytes)
  }

  package func ignorePatterns(in directory: TreePath) throws(FSError) -> IgnorePatterns? {
    ignoreFilePatterns(in: directory.bytes)
  }

  package func reasonToIgnore(
    _ path: TreePath, isDirectory: Bool
  ) throws(FSError) -> IgnoreScope.Reason? {
    reasonToIgnore(path.bytes, isDirectory: isDirectory)
  }
}
