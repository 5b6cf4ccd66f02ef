package import Inodes
package import TreeNames
package import WorkingTree

extension TreeSession {
  package func status(at path: [UInt8]) throws(FSError) -> InodeStatus? {
    var found: [InodeStatus] = []
    // A look-up count keeps a directory in memory.
    defer { for status in found { files.forget(status.number, count: 1) } }
    do throws(FSError) {
      for name in path.split(separator: 0x2F) {
        found.append(try files.lookup(found.last?.number ?? .root, FileName(name)))
      }
    } catch .noEntry, .notDirectory, .nameTooLong {
      // A path of history may no longer exist.
      return nil
    }
    return found.last
  }

  package func names(in number: InodeNumber) throws(FSError) -> [FileName] {
    let listing = try files.openDirectory(number)
    var names: [FileName] = []
    var cookie = EntryCookie.start
    while let last = try page(of: listing, after: cookie, &names) { cookie = last }
    return names
  }

  /// Adds the next names of a listing; returns the last cookie.
  private func page(
    of listing: DirectoryListing, after cookie: EntryCookie, _ names: inout [FileName]
  ) throws(FSError) -> EntryCookie? {
    let page = try files.list(listing, after: cookie)
    names += page.map(\.name)
    return page.last?.cookie
  }

  /// Nil for an inode without a path.
  func path(of number: UInt64) -> [UInt8]? { (try? files.path(of: InodeNumber(number)))??.bytes }
}
