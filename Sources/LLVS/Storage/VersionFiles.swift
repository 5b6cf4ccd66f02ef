internal import Foundation
internal import LLVSCore
internal import LLVSExchange
internal import Platform

/// The descriptions of versions in `versions/`, each a file `I/D.json`: with it the version exists.
struct VersionFiles {
  let directory: URL
  var isDurable = true

  private func url(of id: Version.ID) -> URL {
    let (first, rest) = (id.rawValue.prefix(2), id.rawValue.dropFirst(2))
    let url =
      rest.isEmpty
      ? directory : directory.appendingPathComponent(String(first), isDirectory: true)
    return url.appendingPathComponent(String(rest.isEmpty ? first : rest))
      .appendingPathExtension("json")
  }

  func write(_ version: Version) throws {
    try StoreFile.write(
      try VersionFile.encoder.encode(version), to: url(of: version.id), isDurable: isDurable)
  }

  /// Returns the version of an id; nil if the store has no file of it.
  func read(_ id: Version.ID) throws -> Version? {
    guard WireName.fault(of: id.core) == nil else { return nil }
    return try read(url(of: id), id: id.rawValue) { _ in false }
  }

  func read(knowing known: (Version.ID) -> Bool) throws -> [Version] {
    var files: [(path: URL, id: String)] = []
    for name in try names(in: directory) {
      let path = directory.appendingPathComponent(name)
      if name.hasSuffix(".json") {
        files.append((path, String(name.dropLast(5))))
      } else if name.count == 2 {
        // Elsewhere the original may have put a value whose key begins with "..".
        files += try names(in: path).filter { $0.hasSuffix(".json") }
          .map { (path.appendingPathComponent($0), name + $0.dropLast(5)) }
      }
    }
    return try files.compactMap { try read($0.path, id: $0.id, known) }
  }

  private func names(in directory: URL) throws -> [String] {
    do throws(SystemError) {
      return try FileSystem.list(directory.path).filter { !$0.hasPrefix(".") }
    } catch {
      // Only a directory contains files of versions.
      if error.isAbsence { return [] }
      throw Store.Error(.system(error))
    }
  }

  private func read(_ file: URL, id: String, _ known: (Version.ID) -> Bool) throws -> Version? {
    guard !known(Version.ID(id)), let data = try StoreFile.read(file) else { return nil }
    do {
      let version = try JSONDecoder().decode(Version.self, from: data)
      guard version.id == Version.ID(id) else {
        throw Store.Error.corrupt("\(file.path) is the file of another version")
      }
      return version
    } catch let error as DecodingError {
      throw Store.Error.corrupt(
        "\(file.path) cannot be read as a version; restore it, or move it away to open the store "
          + "without that version: \(error)")
    }
  }
}
