internal import Foundation

/// The original's format of files: each value and each node of a map is a file.
public struct FileStorage: Storage, Sendable {
  private let fileExtension: String
  let isDurable: Bool

  /// Gives files an extension, which has no effect on their bytes.
  public init(fileExtension: String = "json") {
    self.init(fileExtension: fileExtension, isDurable: true)
  }

  init(fileExtension: String = "json", isDurable: Bool) {
    self.fileExtension = fileExtension
    self.isDurable = isDurable
  }

  public func makeValuesZone(in store: Store) throws -> any Zone {
    FileZone(
      rootDirectory: store.valuesDirectoryURL, fileExtension: fileExtension, isDurable: isDurable)
  }

  public func makeMapZone(for type: MapType, in store: Store) throws -> any Zone {
    switch type {
    case .valuesByVersion:
      return FileZone(
        rootDirectory: store.valuesMapDirectoryURL, fileExtension: fileExtension,
        isDurable: isDurable)
    case .userDefined(let label):
      guard let name = FileZone.safeName(label) else {
        throw Store.Error.invalid("\(label) cannot be the name of a directory")
      }
      return FileZone(
        rootDirectory: store.mapsDirectoryURL.appendingPathComponent(name, isDirectory: true),
        fileExtension: fileExtension, isDurable: isDurable)
    }
  }
}

/// Bytes in files: `KE/Y/V/ERSION.json`, the key and the version each divided after 2 and 1 characters.
///
/// Keys that have one file name (`a:b` and `aLLVSCOLONb`, the empty key and `.`) are refused in one version, and so
/// is a key that would leave the directory.
final class FileZone: Zone {
  private let rootDirectory: URL
  private let fileExtension: String
  private let isDurable: Bool

  init(rootDirectory: URL, fileExtension: String, isDurable: Bool) {
    self.rootDirectory = rootDirectory
    self.fileExtension = fileExtension
    self.isDurable = isDurable
  }

  func store(_ data: Data, for reference: ZoneReference) throws {
    guard let file = url(of: reference, toWrite: true) else {
      throw Store.Error.invalid(
        "the key \(reference.key) cannot be the name of a file in the original's format")
    }
    if FileManager.default.fileExists(atPath: file.path) {
      throw Store.Error.invalid(
        "the key \(reference.key) has the same file name as another key of its version")
    }
    try StoreFile.write(data, to: file, isDurable: isDurable)
  }

  func data(for reference: ZoneReference) throws -> Data? {
    guard let file = url(of: reference, toWrite: false) else { return nil }
    return try StoreFile.read(file)
  }

  /// Nil if the file would be elsewhere, or cannot exist. Of keys that begin with ".." the original has put files
  /// next to the zone, within the store: these are read.
  private func url(of reference: ZoneReference, toWrite: Bool) -> URL? {
    // "Characters" are grapheme clusters, as in the original.
    let names =
      Self.divided(Self.escaped(reference.key), after: 2)
      + Self.divided(Self.escaped(reference.version.rawValue), after: 1)
    let room = 255 - fileExtension.utf8.count - 1
    guard !names.dropFirst(toWrite ? 0 : 1).contains(".."),
      !names.contains(where: { $0.utf8.contains(0) || $0.utf8.count > room })
    else { return nil }
    var url = rootDirectory
    // A component "." is the directory itself.
    for name in names where !name.isEmpty && name != "." { url.appendPathComponent(name) }
    return url.appendingPathExtension(fileExtension)
  }

  private static func escaped(_ key: String) -> String {
    key.replacing("/", with: "LLVSSLASH").replacing(":", with: "LLVSCOLON")
  }

  private static func divided(_ name: String, after count: Int) -> [String] {
    guard name.count > count else { return [name] }
    return [String(name.prefix(count)), String(name.dropFirst(count))]
  }

  static func safeName(_ label: String) -> String? {
    let name = escaped(label)
    return name.isEmpty || name == "." || name == ".." || name.utf8.contains(0) ? nil : name
  }
}
