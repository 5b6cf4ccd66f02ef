import Foundation
import LLVSCore
import Platform

/// A git repository with the values of a sample store as files.
struct GitSample {
  let path: String

  init(in path: String) throws {
    self.path = path
    try BenchProcess.git("init", "-q", "-b", "main", in: path)
    // Packing in the background would disturb the measurements.
    try BenchProcess.git("config", "gc.auto", "0", in: path)
    try BenchProcess.git("config", "maintenance.auto", "false", in: path)
  }

  /// Commits `count` files.
  func fill(count: Int) throws {
    var stream = GitStream()
    var random = BenchRandom(UInt64(count))
    stream.commit(on: "main", 1)
    for index in 0..<count {
      stream.file(SampleStore.key(index, of: count).bytes, random.bytes(200))
    }
    try load(stream)
    try BenchProcess.git("reset", "-q", "--hard", in: path)
  }

  /// Makes a branch from `main` on which some of the files are changed.
  func branch(_ name: String, changing keys: [Int], of count: Int, seed: UInt64) throws {
    var stream = GitStream()
    var random = BenchRandom(seed)
    stream.commit(on: name, 2, from: "main")
    for index in keys {
      stream.file(SampleStore.key(index, of: count).bytes, random.bytes(200))
    }
    try load(stream)
  }

  func load(_ stream: GitStream) throws {
    let file = path + ".stream"
    try Data(stream.bytes).write(to: URL(fileURLWithPath: file))
    try BenchProcess.git("fast-import", "--quiet", in: path, input: file)
    try FileSystem.unlink(file)
  }

  /// Merges on a working branch that starts at `branch`; returns the seconds.
  func merge(_ other: String, into branch: String) throws -> Double {
    try BenchProcess.git("checkout", "-q", "-f", "-B", "work", branch, in: path)
    return try BenchTimer.seconds {
      try BenchProcess.git("merge", "-q", "-m", "merge", other, in: path)
    }
  }
}

/// The input of `git fast-import`.
struct GitStream {
  private(set) var bytes: [UInt8] = []
  private var time = 1_700_000_000

  mutating func commit(on branch: String, _ message: Int, from parent: String? = nil) {
    let text = "version \(message)\n"
    time += 1
    add("commit refs/heads/\(branch)\ncommitter bench <bench@example.org> \(time) +0000\n")
    add("data \(text.utf8.count)\n\(text)")
    if let parent { add("from refs/heads/\(parent)\n") }
  }

  mutating func file(_ path: [UInt8], _ content: [UInt8]) {
    add("M 100644 inline ")
    bytes.append(contentsOf: path)
    add("\ndata \(content.count)\n")
    bytes.append(contentsOf: content)
    add("\n")
  }

  private mutating func add(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }
}
