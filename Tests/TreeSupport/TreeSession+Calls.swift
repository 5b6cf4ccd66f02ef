import Inodes
import LLVSCore
import Platform
import TreeNames

@testable import WorkingTree

// The calls of a tree by plain numbers and bytes, as a kernel makes them.

typealias NodeStatus = InodeStatus

extension InodeStatus {
  var inode: UInt64 { number.rawValue }
  var node: UInt64 { number.rawValue }
}

/// An open file, and its inode.
struct LiveHandle: Sendable {
  typealias Mode = OpenMode
  var number: HandleNumber
  var inode: UInt64
  var mode: OpenMode
  /// True if the kernel must drop the pages that it holds of the file.
  var dropsPages = false
}

extension ExtendedMode {
  /// An attribute is made or replaced.
  static let either: ExtendedMode = []
}

/// The names of a directory, `.` and `..` first.
struct NameListing {
  struct Item {
    var name: [UInt8]
    var inode: UInt64
    var kind: EntryKind
    var offset: Int64
  }
  var items: [Item]
}

extension TreeSession {
  // MARK: - Names

  func lookup(_ directory: UInt64, _ name: [UInt8]) throws(FSError) -> InodeStatus {
    try files.lookup(InodeNumber(directory), FileName(name))
  }

  func getattr(_ inode: UInt64) throws(FSError) -> InodeStatus {
    try files.status(of: InodeNumber(inode))
  }

  func forget(_ inode: UInt64, count: UInt64) { files.forget(InodeNumber(inode), count: count) }

  func list(_ directory: UInt64) throws(FSError) -> NameListing {
    let listing = try files.openDirectory(InodeNumber(directory))
    let above = try files.parent(of: InodeNumber(directory)).rawValue
    var items = [
      NameListing.Item(name: [0x2E], inode: directory, kind: .directory, offset: 1),
      NameListing.Item(name: [0x2E, 0x2E], inode: above, kind: .directory, offset: 2),
    ]
    var cookie = EntryCookie.start
    while true {
      let page = try files.list(listing, after: cookie)
      items += page.map {
        NameListing.Item(
          name: $0.name.bytes, inode: $0.number.rawValue, kind: $0.kind, offset: $0.cookie.rawValue)
      }
      guard let last = page.last else { return NameListing(items: items) }
      cookie = last.cookie
    }
  }

  func makeDirectory(
    _ directory: UInt64, _ name: [UInt8], mode: UInt32, caller: Caller
  ) throws(FSError) -> InodeStatus {
    try files.makeDirectory(InodeNumber(directory), FileName(name), mode: mode, caller: caller)
  }

  func makeSymlink(
    _ directory: UInt64, _ name: [UInt8], target: [UInt8], caller: Caller
  ) throws(FSError) -> InodeStatus {
    try files.makeSymlink(InodeNumber(directory), FileName(name), target: target, caller: caller)
  }

  func makeNode(
    _ directory: UInt64, _ name: [UInt8], kind: EntryKind, mode: UInt32,
    device: Attributes.Device? = nil, caller: Caller
  ) throws(FSError) -> InodeStatus {
    try files.makeNode(
      InodeNumber(directory), FileName(name), kind: kind, mode: mode, device: device,
      caller: caller)
  }

  func link(
    _ inode: UInt64, _ directory: UInt64, _ name: [UInt8], thread: Int32 = 0
  ) throws(FSError) -> InodeStatus {
    try files.link(InodeNumber(inode), InodeNumber(directory), FileName(name), process: thread)
  }

  func unlink(_ directory: UInt64, _ name: [UInt8], thread: Int32 = 0) throws(FSError) {
    try files.unlink(InodeNumber(directory), FileName(name), process: thread)
  }

  func removeDirectory(_ directory: UInt64, _ name: [UInt8]) throws(FSError) {
    try files.removeDirectory(InodeNumber(directory), FileName(name))
  }

  func rename(
    _ from: UInt64, _ name: [UInt8], _ to: UInt64, _ new: [UInt8], mode: RenameMode = .replacing,
    thread: Int32 = 0
  ) throws(FSError) {
    try files.rename(
      InodeName(directory: InodeNumber(from), name: FileName(name)),
      to: InodeName(directory: InodeNumber(to), name: FileName(new)), mode: mode, process: thread)
  }

  // MARK: - Files

  func create(
    _ directory: UInt64, _ name: [UInt8], mode: UInt32, open: OpenMode, caller: Caller
  ) throws(FSError) -> (NodeStatus, LiveHandle) {
    let (status, handle) = try files.create(
      InodeNumber(directory), FileName(name), mode: mode, open: open, caller: caller)
    return (status, LiveHandle(number: handle, inode: status.inode, mode: open))
  }

  func open(
    _ inode: UInt64, mode: OpenMode, thread: Int32 = 0
  ) throws(FSError) -> LiveHandle {
    let opened = try files.open(InodeNumber(inode), mode: mode, process: thread)
    return LiveHandle(
      number: opened.handle, inode: inode, mode: mode, dropsPages: opened.dropsPages)
  }

  func read(
    _ inode: UInt64, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    accessing: Bool = true
  ) throws(FSError) -> Int {
    try read(InodeNumber(inode), at: offset, into: buffer, accessing: accessing)
  }

  func readlink(_ inode: UInt64) throws(FSError) -> [UInt8] {
    try readlink(InodeNumber(inode))
  }

  func noteRead(_ handle: LiveHandle) { files.noteRead(handle.number) }

  func write(
    _ handle: LiveHandle, at offset: UInt64, _ bytes: UnsafeRawBufferPointer, mapped: Bool = false
  ) throws(FSError) {
    try files.write(handle.number, at: offset, bytes, mapped: mapped)
  }

  func resize(
    _ inode: UInt64, to size: UInt64, through handle: LiveHandle?, thread: Int32 = 0
  ) throws(FSError) {
    try files.resize(
      InodeNumber(inode), to: size, through: handle?.number, process: thread)
  }

  func flush(_ handle: LiveHandle) throws(FSError) { try files.flush(handle.number) }
  func release(_ handle: LiveHandle) throws(FSError) { try files.release(handle.number) }
  func fsync(_ handle: LiveHandle) throws(FSError) { try files.fsync(handle.number) }
  func sync() throws(FSError) { try files.sync() }

  // MARK: - Attributes

  func setattr(
    _ inode: UInt64, _ change: StatusChange, thread: Int32 = 0
  ) throws(FSError) -> InodeStatus {
    try files.setattr(InodeNumber(inode), change, process: thread)
  }

  func getxattr(_ inode: UInt64, _ name: [UInt8]) throws(FSError) -> [UInt8] {
    try files.getxattr(InodeNumber(inode), name)
  }

  func listxattr(_ inode: UInt64) throws(FSError) -> [UInt8] {
    try files.listxattr(InodeNumber(inode))
  }

  func setxattr(
    _ inode: UInt64, _ name: [UInt8], _ value: [UInt8], mode: ExtendedMode = [], thread: Int32 = 0
  ) throws(FSError) {
    try files.setxattr(InodeNumber(inode), name, value, mode: mode, process: thread)
  }

  func removexattr(_ inode: UInt64, _ name: [UInt8]) throws(FSError) {
    try files.removexattr(InodeNumber(inode), name)
  }
}
