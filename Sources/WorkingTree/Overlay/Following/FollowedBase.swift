import Inodes
import LLVSCore

/// The recorded tree of a new head while the overlay follows it. Writing programs wait for that, so each row is
/// read once, and an unchanged row is not read if the overlay before the head has it (I3, I4).
/// - Concurrency: one thread.
// Unchecked: only the thread that follows a head has it.
final class FollowedBase: Base, @unchecked Sendable {
  private let base: any Base
  private let overlay: Overlay
  private var rows: ChangedRows?
  private var children: [InodeName: BaseEntry?] = [:]
  private var inodes: [InodeNumber: BaseInode?] = [:]
  private var names: [InodeNumber: [InodeName]] = [:]

  init(_ base: any Base, _ rows: ChangedRows?, before overlay: Overlay) {
    (self.base, self.rows, self.overlay) = (base, rows, overlay)
  }

  var batch: UInt64 { base.batch }

  /// Forgets the rows of an inode that got another number at all its names.
  func forget(_ number: InodeNumber, at places: [InodeName], isDirectory: Bool) {
    inodes[number] = nil
    names[number] = nil
    for place in places { children[place] = nil }
    rows?.numbers.insert(number)
    rows?.names.formUnion(places)
    guard isDirectory else { return }
    // The names in the directory belong to another number now.
    rows = nil
    (children, inodes, names) = ([:], [:], [:])
  }

  func child(of directory: InodeNumber, named name: FileName) throws(StoreError) -> BaseEntry? {
    let place = InodeName(directory: directory, name: name)
    if let rows, !rows.names.contains(place), overlay.changes[place]?.hidesRecorded == false {
      return nil
    }
    if let entry = children[place] { return entry }
    let entry = try base.child(of: directory, named: name)
    children[place] = .some(entry)
    return entry
  }

  func inode(_ number: InodeNumber) throws(StoreError) -> BaseInode? {
    if let names = known(number), names.isEmpty, number != .root { return nil }
    if let inode = inodes[number] { return inode }
    let inode = try base.inode(number)
    inodes[number] = .some(inode)
    return inode
  }

  func names(of number: InodeNumber) throws(StoreError) -> [InodeName] {
    if let names = known(number) ?? names[number] { return names }
    let found = try base.names(of: number)
    names[number] = found
    return found
  }

  private func known(_ number: InodeNumber) -> [InodeName]? {
    guard let rows, !rows.numbers.contains(number) else { return nil }
    return overlay.nodes.recordedNames(of: number)
  }

  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(StoreError) -> [BaseEntry] { try base.page(of: directory, after: cookie, limit: limit) }

  func count(of directory: InodeNumber, atMost limit: Int) throws(StoreError) -> Int {
    try base.count(of: directory, atMost: limit)
  }
}
