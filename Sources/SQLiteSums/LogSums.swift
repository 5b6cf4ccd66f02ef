internal import CSQLite
internal import CXXHash
internal import Platform
internal import SQLite

/// The checksums of the pages that this process wrote to write-ahead logs; see ``PageSums``.
enum LogSums {
  /// One log of all its connections, guarded by `state`.
  private final class Log {
    let path: String
    var users = 0
    /// The sums of pages by offset.
    var sums: [Int64: UInt64] = [:]

    init(_ path: String) { self.path = path }
  }

  private struct State: @unchecked Sendable {
    // Unchecked: addresses are only compared.
    var files: [UnsafeMutablePointer<sqlite3_file>: Log] = [:]
    var logs: [String: Log] = [:]
  }

  // A leaf lock.
  private static let state = Monitor(State())
  /// The bytes before the first frame of a log, and before the page of a frame.
  private static let logHeader: Int64 = 32
  private static let frameHeader: Int64 = 24
  private static let frameSize = frameHeader + Int64(PageSums.pageSize)

  static func opened(_ file: UnsafeMutablePointer<sqlite3_file>, _ path: String) {
    state.withLock { state in
      let log = state.logs[path] ?? Log(path)
      log.users += 1
      state.logs[path] = log
      state.files[file] = log
    }
  }

  static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
    guard let file, let close = PageSums.original(file)?.xClose else { return SQLITE_IOERR }
    state.withLock { state in
      guard let log = state.files.removeValue(forKey: file) else { return }
      log.users -= 1
      if log.users == 0 { state.logs[log.path] = nil }
    }
    return close(file)
  }

  static func truncate(_ file: UnsafeMutablePointer<sqlite3_file>?, _ size: Int64) -> Int32 {
    guard let file, let truncate = PageSums.original(file)?.xTruncate else { return SQLITE_IOERR }
    state.withLock { state in
      guard let log = state.files[file] else { return }
      log.sums = log.sums.filter { $0.key < size }
    }
    return truncate(file, size)
  }

  /// The offset of the page whose frame has this byte.
  private static func page(at offset: Int64) -> Int64 {
    (offset - logHeader) / frameSize * frameSize + logHeader + frameHeader
  }

  private static func isPage(_ count: Int32, _ offset: Int64) -> Bool {
    count == PageSums.pageSize && offset >= logHeader && offset == page(at: offset)
  }

  static func write(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32,
    _ offset: Int64
  ) -> Int32 {
    guard let file, let bytes, let write = PageSums.original(file)?.xWrite else {
      return SQLITE_IOERR
    }
    let isPage = isPage(count, offset)
    let sum = isPage ? llvs_xxh3_64bits(bytes, Int(count), 0) : 0
    let result = write(file, bytes, count, offset)
    // SQLite's own sums cover the headers.
    guard isPage || count > logHeader else { return result }
    state.withLock { state in
      guard let log = state.files[file] else { return }
      if isPage, result == SQLITE_OK {
        log.sums[offset] = sum
      } else {
        // The content of a partly written page is unknown.
        log.sums[page(at: offset)] = nil
        log.sums[page(at: offset + Int64(count) - 1)] = nil
      }
    }
    return result
  }

  static func read(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ buffer: UnsafeMutableRawPointer?,
    _ count: Int32, _ offset: Int64
  ) -> Int32 {
    guard let file, let buffer, let read = PageSums.original(file)?.xRead else {
      return SQLITE_IOERR
    }
    let result = read(file, buffer, count, offset)
    guard result == SQLITE_OK, isPage(count, offset),
      let known = state.withLock({ $0.files[file]?.sums[offset] })
    else { return result }
    return llvs_xxh3_64bits(buffer, Int(count), 0) == known ? SQLITE_OK : Database.damagedPage
  }
}
