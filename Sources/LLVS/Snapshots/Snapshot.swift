internal import Foundation
internal import LLVSCore
internal import Platform

/// Snapshots of stores in the original's formats.
/// A snapshot is not trusted: size and sum are checked, and files are written only below ``directories``.
enum Snapshot {
  static let format = "zip-v1"
  private static let framed: Set = ["fileStorage-v1", "sqliteStorage-v1"]
  private static let maximumSize: Int64 = 1 << 34
  private static let directories = ["values", "maps", "versions"]

  struct Entry {
    var path: String
    var data: Data
  }

  static func reads(_ name: String) -> Bool { name == format || framed.contains(name) }

  /// Refuses another format, and impossible sizes, before anything is retrieved.
  static func check(_ manifest: SnapshotManifest) throws {
    guard reads(manifest.format) else {
      throw Store.Error.fromTheFuture("a snapshot in the format \(manifest.format)")
    }
    guard (1...maximumSize).contains(manifest.totalSize),
      (1...1_000_000).contains(manifest.chunkCount), manifest.versionCount > 0
    else { throw Store.Error.corrupt("the snapshot has an impossible size") }
  }

  static func restore(_ manifest: SnapshotManifest, from directory: URL, to store: URL) throws {
    try check(manifest)
    var archive = Data()
    for index in 0..<manifest.chunkCount {
      let chunk = directory.appendingPathComponent(SnapshotManifest.chunkName(index))
      archive.append(try Data(contentsOf: chunk))
      guard Int64(archive.count) <= manifest.totalSize else {
        throw Store.Error.corrupt("the snapshot is longer than its description says")
      }
    }
    guard Int64(archive.count) == manifest.totalSize else {
      throw Store.Error.corrupt("the snapshot is shorter than its description says")
    }
    if let sum = manifest.sha256, sum.lowercased() != sha256(archive) {
      throw Store.Error.corrupt("the snapshot has not the sum that its description says")
    }
    let entries =
      manifest.format == format ? try ZipArchive.entries(of: archive) : try frames(of: archive)
    let files = try entries.compactMap { try checked($0) }
    // The descriptions of versions are last, because they make the versions exist.
    for isLast in [false, true] {
      for file in files where file.path.hasPrefix("versions/") == isLast {
        let target = store.appendingPathComponent(file.path)
        guard !FileManager.default.fileExists(atPath: target.path) else { continue }
        try StoreFile.write(file.data, to: target)
      }
    }
    for file in files where file.path.split(separator: "/").last ?? "" == SQLiteZone.fileName {
      try SQLiteZone.check(store.appendingPathComponent(file.path), named: file.path)
    }
  }

  /// Returns the entry with its path below the store; nil if it does not belong to a store.
  private static func checked(_ entry: Entry) throws -> Entry? {
    var parts = entry.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard !entry.path.hasPrefix("/"), !entry.path.utf8.contains(0),
      !parts.contains(where: { $0 == ".." || $0 == "." || $0.isEmpty })
    else { throw Store.Error.corrupt("the snapshot has a file with the path \(entry.path)") }
    // An archive may have the store's own directory around them.
    if parts.count > 2, !directories.contains(parts[0]), directories.contains(parts[1]) {
      parts.removeFirst()
    }
    let name = parts[parts.count - 1]
    // A store has no other files. SQLite would act on the paths in a journal.
    guard parts.count > 1, directories.contains(parts[0]),
      name.hasSuffix(".json") || name == SQLiteZone.fileName
    else { return nil }
    return Entry(path: parts.joined(separator: "/"), data: entry.data)
  }

  /// Reads files one after the other: u32 (little-endian) length, path, u32 length, bytes.
  private static func frames(of archive: Data) throws -> [Entry] {
    let bytes = [UInt8](archive)
    var offset = 0
    func length() -> Int? {
      guard offset + 4 <= bytes.count else { return nil }
      defer { offset += 4 }
      return (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }
    func part() -> ArraySlice<UInt8>? {
      guard let count = length(), offset + count <= bytes.count else { return nil }
      defer { offset += count }
      return bytes[offset..<(offset + count)]
    }
    var entries: [Entry] = []
    while offset < bytes.count {
      guard let path = part(), let data = part() else {
        throw Store.Error.corrupt("the snapshot ends within a file")
      }
      entries.append(Entry(path: String(decoding: path, as: UTF8.self), data: Data(data)))
    }
    return entries
  }

  static func sha256(_ data: Data) -> String {
    var hasher = SHA256Hasher()
    hasher.update([UInt8](data))
    return hasher.finish().hex
  }

  static func write(_ store: URL, to directory: URL, maxChunkSize: Int) throws -> SnapshotManifest {
    let versions = try VersionFiles(directory: store.appendingPathComponent("versions"))
      .read(knowing: { _ in false })
    guard let latest = versions.max(by: { ($0.timestamp, $0.id) < ($1.timestamp, $1.id) }) else {
      throw Store.Error.invalid("a store without versions has no snapshot")
    }
    var archive = ZipArchive()
    try translated { for name in directories { try add(name, of: store, to: &archive) } }
    let bytes = archive.finished()
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let size = max(1, maxChunkSize)
    var count = 0
    for start in stride(from: 0, to: bytes.count, by: size) {
      try bytes[start..<min(start + size, bytes.count)]
        .write(to: directory.appendingPathComponent(SnapshotManifest.chunkName(count)))
      count += 1
    }
    return SnapshotManifest(
      format: format, latestVersionId: latest.id, versionCount: versions.count, chunkCount: count,
      totalSize: Int64(bytes.count), sha256: sha256(bytes))
  }

  private static func add(_ path: String, of store: URL, to archive: inout ZipArchive) throws {
    let directory = store.appendingPathComponent(path).path
    for name in try FileSystem.list(directory).sorted() {
      let full = "\(directory)/\(name)"
      switch try FileSystem.status(full, following: false).kind {
      case .directory: try add("\(path)/\(name)", of: store, to: &archive)
      case .regular:
        archive.add("\(path)/\(name)", try FileSystem.read(full, atMost: 1 << 31))
      default: break
      }
    }
  }
}
