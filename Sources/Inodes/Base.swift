package import LLVSCore
package import Platform

/// A tree of inodes that is below what programs changed and not yet saved as a version.
///
/// - Concurrency: any thread. Two answers may come from before and after a new head; ``batch`` tells.
package protocol Base: AnyObject, Sendable {
  /// A number that is odd while a new head's tree is put in place, and different afterwards.
  var batch: UInt64 { get }

  /// Returns the entry of a name in a directory; nil if there is none, or no such directory.
  func child(of directory: InodeNumber, named name: FileName) throws(BaseError) -> BaseEntry?

  /// Returns up to `limit` entries of a directory whose cookies are after `cookie`, ascending by
  /// cookie; fewer only at the end.
  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(BaseError) -> [BaseEntry]

  /// Returns the number of entries of a directory, or `limit` if there are more.
  ///
  /// - Complexity: O(`limit`).
  func count(of directory: InodeNumber, atMost limit: Int) throws(BaseError) -> Int

  /// Returns an inode by its number; nil if no name leads to it.
  func inode(_ number: InodeNumber) throws(BaseError) -> BaseInode?

  /// Returns all names of an inode, in no order; the root has none.
  func names(of number: InodeNumber) throws(BaseError) -> [InodeName]
}

/// The place of an entry in the order of its directory: what readdir(3) calls an offset. A name that
/// stays in its directory keeps its cookie.
package struct EntryCookie: Hashable, Comparable, Sendable {
  /// The number; that of an entry is above 2^53.
  package let rawValue: Int64

  /// Before all entries.
  package static let start = EntryCookie(0)

  package init(_ rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// The cookie after this one.
  package var next: EntryCookie { EntryCookie(rawValue + 1) }

  /// Returns true if the first is before the second.
  package static func < (a: EntryCookie, b: EntryCookie) -> Bool { a.rawValue < b.rawValue }
}

/// A source of the cookies that names of directories can have.
///
/// - Concurrency: any thread.
package protocol CookieSource: AnyObject, Sendable {
  /// Returns what cookies names of a directory can have, in the order of the names.
  ///
  /// - Complexity: O(log *n*) for each name.
  func cookies(
    for names: [FileName], in directory: InodeNumber
  ) throws(BaseError) -> [CookieChoice]
}

/// The cookies that a name of a directory can have: that of its entry, else the first of a few that is free.
package struct CookieChoice: Hashable, Sendable {
  /// The number of cookies from which a name gets the first that is free.
  package static let count: Int64 = 8

  /// The first that it can have; the others follow it.
  package var first: EntryCookie
  /// The cookie of the entry of this name; nil if there is none.
  package var own: EntryCookie?
  /// The cookies of entries of other names, among those that it can have.
  package var taken: [EntryCookie]

  package init(first: EntryCookie, own: EntryCookie? = nil, taken: [EntryCookie] = []) {
    self.first = first
    self.own = own
    self.taken = taken
  }
}

/// A name as an inode has it: the directory and the name there.
package struct InodeName: Hashable, Sendable {
  /// The directory.
  package var directory: InodeNumber
  /// The name.
  package var name: FileName

  package init(directory: InodeNumber, name: FileName) {
    self.directory = directory
    self.name = name
  }
}

/// An inode with what is recorded of it.
package struct BaseInode: Hashable, Sendable {
  /// Its number.
  package var number: InodeNumber
  /// Its record.
  package var record: InodeRecord
  /// The number of its names; of a directory, that of its subdirectories.
  package var links: Int

  package init(number: InodeNumber, record: InodeRecord, links: Int) {
    self.number = number
    self.record = record
    self.links = links
  }
}

/// An entry of a directory with the inode that it names.
package struct BaseEntry: Hashable, Sendable {
  /// The name.
  package var name: FileName
  /// Its place in the order of the directory.
  package var cookie: EntryCookie
  /// The inode.
  package var inode: BaseInode
  /// The key of the value or directory where it is not the encoding of the path.
  package var key: Key?

  package init(name: FileName, cookie: EntryCookie, inode: BaseInode, key: Key?) {
    self.name = name
    self.cookie = cookie
    self.inode = inode
    self.key = key
  }
}

/// The reason that a ``Base`` cannot answer.
package enum BaseError: Error, Sendable {
  /// The tree's file is damaged or contradicts itself; it must be made again from the
  /// head's map. The text names the file and the fault.
  case damaged(String)
  /// The store failed.
  case store(StoreError)
  /// The system failed, a full disk included.
  case system(SystemError)
  /// The database of the tree refused: it is read-only, or another process holds it. The text says
  /// which.
  case refused(String)
}
