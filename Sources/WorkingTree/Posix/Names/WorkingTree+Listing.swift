package import Inodes
package import LLVSCore
import Platform
import Synchronization
package import TreeNames

// Listing directories. `.`, `..` and `.llvs` are the mount's; no name's cookie is below 2^53.

extension WorkingTree {
  package func openDirectory(_ number: InodeNumber) throws(FSError) -> DirectoryListing {
    try answer { state, base throws(FSError) in
      try checkIsShown(number, state, base)
      try checkDirectory(number, state, base)
    }
    return DirectoryListing(number)
  }

  /// Returns the next names of a directory behind a cookie, at most `limit`, in the order of their cookies; none at
  /// the end. Takes O(1) a name, and *k* log *k* for *k* pending names where a listing begins.
  ///
  /// An untouched name keeps its cookie, so every listing meets it exactly once, whatever else changes or becomes a
  /// version. New names may be missing until a listing begins again at ``EntryCookie/start``.
  ///
  /// - Throws: the error of the recorded tree.
  package func list(
    _ listing: DirectoryListing, after start: EntryCookie, atMost limit: Int = pageSize
  ) throws(FSError) -> [ListedName] {
    let limit = max(1, min(limit, Self.pageSize))
    var (cookie, isBeginning) = (start, start == .start)
    while true {
      let pending = try pendingNames(of: listing, anew: isBeginning)
      isBeginning = false
      let after = cookie
      let found = try answer { state, base throws(FSError) -> ListingPage? in
        guard state.publication == pending.publication else { return nil }
        return try page(of: listing, after: after, atMost: limit, pending, state, base)
      }
      guard var page = found else { continue }
      // Recorded and pending names are up to twice as many.
      page.names.removeLast(max(0, page.names.count - limit))
      guard page.names.isEmpty, let next = page.next else { return page.names }
      cookie = next
    }
  }

  /// Returns the parent of a directory; the root is the parent of itself and of removed directories.
  package func parent(of directory: InodeNumber) throws(FSError) -> InodeNumber {
    try answer { state, base throws(FSError) in
      try place(of: directory, state, base)?.directory ?? .root
    }
  }

  /// Updates the access time of a listed directory by the rules.
  package func noteListing(_ number: InodeNumber) throws(FSError) {
    try answer { state, base throws(FSError) in
      let status = try status(of: number, state, base)
      state.accessTimes.note(
        number, isDirectory: true, mtime: status.mtime, ctime: status.ctime, now: .now)
    }
  }

  /// Returns the pending names of a directory; noted again at the beginning of a listing and after another head.
  private func pendingNames(
    of listing: DirectoryListing, anew: Bool
  ) throws(FSError) -> DirectoryListing.PendingNames {
    if !anew, let known = listing.pending.withLock({ $0 }),
      state({ $0.publication }) == known.publication
    {
      return known
    }
    let noted = try notePendingNames(of: listing.directory)
    listing.pending.withLock { $0 = noted }
    return noted
  }

  private func notePendingNames(
    of directory: InodeNumber
  ) throws(FSError) -> DirectoryListing.PendingNames {
    while true {
      let (publication, names, known) = state {
        ($0.publication, $0.overlay.changedNames(of: directory), $0.overlay.cookies(of: directory))
      }
      let new = names.filter { known[$0] == nil }
      let choices =
        new.isEmpty ? [] : try FSError.translating(try base.cookies(for: new, in: directory))
      let given = state { state -> SharedMap<FileName, EntryCookie>? in
        guard state.publication == publication, !state.isPublishing else { return nil }
        if !new.isEmpty { state.overlay.giveCookies(Array(zip(new, choices)), in: directory) }
        return state.overlay.cookies(of: directory)
      }
      guard let given else {
        waitForPublication()
        continue
      }
      return DirectoryListing.PendingNames(
        publication: publication, names: given.map { ($0.value, $0.key) }.sorted { $0.0 < $1.0 })
    }
  }

  fileprivate struct ListingPage {
    var names: [ListedName] = []
    /// The cookie of the last name, if the listing continues; nil at the end.
    var next: EntryCookie?
  }

