import Foundation
import LLVS
import TestSupport
import Testing

/// Remotes as cloud file systems: a directory, and the servers that `mount-scripts/servers` runs, as
/// far as they do. `LLVS_TEST_SERVERS` names its file.
@Suite("Remote file systems", .serialized, .timeLimit(.minutes(2)))
struct RemoteFileSystemTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  /// The addresses of servers; the credentials are put where programs look for them.
  private static let servers: [String] = {
    let file = ProcessInfo.processInfo.environment["LLVS_TEST_SERVERS"] ?? ""
    let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 4, words[1].contains("://") else { return nil }
      return words[1..<4].joined(separator: " ")
    }
  }()

  static let places = ["directory"] + servers

  private func fileSystem(_ place: String) throws -> RemoteFileSystem {
    let words = place.split(separator: " ").map(String.init)
    guard words.count == 3 else {
      // A directory is not made: it may be on a disk that is not there now.
      try FileManager.default.createDirectory(
        atPath: directory.file("remote"), withIntermediateDirectories: true)
      return try RemoteFileSystem(address: directory.file("remote"))
    }
    if words[0].hasPrefix("s3") {
      setenv("AWS_ACCESS_KEY_ID", words[1], 1)
      setenv("AWS_SECRET_ACCESS_KEY", words[2], 1)
    } else {
      let netrc = directory.file("netrc")
      try Data("machine 127.0.0.1 login \(words[1]) password \(words[2])\n".utf8)
        .write(to: URL(fileURLWithPath: netrc))
      setenv("NETRC", netrc, 1)
    }
    // Each test has a folder of its own, which is not there yet.
    return try RemoteFileSystem(address: "\(words[0])/\(UUID().uuidString)")
  }

  @Test(
    "files are written, listed, read and removed, and what is not there is told of",
    arguments: places)
  func files(_ place: String) async throws {
    let files = try fileSystem(place)
    #expect(try await !files.fileExists(at: "/a/b"))
    #expect((try? await files.contentsOfDirectory(at: "/a")) ?? [] == [])
    await #expect(throws: CloudFileSystemError.fileNotFound) {
      try await files.download(from: "/a/b")
    }
    try await files.remove(at: "/a/b")
    try await files.removeDirectory(at: "/a")
    let long = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for (path, data) in [
      ("/a/b", Data()), ("a/c d", long), ("/a/e/f", Data([1])), ("top", Data([2])),
    ] {
      try await files.upload(data: data, to: path)
    }
    #expect(try await Set(files.contentsOfDirectory(at: "/a")) == ["b", "c d"])
    #expect(try await files.fileExists(at: "/a/e/f"))
    #expect(try await files.fileExists(at: "/top"))
    #expect(try await files.download(from: "/a/c d") == long)
    #expect(try await files.download(from: "a/b").isEmpty)
    try await files.upload(data: Data([9]), to: "/a/b")
    #expect(try await files.download(from: "/a/b") == Data([9]))
    try await files.remove(at: "/a/b")
    #expect(try await !files.fileExists(at: "/a/b"))
    try await files.removeDirectory(at: "/a")
    #expect(try await !files.fileExists(at: "/a/c d"))
    #expect(try await files.download(from: "/a/e/f") == Data([1]))
    await #expect(throws: Store.Error.self) { try await files.upload(data: long, to: "/../up") }
  }

  @Test("two stores meet there, with a snapshot for a third", arguments: places)
  func exchange(_ place: String) async throws {
    let files = try fileSystem(place)
    func coordinator(_ name: String, _ policy: SnapshotPolicy = .disabled) throws
      -> StoreCoordinator
    {
      let coordinator = try StoreCoordinator(
        withStoreDirectoryAt: URL(fileURLWithPath: directory.file(name)), snapshotPolicy: policy)
      coordinator.exchange = CloudFileSystemExchange(
        cloudFileSystem: files, store: coordinator.store, basePath: "book")
      return coordinator
    }
    let (first, second) = (try coordinator("first", .auto), try coordinator("second"))
    for round in 0..<6 {
      try first.save(updating: [Value(idString: "k\(round)", data: Data([UInt8(round)]))])
    }
    try await first.exchange()
    try second.save(inserting: [Value(idString: "mine", data: Data("x".utf8))])
    try await second.exchange()
    #expect(try second.merge())
    try await second.exchange()
    try await first.exchange()
    try first.merge()
    #expect(try Set(first.values()) == Set(second.values()))
    #expect(try first.values().count == 7)
    let third = try coordinator("third")
    #expect(try await third.bootstrapFromSnapshot())
    try await third.exchange()
    try third.merge()
    #expect(try Set(third.values()) == Set(first.values()))
  }
}
