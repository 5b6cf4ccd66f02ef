internal import CSQLite
internal import CXXHash
internal import Platform
package import SQLite

extension Database.Options {
  /// For a file whose pages have checksums, from its first page on.
  package static var withPageSums: Database.Options {
    _ = PageSums.isRegistered
    var options = Database.Options()
    options.vfs = PageSums.name
    options.reservedBytes = PageSums.reserved
    return options
  }
}

/// Files of SQLite whose pages have checksums, so that a damaged page is found when it is read.
///
/// The checksum is XXH3-64 of the page, seeded with its number, in the eight bytes that SQLite leaves free
/// (`SQLITE_FCNTL_RESERVE_BYTES`). A VFS over the default one adds and checks it. A page in the write-ahead log has
/// no room for it, and SQLite checks the log's own sums only when it opens the log. So the sums of pages that this
/// process wrote to a log are in memory (``LogSums``).
enum PageSums {
  typealias Methods = sqlite3_io_methods
  static let name = "llvs-page-sums"
  /// The length of a page, SQLite's default.
  static let pageSize = 4096
  static let reserved: Int32 = 8

  /// Copies of methods by the address of the original, which follows each copy. They are never freed.
  private struct Copies: @unchecked Sendable {
    // Unchecked: the pointers are only read.
    var databases: [UnsafePointer<Methods>: UnsafePointer<Methods>] = [:]
    var logs: [UnsafePointer<Methods>: UnsafePointer<Methods>] = [:]
  }

  // A leaf lock.
  private static let copies = Monitor(Copies())

  /// Makes the VFS known, once. Without it no file with checksums can be opened.
  fileprivate static let isRegistered: Bool = {
    guard let unix = sqlite3_vfs_find("unix") else { return false }
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    own.initialize(to: unix.pointee)
    let name: StaticString = "llvs-page-sums"
    own.pointee.zName = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    own.pointee.pNext = nil
    own.pointee.xOpen = { PageSums.open($1, $2, $3, $4) }
    return sqlite3_vfs_register(own, 0) == SQLITE_OK
  }()

  private static func open(
    _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ flagsOut: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    guard let below = sqlite3_vfs_find(nil), let open = below.pointee.xOpen, let file else {
      return SQLITE_CANTOPEN
    }
    let result = open(below, name, file, flags, flagsOut)
    guard result == SQLITE_OK, let original = file.pointee.pMethods else { return result }
    if flags & SQLITE_OPEN_MAIN_DB != 0 {
      file.pointee.pMethods = copy(of: original, in: \.databases) {
        $0.xRead = { PageSums.readPage($0, $1, $2, $3) }
        $0.xWrite = { PageSums.writePage($0, $1, $2, $3) }
      }
    } else if flags & SQLITE_OPEN_WAL != 0, let name {
      let path = String(cString: name)
      file.pointee.pMethods = copy(of: original, in: \.logs) {
        $0.xRead = { LogSums.read($0, $1, $2, $3) }
        $0.xWrite = { LogSums.write($0, $1, $2, $3) }
        $0.xTruncate = { LogSums.truncate($0, $1) }
        $0.xClose = { LogSums.close($0) }
      }
      LogSums.opened(file, path)
    }
    return result
  }

  private static func copy(
    of original: UnsafePointer<Methods>,
    in known: WritableKeyPath<Copies, [UnsafePointer<Methods>: UnsafePointer<Methods>]>,
    _ change: (inout Methods) -> Void
  ) -> UnsafePointer<Methods> {
    copies.withLock { copies in
      if let copy = copies[keyPath: known][original] { return copy }
      let size = MemoryLayout<Methods>.stride + MemoryLayout<UnsafePointer<Methods>>.stride
      let raw = UnsafeMutableRawPointer.allocate(
        byteCount: size, alignment: MemoryLayout<Methods>.alignment)
      let copy = raw.bindMemory(to: Methods.self, capacity: 1)
      copy.initialize(to: original.pointee)
      // Mapped pages would bypass all functions.
      copy.pointee.xFetch = nil
      copy.pointee.xUnfetch = nil
      copy.pointee.iVersion = min(original.pointee.iVersion, 2)
      change(&copy.pointee)
      raw.storeBytes(
        of: original, toByteOffset: MemoryLayout<Methods>.stride,
        as: UnsafePointer<Methods>.self)
      copies[keyPath: known][original] = UnsafePointer(copy)
      return UnsafePointer(copy)
    }
  }

  static func original(_ file: UnsafeMutablePointer<sqlite3_file>) -> Methods? {
    guard let copy = file.pointee.pMethods else { return nil }
    return UnsafeRawPointer(copy)
      .load(fromByteOffset: MemoryLayout<Methods>.stride, as: UnsafePointer<Methods>.self).pointee
  }

  private static func isPage(_ count: Int32, _ offset: Int64) -> Bool {
    count == pageSize && offset % Int64(pageSize) == 0
  }

  private static func sum(of page: UnsafeRawPointer, at offset: Int64) -> UInt64 {
    let number = UInt64(offset) / UInt64(pageSize) + 1
    return llvs_xxh3_64bits(page, pageSize - Int(reserved), number).bigEndian
  }

  private static func readPage(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ buffer: UnsafeMutableRawPointer?,
    _ count: Int32, _ offset: Int64
  ) -> Int32 {
    guard let file, let buffer, let read = original(file)?.xRead else { return SQLITE_IOERR }
    let result = read(file, buffer, count, offset)
    guard result == SQLITE_OK, isPage(count, offset) else { return result }
    let written = buffer.loadUnaligned(
      fromByteOffset: pageSize - Int(reserved), as: UInt64.self)
    return written == sum(of: buffer, at: offset) ? SQLITE_OK : Database.damagedPage
  }

  private static func writePage(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32,
    _ offset: Int64
  ) -> Int32 {
    guard let file, let bytes, let write = original(file)?.xWrite else { return SQLITE_IOERR }
    guard isPage(count, offset) else { return write(file, bytes, count, offset) }
    return withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 16) { page in
      page.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: pageSize))
      page.storeBytes(
        of: sum(of: bytes, at: offset), toByteOffset: pageSize - Int(reserved), as: UInt64.self)
      return write(file, page.baseAddress, count, offset)
    }
  }
}
