import Platform

/// One line of the kernel's table of mounts.
package struct MountEntry: Hashable, Sendable {
  package let id: UInt32
  /// The mount under this one.
  package let parent: UInt32
  /// `major:minor`.
  package let device: String
  /// The directory of the file system that the mount shows.
  package let root: [UInt8]
  package let path: [UInt8]
  package let options: [UInt8]
  /// For example `ext4` or `fuse.llvs`.
  package let type: String
  /// The first column of mount(8)'s list; for `fuse.llvs` the store's path.
  package let source: [UInt8]
  /// The user who mounted a file system in user space.
  package let user: UInt32?
  package var isFuse: Bool { type == "fuse" || type == "fuseblk" || type.hasPrefix("fuse.") }
}

/// The mounts that this process sees, in the order in which they were made.
package struct MountTable: Sendable {
  package let entries: [MountEntry]

  /// Reads `/proc/self/mountinfo`.
  package init() throws(FuseError) {
    self.init(
      parsing: try FuseError.wrapping { () throws(SystemError) in
        try FileSystem.read("/proc/self/mountinfo", atMost: 64 << 20)
      })
  }

  /// Skips malformed lines.
  package init(parsing bytes: [UInt8]) {
    entries = bytes.split(separator: UInt8(ascii: "\n")).compactMap(Self.entry)
  }

  /// Returns the last mount at a canonical path.
  package func mount(at path: [UInt8]) -> MountEntry? {
    entries.last { $0.path == path }
  }

  // proc_pid_mountinfo(5): id parent device root path options optional... - type source options
  private static func entry(_ line: ArraySlice<UInt8>) -> MountEntry? {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count >= 10, let dash = words[6...].firstIndex(where: { $0 == [0x2d] }),
      dash + 2 < words.count, let id = UInt32(String(decoding: words[0], as: UTF8.self)),
      let parent = UInt32(String(decoding: words[1], as: UTF8.self))
    else { return nil }
    return MountEntry(
      id: id, parent: parent, device: String(decoding: words[2], as: UTF8.self),
      root: unescaped(words[3]), path: unescaped(words[4]),
      options: Array(words[5]),
      type: String(decoding: unescaped(words[dash + 1]), as: UTF8.self),
      source: unescaped(words[dash + 2]), user: user(words[(dash + 3)...]))
  }

  private static func user(_ words: ArraySlice<ArraySlice<UInt8>>) -> UInt32? {
    let prefix = Array("user_id=".utf8)
    let options = (words.last ?? []).split(separator: UInt8(ascii: ","))
    guard let option = options.first(where: { $0.starts(with: prefix) }) else { return nil }
    return UInt32(String(decoding: option.dropFirst(prefix.count), as: UTF8.self))
  }

  static func unescaped(_ word: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(word.count)
    var rest = word
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      guard byte == UInt8(ascii: "\\"), digits.count == 3,
        digits.allSatisfy({ (0x30...0x37).contains($0) })
      else {
        result.append(byte)
        continue
      }
      let value = digits.reduce(0) { $0 * 8 + Int($1 & 7) }
      guard let unescaped = UInt8(exactly: value) else {
        result.append(byte)
        continue
      }
      result.append(unescaped)
      rest = rest.dropFirst(3)
    }
    return result
  }
}