  /// Lays the pending names of a directory over a page of the recorded tree, with the lock held.
  private func page(
    of listing: DirectoryListing, after cookie: EntryCookie, atMost limit: Int,
    _ pending: DirectoryListing.PendingNames, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> ListingPage {
    let directory = listing.directory
    guard state.removed[directory] == nil else { return ListingPage() }
    let (known, isWhole) = try recordedNames(of: listing, after: cookie, state, base)
    let rows = known.prefix(limit)
    let noted = pending.after(cookie, atMost: limit)
    // Behind the end of either part the other may have names that this page lacks.
    let ends = [
      rows.count == limit || !isWhole ? rows.last?.cookie : nil,
      noted.count == limit ? noted.last?.cookie : nil,
    ].compactMap(\.self)
    var page = ListingPage(next: ends.min())
    let end = page.next ?? EntryCookie(.max)
    var left = noted.prefix { $0.cookie <= end }
    for row in rows.prefix(while: { $0.cookie <= end }) {
      while let first = left.first, first.cookie < row.cookie {
        left.removeFirst()
        try page.add(first.name, first.cookie, of: directory, state, base)
      }
      if let first = left.first, first.name == row.name { left.removeFirst() }
      try page.add(row, of: directory, state, base)
    }
    for (cookie, name) in left { try page.add(name, cookie, of: directory, state, base) }
    return page
  }

  /// Returns the recorded names behind a cookie, and whether these are all: at least one, unless the directory ends
  /// there.
  private func recordedNames(
    of listing: DirectoryListing, after cookie: EntryCookie, _ state: TreeState,
    _ base: RememberedBase
  ) throws(FSError) -> (ArraySlice<BaseEntry>, isWhole: Bool) {
    if let known = listing.rows.withLock({ $0 }), known.publication == state.publication,
      let rows = known.after(cookie)
    {
      return (rows, known.isWhole)
    }
    let page = try FSError.translating(
      try base.page(of: listing.directory, after: cookie, limit: Self.pageSize))
    let isWhole = page.count < Self.pageSize
    listing.rows.withLock {
      $0 = DirectoryListing.Rows(
        publication: state.publication, start: cookie, entries: page, isWhole: isWhole)
    }
    return (page[...], isWhole)
  }
}

extension WorkingTree.ListingPage {
  fileprivate mutating func add(
    _ name: FileName, _ cookie: EntryCookie, of directory: InodeNumber, _ state: TreeState,
    _ base: RememberedBase
  ) throws(FSError) {
    let place = InodeName(directory: directory, name: name)
    guard case .pending(let number?) = state.overlay.shown(at: place),
      let kind = state.overlay.nodes.kind(of: number)
    else { return }
    try add(kind, number, cookie, at: place, state, base)
  }

  /// Adds a recorded name, or what is pending there.
  fileprivate mutating func add(
    _ row: BaseEntry, of directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    let place = InodeName(directory: directory, name: row.name)
    switch state.overlay.shown(at: place) {
    case .pending: try add(row.name, row.cookie, of: directory, state, base)
    case .recorded:
      try add(row.inode.record.kind, row.inode.number, row.cookie, at: place, state, base)
    }
  }

  private mutating func add(
    _ kind: EntryKind, _ number: InodeNumber, _ cookie: EntryCookie, at place: InodeName,
    _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    let name = try FSError.translating(try state.overlay.shownName(of: place, over: base))
    names.append(ListedName(name: name, cookie: cookie, number: number, kind: kind))
  }
}

/// A directory that is open for listing. It keeps the cookies of pending names, noted when a listing begins and again
/// after another head, and the recorded names that the kernel asks for next.
///
/// - Concurrency: any thread.
package final class DirectoryListing: Sendable {
  typealias PendingName = (cookie: EntryCookie, name: FileName)

  struct PendingNames {
    let publication: UInt64
    /// The names, in the order of their cookies.
    let names: [PendingName]

    func after(_ cookie: EntryCookie, atMost limit: Int) -> ArraySlice<PendingName> {
      names[names.partitioningIndex { $0.cookie > cookie }...].prefix(limit)
    }
  }

  /// Recorded names of one publication, in the order of their cookies.
  struct Rows {
    let publication: UInt64
    /// The names follow this cookie.
    let start: EntryCookie
    let entries: [BaseEntry]
    /// Whether the directory ends with them.
    let isWhole: Bool

    /// Returns those behind a cookie; nil if they are not known.
    func after(_ cookie: EntryCookie) -> ArraySlice<BaseEntry>? {
      guard cookie >= start else { return nil }
      let rest = entries[entries.partitioningIndex { $0.cookie > cookie }...]
      return rest.isEmpty && !isWhole ? nil : rest
    }
  }

  package let directory: InodeNumber
  let pending = Mutex<PendingNames?>(nil)
  let rows = Mutex<Rows?>(nil)
  init(_ directory: InodeNumber) { self.directory = directory }
}

package struct ListedName: Hashable, Sendable {
  package var name: FileName
  /// Its place in the listing; the next names follow it.
  package var cookie: EntryCookie
  package var number: InodeNumber
  package var kind: EntryKind
}
