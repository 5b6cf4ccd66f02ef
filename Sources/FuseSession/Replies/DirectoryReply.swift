import CFuse3
import Glibc

/// The bytes of a directory listing.
@safe struct DirectoryBuffer: ~Copyable, @unchecked Sendable {
  // Owned by this value alone.
  private let memory: UnsafeMutablePointer<CChar>?
  let capacity: Int
  private(set) var used = 0

  /// The kernel asks for one page up to `max_pages`.
  static var largest: Int { 1 << 20 }

  init(size: Int) {
    capacity = min(max(size, 0), Self.largest)
    unsafe memory = malloc(max(capacity, 1))?.bindMemory(to: CChar.self, capacity: capacity)
  }

  deinit { unsafe free(memory) }

  var contents: UnsafeBufferPointer<CChar> {
    unsafe UnsafeBufferPointer(start: memory, count: used)
  }

  /// Appends the bytes that `write` writes for a name; returns false if they do not fit.
  mutating func append(
    _ name: UnsafeRawBufferPointer,
    _ write: (UnsafeMutablePointer<CChar>, Int, UnsafePointer<CChar>) -> Int
  ) -> Bool {
    guard let memory = unsafe memory else { return false }
    // A single invalid name makes the kernel refuse the listing with EIO.
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

/// The names, types and inode numbers of readdir.
package enum PlainListing {}

/// The names and attributes of readdirplus.
package enum ListingWithAttributes {}

package typealias DirectoryReply = ListingReply<PlainListing>
package typealias DirectoryPlusReply = ListingReply<ListingWithAttributes>

/// Answers readdir or readdirplus.
package struct ListingReply<Form>: ~Copyable, FuseReply {
  private var token: ReplyToken
  fileprivate var buffer: DirectoryBuffer

  init(_ request: fuse_req_t?, size: Int) {
    unsafe token = ReplyToken(request)
    buffer = DirectoryBuffer(size: size)
  }

  package var request: RequestPointer { token.request }
  package mutating func markParked() { token.markParked() }
  package consuming func error(_ errno: Int32) { token.error(errno) }

  /// Answers with the added entries; none mean the end of the directory.
  /// - Returns: False if the request was aborted: the kernel counts none of the entries' look-ups.
  @discardableResult
  package consuming func finish() -> Bool {
    let buffer = self.buffer
    return unsafe token.finish {
      unsafe fuse_reply_buf($0, buffer.contents.baseAddress, buffer.contents.count)
    }
  }
}

extension ListingReply where Form == PlainListing {
  /// The most entries that fit.
  package var limit: Int { buffer.capacity / 32 }

  /// Adds an entry with the file type of its mode; false if the buffer is full. `next` is the offset after it, not
  /// 0.
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
}

extension ListingReply where Form == ListingWithAttributes {
  /// The most entries that fit.
  package var limit: Int { buffer.capacity / 160 }

  /// Adds an entry with its attributes; false if the buffer is full. `next` is the offset after it, which is not 0.
  ///
  /// The kernel counts a look-up for every added entry, except `.`, `..` and entries with node 0: it uses only
  /// their name, type and inode number.
  package mutating func add(
    _ name: UnsafeRawBufferPointer, _ entry: borrowing EntryAttributes, next: Int64
  ) -> Bool {
    var parameters = entry.parameters
    let request = self.request
    return unsafe buffer.append(name) { memory, room, text in
      unsafe fuse_add_direntry_plus(request.raw, memory, room, text, &parameters, off_t(next))
    }
  }
}
