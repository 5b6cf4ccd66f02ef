import Foundation
import FuseSession
import Platform

/// The directory that a run works in, and its access to the machine's caches.
///
/// Each row has a directory of its own, and small files are removed only at the end of the run.
/// ext4 without a journal skips the inodes of recently removed files, and then each new file costs
/// several times as much.
final class BenchPlace {
  /// The directory that contains all others.
  let root: String
  /// The directory of the current row.
  private(set) var path: String
  private var row = 0

  /// Files of at least this size are removed after each row, so that a run does not fill the disk.
  private static let largeSize: UInt64 = 1 << 20

  init(below directory: String) throws {
    // The mount table has absolute paths.
    root = "\(try FileSystem.resolve(directory))/llvs-bench-\(SystemProcess.id)"
    path = "\(root)/row0"
    try FileSystem.makeDirectory(root, permissions: 0o700)
    // This puts each row into a part of the disk of its own, away from files that other rows
    // removed. On a file system without this attribute it changes nothing.
    try? BenchProcess.call(["chattr", "+T", root])
    try FileSystem.makeDirectory(path)
  }

  /// Makes a directory with the given name, or with a number after it if the name exists.
  func directory(_ name: String) throws -> String {
    var directory = "\(path)/\(name)"
    var count = 1
    while try FileSystem.exists(directory) {
      count += 1
      directory = "\(path)/\(name)-\(count)"
    }
    try FileSystem.makeDirectory(directory)
    return directory
  }

  /// Writes dirty data to the disk.
  func sync() throws {
    try File(path, [.read, .directory]).syncFileSystem()
  }

  /// Writes dirty data to the disk, and drops every cached page, name and inode that the kernel can
  /// drop.
  func dropCaches() throws {
    try sync()
    do throws(SystemError) {
      try File("/proc/sys/vm/drop_caches", .write).write(Array("3\n".utf8), at: 0)
    } catch {
      throw BenchError.unavailable("the kernel's caches cannot be dropped (\(error))")
    }
  }

  /// Starts the next row, and removes the large files of the last one.
  func nextRow() throws {
    if try !isMounted() { try removeLargeFiles(below: path) }
    row += 1
    path = "\(root)/row\(row)"
    try FileSystem.makeDirectory(path)
  }

  private func removeLargeFiles(below directory: String) throws {
    for name in try FileSystem.list(directory) {
      let item = "\(directory)/\(name)"
      let status = try FileSystem.status(item, following: false)
      switch status.kind {
      case .directory: try removeLargeFiles(below: item)
      case .regular where status.size >= BenchPlace.largeSize: try FileSystem.unlink(item)
      default: break
      }
    }
  }

  func remove() {
    if (try? isMounted()) == false { try? FileSystem.removeTree(root) }
  }

  /// True if a mount is left in the directory: removing files through it would empty its store.
  private func isMounted() throws -> Bool {
    try MountTable().entries.contains { $0.path.starts(with: Array((root + "/").utf8)) }
  }
}

/// The mounts and limits of a row.
final class BenchContext {
  let place: BenchPlace
  let scale: BenchScale
  /// The versions and the bytes of the row `compact`, if they are not those of the scale.
  let versions: Int?
  let bytes: Int?
  private var contenders: [any Contender] = []
  private lazy var passthrough = Passthrough.build(in: place)

  init(place: BenchPlace, _ options: BenchOptions) {
    self.place = place
    (scale, versions, bytes) = (options.scale, options.versions, options.bytes)
  }

  /// Mounts a store of ours, `passthrough_ll`, and the disk, each with an empty directory.
  func mounts() throws -> [any Contender] {
    let made: [any Contender] = [
      OwnMount(store: try place.directory("store"), at: try place.directory("mount")),
      Passthrough(
        try passthrough.get(), source: try place.directory("source"),
        at: try place.directory("passthrough")),
      PlainDirectory(try place.directory("plain")),
    ]
    for contender in made {
      contenders.append(contender)
      try contender.start()
    }
    return made
  }

  /// Mounts `passthrough_ll` without the writeback cache, which our mount does not have either.
  func unbuffered() throws -> any Contender {
    let made = Passthrough(
      try passthrough.get(), source: try place.directory("source-unbuffered"),
      at: try place.directory("unbuffered"), buffersWrites: false)
    contenders.append(made)
    try made.start()
    return made
  }

  /// Returns the number of files that a row may have: `passthrough_ll` holds a descriptor for each
  /// that the kernel knows.
  func files(atMost count: Int) throws -> Int {
    let text = String(
      decoding: try FileSystem.read("/proc/self/limits", atMost: 65_536), as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix("Max open files") }
    let limit = line?.split(separator: " ").dropFirst(4).first.flatMap { Int($0) } ?? 1024
    return max(100, min(count, limit * 9 / 10 / 100 * 100))
  }

  func endRow() throws {
    for contender in contenders { contender.stop() }
    contenders = []
    try place.nextRow()
  }
}

/// Runs other programs.
enum BenchProcess {
  /// The path of the program that is measured: `llvs` in the directory of this program.
  static let llvs = Result<String, BenchError> {
    () throws(BenchError) in
    guard let own = try? FileSystem.readlink("/proc/self/exe"), let end = own.lastIndex(of: "/")
    else { throw .unavailable("/proc is not mounted") }
    let path = "\(own[...end])llvs"
    guard (try? FileSystem.exists(path)) == true else {
      throw .unavailable("there is no program \(path): mount-scripts/bench builds it")
    }
    return path
  }

  static let environment: [String: String] = {
    var result = ProcessInfo.processInfo.environment
    // The machine's own configuration must not change git's behaviour.
    result["GIT_CONFIG_GLOBAL"] = "/dev/null"
    result["GIT_CONFIG_NOSYSTEM"] = "1"
    for role in ["AUTHOR", "COMMITTER"] {
      result["GIT_\(role)_NAME"] = "bench"
      result["GIT_\(role)_EMAIL"] = "bench@example.org"
    }
    return result
  }()

  static func start(
    _ words: [String], in directory: String? = nil, input: String? = nil,
    environment more: [String: String] = [:], ended: @escaping @Sendable () -> Void = {}
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    if let first = words.first, first.hasPrefix("/") {
      process.executableURL = URL(fileURLWithPath: first)
      process.arguments = Array(words.dropFirst())
    } else {
      process.arguments = words
    }
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    process.environment = environment.merging(more) { $1 }
    process.standardInput =
      if let input { try FileHandle(forReadingFrom: URL(fileURLWithPath: input)) } else {
        FileHandle.nullDevice
      }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.terminationHandler = { _ in ended() }
    try process.run()
    return process
  }

  static func call(
    _ words: [String], in directory: String? = nil, input: String? = nil
  ) throws {
    // waitUntilExit() looks only every 50 ms, which would be part of the measurement.
    let ended = DispatchSemaphore(value: 0)
    let process = try start(words, in: directory, input: input) { ended.signal() }
    ended.wait()
    guard process.terminationStatus == 0 else {
      throw BenchError.failed(
        "\(words.joined(separator: " ")) ended with \(process.terminationStatus)")
    }
  }

  static func git(_ words: String..., in directory: String, input: String? = nil) throws {
    try call(["git"] + words, in: directory, input: input)
  }

  static func requireGit() throws {
    do {
      try call(["git", "--version"])
    } catch {
      throw BenchError.unavailable("git is not installed")
    }
  }
}
