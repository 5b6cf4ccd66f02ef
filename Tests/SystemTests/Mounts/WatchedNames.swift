import Foundation
import Glibc
import Platform
import TestSupport

/// Watches directories with inotify(7) and names what it is told of, as a file manager does.
final class WatchedNames {
  private static let words: [(mask: UInt32, word: String)] = [
    (UInt32(IN_CREATE), "create"), (UInt32(IN_DELETE), "delete"), (UInt32(IN_MODIFY), "modify"),
    (UInt32(IN_ATTRIB), "attrib"), (UInt32(IN_CLOSE_WRITE), "written"),
    (UInt32(IN_MOVED_FROM), "from"), (UInt32(IN_MOVED_TO), "to"),
  ]
  private static let directory: UInt32 = 0x4000_0000

  private let descriptor: Int32
  private var names: [Int32: String] = [:]

  /// Watches directories, by their paths below `root`; "" is `root` itself.
  init(_ directories: [String], below root: String) throws {
    descriptor = inotify_init1(Int32(IN_NONBLOCK))
    let mask = Self.words.reduce(0) { $0 | $1.mask }
    for one in directories {
      let number = inotify_add_watch(descriptor, "\(root)/\(one)", mask)
      guard number >= 0 else { throw SystemError(errno: errno, call: "inotify_add_watch") }
      names[number] = one.isEmpty ? "" : one + "/"
    }
  }

  deinit { close(descriptor) }

  /// Returns the events so far, such as "create d/f"; directories have a slash at the end.
  func events() -> [String] {
    var found: [String] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return found }
      buffer.withUnsafeBytes { bytes in
        var place = 0
        while place + 16 <= count {
          let watch = bytes.loadUnaligned(fromByteOffset: place, as: Int32.self)
          let mask = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
          let length = Int(bytes.loadUnaligned(fromByteOffset: place + 12, as: UInt32.self))
          let name = bytes[(place + 16)..<(place + 16 + length)].prefix { $0 != 0 }
          let path = (names[watch] ?? "?") + String(decoding: name, as: UTF8.self)
          let slash = mask & Self.directory != 0 ? "/" : ""
          for (bit, word) in Self.words where mask & bit != 0 {
            found.append("\(word) \(path)\(slash)")
          }
          place += 16 + length
        }
      }
    }
  }

  /// Collects events until one comes, or for a while.
  func events(until last: String, seconds: Double = 10) -> [String] {
    var found: [String] = []
    _ = eventually(seconds: seconds) {
      found += events()
      return found.contains(last)
    }
    return found
  }
}
