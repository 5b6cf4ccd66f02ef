package import LLVSCore

/// The tree of inodes below the pending changes.
/// - Concurrency: any thread. Two answers may come from before and after a new head; ``batch`` shows that.
package protocol Base: AnyObject, Sendable {
  /// Odd while a new head's tree is installed, and different afterwards.
  var batch: UInt64 { get }

  /// Returns the entry of a name; nil if it, or the directory, does not exist.
  func child(of directory: InodeNumber, named name: FileName) throws(StoreError) -> BaseEntry?

  /// Returns the next entries by cookie; fewer than `limit` only at the end.
  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(StoreError) -> [BaseEntry]

  /// Returns the number of entries of a directory, or `limit` if there are more.
  /// - Complexity: O(`limit`).
  func count(of directory: InodeNumber, atMost limit: Int) throws(StoreError) -> Int

  /// Nil if the inode has no name.
  func inode(_ number: InodeNumber) throws(StoreError) -> BaseInode?

  func names(of number: InodeNumber) throws(StoreError) -> [InodeName]
}

/// The offset of an entry for readdir(3), which a name keeps while it stays in its directory.
package struct EntryCookie: Hashable, Comparable, Sendable {
  /// Above 2^53 for an entry.
  package let rawValue: Int64
  package static let start = EntryCookie(0)

  package init(_ rawValue: Int64) { self.rawValue = rawValue }

  package var next: EntryCookie { EntryCookie(rawValue + 1) }

  package static func < (a: EntryCookie, b: EntryCookie) -> Bool { a.rawValue < b.rawValue }
}

/// The cookies that a name can have: that of its entry, else the first free one of a few.
package struct CookieChoice: Hashable, Sendable {
  /// The number of cookies to choose from.
  package static let count: Int64 = 8

  package var first: EntryCookie
  /// The cookie of this name's entry.
  package var own: EntryCookie?
  /// The cookies of other names' entries.
  package var taken: [EntryCookie]

  package init(first: EntryCookie, own: EntryCookie? = nil, taken: [EntryCookie] = []) {
    self.first = first
    self.own = own
    self.taken = taken
  }
}

package struct InodeName: Hashable, Sendable {
  package var directory: InodeNumber
  package var name: FileName

  package init(directory: InodeNumber, name: FileName) {
    self.directory = directory
    self.name = name
  }
}

package struct BaseInode: Hashable, Sendable {
  package var number: InodeNumber
  package var record: InodeRecord
  /// The number of names; of a directory, that of subdirectories.
  package var links: Int

  package init(number: InodeNumber, record: InodeRecord, links: Int) {
    self.number = number
    self.record = record
    self.links = links
  }
}

package struct BaseEntry: Hashable, Sendable {
  package var name: FileName
  package var cookie: EntryCookie
  package var inode: BaseInode
  /// The key, if it is not the encoding of the path.
  package var key: Key?

  package init(name: FileName, cookie: EntryCookie, inode: BaseInode, key: Key?) {
    self.name = name
    self.cookie = cookie
    self.inode = inode
    self.key = key
  }
}

extension Base {
  /// Returns a path of an inode; ``StoreError/rebuildable(_:)`` if it has no name.
  package func path(of number: InodeNumber) throws(StoreError) -> TreePath {
    var names: [FileName] = []
    var number = number
    while number != .root {
      guard names.count <= 4096, let name = try self.names(of: number).first else {
        throw .rebuildable("a name that leads to an inode is missing")
      }
      names.append(name.name)
      number = name.directory
    }
    return names.reversed().reduce(TreePath.root) { $0.appending($1) }
  }
}
