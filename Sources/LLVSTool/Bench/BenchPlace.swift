import Foundation
import FuseSession
import Platform

/// The directory that a run works in, and what it may do with the machine.
final class BenchPlace {
  let path: String

  init(below directory: String) throws {
    path = "\(directory)/llvs-bench-\(SystemProcess.id)"
    try FileSystem.makeDirectory(path, permissions: 0o700)
  }

  /// A new directory.
  func directory(_ name: String) throws -> String {
    let directory = "\(path)/\(name)"
    if try FileSystem.exists(directory) { try FileSystem.removeTree(directory) }
    try FileSystem.makeDirectory(directory)
    return directory
  }

  /// Writes out what is dirty.
  func sync() throws {
    try File(path, [.read, .directory]).syncFileSystem()
  }

  /// Writes out what is dirty and makes the kernel forget every page, name and inode it can.
  func dropCaches() throws {
    try sync()
    do throws(SystemError) {
      try File("/proc/sys/vm/drop_caches", .write).write(Array("3\n".utf8), at: 0)
    } catch {
      throw BenchError.unavailable("the kernel's caches cannot be dropped (\(error))")
    }
  }

  func clear() {
    for name in (try? FileSystem.list(path)) ?? [] where !name.hasPrefix("keep-") {
      try? FileSystem.removeTree("\(path)/\(name)")
    }
  }

  func remove() {
    // A mount that would not go away keeps its files: removing through it would empty what it shows.
    let isMounted = (try? MountTable())?.entries.contains {
      $0.path.starts(with: Array((path + "/").utf8))
    }
    if isMounted == false { try? FileSystem.removeTree(path) }
  }
}

/// What a row works with.
final class BenchContext {
  let place: BenchPlace
  let scale: BenchScale
  private var contenders: [any Contender] = []
  private lazy var passthrough = Passthrough.build(in: place)

  init(place: BenchPlace, scale: BenchScale) {
    self.place = place
    self.scale = scale
  }

  /// A store of ours, `passthrough_ll`, and the disk, each with an empty directory, mounted.
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

  /// How many files a row may have: `passthrough_ll` holds a descriptor for each that the kernel knows.
  func files(atMost count: Int) throws -> Int {
    let text = String(
      decoding: try FileSystem.read("/proc/self/limits", atMost: 65_536), as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix("Max open files") }
    let limit = line?.split(separator: " ").dropFirst(4).first.flatMap { Int($0) } ?? 1024
    return max(100, min(count, limit * 9 / 10 / 100 * 100))
  }

  func endRow() {
    for contender in contenders { contender.stop() }
    contenders = []
    place.clear()
  }
}

/// Programs that a run calls.
enum BenchProcess {
  static let environment: [String: String] = {
    var result = ProcessInfo.processInfo.environment
    // No configuration of the machine's changes what git does.
    result["GIT_CONFIG_GLOBAL"] = "/dev/null"
    result["GIT_CONFIG_NOSYSTEM"] = "1"
    for role in ["AUTHOR", "COMMITTER"] {
      result["GIT_\(role)_NAME"] = "bench"
      result["GIT_\(role)_EMAIL"] = "bench@example.org"
    }
    return result
  }()

  static func start(
    _ words: [String], in directory: String? = nil, input: String? = nil
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
    process.environment = environment
    process.standardInput =
      if let input { try FileHandle(forReadingFrom: URL(fileURLWithPath: input)) } else {
        FileHandle.nullDevice
      }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  static func call(
    _ words: [String], in directory: String? = nil, input: String? = nil
  ) throws {
    let process = try start(words, in: directory, input: input)
    process.waitUntilExit()
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
