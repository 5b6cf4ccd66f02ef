import Inodes
import LLVSCore

/// The recorded tree of a new head while the overlay follows it.
///
/// Programs that write wait for the steps, which ask for the same rows several times. So a row is read once, and a row
/// that the head does not change is not read if the overlay before the head tells it (I3, I4).
///
/// - Concurrency: one thread.
// Unchecked: the one that follows a head has it.
final class FollowedBase: Base, @unchecked Sendable {
  private let base: any Base
  private let overlay: Overlay
  /// The rows that the head changes; nil if they may be any.
  private var rows: ChangedRows?
  private var children: [InodeName: BaseEntry?] = [:]
  private var inodes: [InodeNumber: BaseInode?] = [:]
  private var names: [InodeNumber: [InodeName]] = [:]

  /// Creates the tree of a head over that of an overlay before it.
  init(_ base: any Base, _ rows: ChangedRows?, before overlay: Overlay) {
    (self.base, self.rows, self.overlay) = (base, rows, overlay)
  }

  var batch: UInt64 { base.batch }

  /// Notes that an inode got another number at all its names.
  func forget(_ number: InodeNumber, at places: [InodeName], isDirectory: Bool) {
    inodes[number] = nil
    names[number] = nil
    for place in places { children[place] = nil }
    rows?.numbers.insert(number)
    rows?.names.formUnion(places)
    guard isDirectory else { return }
    // The names in it are in another directory now.
    rows = nil
    (children, inodes, names) = ([:], [:], [:])
  }

  func child(of directory: InodeNumber, named name: FileName) throws(BaseError) -> BaseEntry? {
    let place = InodeName(directory: directory, name: name)
    if let rows, !rows.names.contains(place), overlay.changes[place]?.hidesRecorded == false {
      return nil
    }
    if let entry = children[place] { return entry }
    let entry = try base.child(of: directory, named: name)
    children[place] = .some(entry)
    return entry
  }

  func inode(_ number: InodeNumber) throws(BaseError) -> BaseInode? {
    if let names = known(number), names.isEmpty, number != .root { return nil }
    if let inode = inodes[number] { return inode }
    let inode = try base.inode(number)
    inodes[number] = .some(inode)
    return inode
  }

  func names(of number: InodeNumber) throws(BaseError) -> [InodeName] {
    if let names = known(number) ?? names[number] { return names }
    let found = try base.names(of: number)
    names[number] = found
    return found
  }

  /// The recorded names of an inode whose rows the head does not change, as the overlay has them.
  private func known(_ number: InodeNumber) -> [InodeName]? {
    guard let rows, !rows.numbers.contains(number) else { return nil }
    return overlay.nodes.recordedNames(of: number)
  }

  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(BaseError) -> [BaseEntry] {
    try base.page(of: directory, after: cookie, limit: limit)
  }

  func count(of directory: InodeNumber, atMost limit: Int) throws(BaseError) -> Int {
    try base.count(of: directory, atMost: limit)
  }
}
