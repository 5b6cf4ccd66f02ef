import Grammar
import Platform
package import TreeNames

/// The log in `.llvs/log`: one line per version, merge, exchange and error, newest last. It is `STORE/log`, whose
/// older half is removed when it reaches 4 MiB.
package final class EventLog: Sendable {
  fileprivate static let limit = 4 << 20
  private let path: String
  // Held while a line is written, so that lines do not mix; a leaf.
  private let file = Monitor<(File?, UInt64)>((nil, 0))

  package init(directory: String) { path = directory + "/log" }

  /// Adds a line; write errors are ignored.
  package func add(_ kind: LoggedEvent.Kind, _ text: String) {
    let time = TimestampText.utc(seconds: SystemClock.realtime().seconds)
    let line = Array((LoggedEvent(time: time, kind: kind, text: text).line + "\n").utf8)
    file.withLock { state in
      do throws(SystemError) {
        let file: File
        if let open = state.0 {
          file = open
        } else {
          file = try File.kept(path, [.readWrite, .create, .noFollow])
          state = (file, try file.status().size)
        }
        if state.1 > UInt64(Self.limit) {
          let tail = try file.read(Self.limit / 2, at: state.1 - UInt64(Self.limit / 2))
          let start = tail.firstIndex(of: 0x0A).map { $0 + 1 } ?? 0
          try FileSystem.replace(path, with: Array(tail[start...]), permissions: 0o600)
          let fresh = try File.regular(path, .readWrite)
          state = (fresh, UInt64(tail.count - start))
          try fresh.write(line, at: state.1)
        } else {
          try file.write(line, at: state.1)
        }
        state.1 += UInt64(line.count)
      } catch {
        state = (nil, 0)
      }
    }
  }

  package var size: UInt64 {
    let named = try? FileSystem.status(path)
    return (named ?? (try? file.withLock { $0.0 }?.status()))?.size ?? 0
  }

  /// Returns the last lines, reading only the necessary part.
  package func lastLines(_ count: Int) -> [String] {
    let named = try? File.regular(path, .read)
    guard let file = named ?? self.file.withLock({ $0.0 }), let size = try? file.status().size,
      count > 0
    else { return [] }
    var bytes: [UInt8] = []
    var start = size
    var ends = 0
    // One more line end, so that the first line is whole.
    while start > 0, ends <= count {
      let length = min(start, 65_536)
      start -= length
      guard let part = try? file.read(Int(length), at: start) else { break }
      ends += part.count { $0 == 0x0A }
      bytes = part + bytes
    }
    return bytes.split(separator: 0x0A).suffix(count).map { String(decoding: $0, as: UTF8.self) }
  }

  package func open() -> EventFile { EventFile(path: path, kept: file.withLock { $0.0 }) }
  package func reader() -> EventReader { EventReader(path: path) }
}

/// Reads the log from its beginning and follows it as it grows.
///
/// After the older half is removed, a reader continues from the end of its file in the new one.
/// - Concurrency: a value for one thread at a time.
package struct EventReader {
  private static let piece = 65_536
  private let path: String
  private var file: File?
  private var inode: UInt64 = 0
  private var offset: UInt64 = 0

  fileprivate init(path: String) { self.path = path }

  package mutating func next() -> [UInt8] {
    if let part = piece() { return part }
    guard let now = try? FileSystem.status(path), file == nil || now.inode != inode,
      let fresh = try? File.regular(path, .read), let status = try? fresh.status()
    else { return [] }
    offset = file.map { Self.end(of: $0, in: fresh) } ?? 0
    file = fresh
    inode = status.inode
    return piece() ?? []
  }

  private mutating func piece() -> [UInt8]? {
    guard let part = try? file?.read(Self.piece, at: offset), !part.isEmpty else { return nil }
    offset += UInt64(part.count)
    return part
  }

  /// Returns the place of a log's end in the file that replaced it; 0 if that file was replaced too.
  private static func end(of old: File, in new: File) -> UInt64 {
    let half = UInt64(EventLog.limit / 2)
    guard let size = try? old.status().size, size > half else { return 0 }
    // The newer half was kept, from its first whole line on.
    var start = size - half
    while let part = try? old.read(65_536, at: start), !part.isEmpty {
      guard let newline = part.firstIndex(of: 0x0A) else {
        start += UInt64(part.count)
        continue
      }
      start += UInt64(newline + 1)
      break
    }
    let length = size - start
    let sample = Int(min(length, 4096))
    guard let here = try? old.read(sample, at: size - UInt64(sample)),
      let there = try? new.read(sample, at: length - UInt64(sample)), here == there
    else { return 0 }
    return length
  }
}

/// An open file that shows the log.
///
/// A reader keeps its first file; a read from the beginning opens the current log.
/// - Concurrency: any thread; the lock is not held while reading.
package final class EventFile: Sendable {
  private let path: String
  /// The file at the opening, in case the store and its name are removed.
  private let kept: File?
  private let file = Monitor<File?>(nil)

  fileprivate init(path: String, kept: File?) {
    self.path = path
    self.kept = kept
  }

  package func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) -> Int {
    do throws(SystemError) {
      let known = offset == 0 ? nil : file.withLock { $0 }
      let open: File
      if let known {
        open = known
      } else {
        if try FileSystem.exists(path) {
          open = try File.regular(path, .read)
        } else {
          guard let kept else { return 0 }
          open = kept
        }
        file.withLock { $0 = open }
      }
      return try open.read(into: buffer, at: offset)
    } catch {
      throw .system(error)
    }
  }
}
