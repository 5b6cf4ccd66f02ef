import CFuse3
import Glibc

/// A buffer for the bytes of a directory listing, of the size that the kernel asked for.
@safe struct DirectoryBuffer: ~Copyable, @unchecked Sendable {
  // Owned by this value alone.
  private let memory: UnsafeMutablePointer<CChar>?
  private let capacity: Int
  private(set) var used = 0

  /// The kernel asks for one page up to `max_pages`; no larger buffer is allocated.
  static var largest: Int { 1 << 20 }

  init(size: Int) {
    capacity = min(max(size, 0), Self.largest)
    unsafe memory = malloc(max(capacity, 1))?.bindMemory(to: CChar.self, capacity: capacity)
  }

  deinit { unsafe free(memory) }

  var contents: UnsafeBufferPointer<CChar> {
    unsafe UnsafeBufferPointer(start: memory, count: used)
  }

  /// Appends the bytes that `write` writes for a name; returns false, and appends nothing, if they
  /// do not fit.
  mutating func append(
    _ name: UnsafeRawBufferPointer,
    _ write: (UnsafeMutablePointer<CChar>, Int, UnsafePointer<CChar>) -> Int
  ) -> Bool {
    guard let memory = unsafe memory else { return false }
    // A single invalid name makes the kernel refuse the whole listing with EIO.
    guard unsafe Self.isValid(name) else {
      assertionFailure("Not a file name.")
      return true
    }
    let room = capacity - used
    let written = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: name.count + 1) {
      unsafe $0.withMemoryRebound(to: UInt8.self) { bytes in
        for index in 0..<name.count { unsafe bytes[index] = name[index] }
        unsafe bytes[name.count] = 0
      }
      guard let text = $0.baseAddress else { return Int.max }
      return unsafe write(memory + used, room, text)
    }
    guard written <= room else { return false }
    used += written
    return true
  }

  static func isValid(_ name: UnsafeRawBufferPointer) -> Bool {
    guard (1...255).contains(name.count) else { return false }
    return unsafe !name.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
  }
}

/// Answers readdir: names, types and inode numbers.
package struct DirectoryReply: ~Copyable, FuseReply {
  private var token: ReplyToken
  private var buffer: DirectoryBuffer

  init(_ request: fuse_req_t?, size: Int) {
    unsafe token = ReplyToken(request)
    buffer = DirectoryBuffer(size: size)
  }

  package var request: RequestPointer { token.request }
  package mutating func markParked() { token.markParked() }
  package consuming func error(_ errno: Int32) { token.error(errno) }

  /// Adds an entry.
  ///
  /// Only the file type bits of the mode are used. `next` is the offset at which the listing
  /// continues after this entry; it is not 0.
  ///
  /// - Returns: False if the buffer is full and the entry was not added.
  package mutating func add(
    _ name: UnsafeRawBufferPointer, inode: UInt64, mode: UInt32, next: Int64
  ) -> Bool {
    var stat = Glibc.stat()
    stat.st_ino = UInt(inode)
    stat.st_mode = mode
    let request = self.request
    return unsafe buffer.append(name) { memory, room, text in
      unsafe fuse_add_direntry(request.raw, memory, room, text, &stat, off_t(next))
    }
  }

  /// Answers with the added entries; none mean the end of the directory.
  package consuming func finish() {
    let buffer = self.buffer
    unsafe token.finish {
      unsafe fuse_reply_buf($0, buffer.contents.baseAddress, buffer.contents.count)
    }
  }
}

/// Answers readdirplus: each entry counts as a look-up too.
package struct DirectoryPlusReply: ~Copyable, FuseReply {
  private var token: ReplyToken
  private var buffer: DirectoryBuffer

  init(_ request: fuse_req_t?, size: Int) {
    unsafe token = ReplyToken(request)
    buffer = DirectoryBuffer(size: size)
  }

  package var request: RequestPointer { token.request }
  package mutating func markParked() { token.markParked() }
  package consuming func error(_ errno: Int32) { token.error(errno) }

  /// Adds an entry with its attributes.
  ///
  /// The kernel counts a look-up for every added entry, except `.`, `..` and entries with node 0,
  /// of which it uses only the name, the type and the inode number.
  ///
  /// `next` is the offset at which the listing continues after this entry; it is not 0.
  ///
  /// - Returns: False if the buffer is full and the entry was not added.
  package mutating func add(
    _ name: UnsafeRawBufferPointer, _ entry: borrowing EntryAttributes, next: Int64
  ) -> Bool {
    var parameters = entry.parameters
    let request = self.request
    return unsafe buffer.append(name) { memory, room, text in
      unsafe fuse_add_direntry_plus(request.raw, memory, room, text, &parameters, off_t(next))
    }
  }

  /// Answers with the added entries; none mean the end of the directory.
  ///
  /// - Returns: False if the request was aborted: the kernel counts none of the entries' look-ups.
  @discardableResult
  package consuming func finish() -> Bool {
    let buffer = self.buffer
    return unsafe token.finish {
      unsafe fuse_reply_buf($0, buffer.contents.baseAddress, buffer.contents.count)
    }
  }
}
