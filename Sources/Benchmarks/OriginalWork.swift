/// A store that does the work of the original's published figures: by the public library, or by the
/// engine below it.
protocol OriginalWork: AnyObject {
  /// Makes the store of a directory, or opens it.
  init(path: String) throws

  /// Makes the first version, of these values.
  func begin(with values: [(key: String, bytes: [UInt8])]) throws

  /// Makes a version with one changed value on the last one.
  func update(_ key: String, _ bytes: [UInt8]) throws

  /// Reads a value at the last version.
  func read(_ key: String) throws

  /// Finds what differs between the first version and the last one.
  func findDifference() throws

  /// Reads the history's newest version.
  func readHead() throws

  /// Sends all versions to a folder in the original's format.
  func send(to folder: String) throws

  /// Retrieves all versions from a folder in the original's format.
  func retrieve(from folder: String) throws
}

/// The two that are measured in turn.
enum OriginalContender: Int, CaseIterable {
  case library, engine

  func open(_ path: String) throws -> any OriginalWork {
    switch self {
    case .library: try LibraryWork(path: path)
    case .engine: try EngineWork(path: path)
    }
  }
}
