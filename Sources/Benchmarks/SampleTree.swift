import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// A working tree with many files, written with the calls that the kernel's requests cause.
final class SampleTree {
  private let tree: TreeSession
  private var files: [(parent: InodeNumber, name: FileName)] = []
  private static let caller = Caller(uid: 0, gid: 0, process: 1)

  /// Makes the directories; the first ``writeAll(_:)`` makes the files.
  init(_ tree: TreeSession, count: Int) throws(FSError) {
    self.tree = tree
    var parent = InodeNumber.root
    for index in 0..<count {
      if index % 100 == 0 {
        parent = try tree.files.makeDirectory(
          .root, FileName("d\(1000 + index / 100)".utf8), mode: 0o755,
          caller: Self.caller
        ).number
      }
      files.append((parent, FileName("file\(1000 + index % 100)".utf8)))
    }
  }

  /// Writes every file and flushes it.
  func writeAll(_ content: () -> [UInt8]) throws(FSError) {
    for (parent, name) in files {
      let (status, handle) = try opened(parent, name)
      let bytes = content()
      let outcome = bytes.withUnsafeBytes { raw in
        Result<Void, FSError> { () throws(FSError) in
          try tree.files.write(handle, at: 0, raw, mapped: false)
        }
      }
      try outcome.get()
      try tree.files.flush(handle)
      try tree.files.release(handle)
      tree.files.forget(status.number, count: 1)
    }
  }

  private func opened(
    _ parent: InodeNumber, _ name: FileName
  ) throws(FSError) -> (InodeStatus, HandleNumber) {
    do throws(FSError) {
      let status = try tree.files.lookup(parent, name)
      return (status, try tree.files.open(status.number, mode: [.write]).handle)
    } catch .noEntry {
      return try tree.files.create(parent, name, mode: 0o644, open: [.write], caller: Self.caller)
    }
  }
}

/// Texts that look like source code, and edits of them.
struct SampleSource {
  private var texts: [[ArraySlice<UInt8>]]
  private var random = BenchRandom(11)

  init(files: Int) {
    texts = []
    for _ in 0..<files {
      let text = random.text(lines: 60 + Int(random.next() % 240))
      texts.append(text.split(separator: 0x0A))
    }
  }

  static func key(_ index: Int) -> Key {
    Key("Sources/Module\(index / 50)/File\(index).swift")
  }

  func bytes(_ index: Int) -> [UInt8] {
    var bytes = Array(texts[index].joined(separator: [0x0A]))
    bytes.append(0x0A)
    return bytes
  }

  /// Changes a few lines of one to four files; returns the numbers of these files.
  mutating func edit() -> [Int] {
    var changed: Set<Int> = []
    for _ in 0..<(1 + random.next() % 4) {
      let index = Int(random.next() % UInt64(texts.count))
      changed.insert(index)
      for _ in 0..<(1 + random.next() % 6) {
        let place = Int(random.next() % UInt64(texts[index].count))
        let line = random.text(lines: 1).dropLast()
        if random.next() % 3 == 0 {
          texts[index].insert(line, at: place)
        } else {
          texts[index][place] = line
        }
      }
    }
    return changed.sorted()
  }

  /// The space of the files in a directory and below it, in whole blocks.
  static func bytesOnDisk(_ path: String) throws -> Double {
    var total = 0.0
    for name in try FileSystem.list(path) {
      let status = try FileSystem.status("\(path)/\(name)", following: false)
      total += Double(status.allocated)
      if status.kind == .directory { total += try bytesOnDisk("\(path)/\(name)") }
    }
    return total
  }
}
