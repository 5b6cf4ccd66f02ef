/// Why a database refuses what it is asked for. What SQLite itself refuses is a ``DatabaseError``.
public enum KeyValueCRDTError: Error, Hashable, Sendable {
  /// The file was written by a later version of the format, which this version cannot read.
  case databaseSchemaTooNew
  /// The application's data is of a later major version than the program expects.
  case applicationDataTooNew
  /// The data belongs to another application.
  case incompatibleApplications
  /// There are several versions where one is needed.
  case versionConflict
  /// The text is no JSON text (RFC 8259).
  case invalidJSON
  /// An entry is of an author that the file does not list, or is newer than the list says.
  case authorTableInconsistency
  /// The source of a merge has application data of a later major version than this database.
  case mergeSourceIncompatible
  /// The source of a merge has application data of an earlier version than this database.
  case mergeSourceRequiresUpgrade
}

extension KeyValueCRDTError: CustomStringConvertible {
  /// Tells the error and the way out, for people.
  public var description: String {
    switch self {
    case .databaseSchemaTooNew:
      "The file was written by a later version of the format. Open it with a newer program."
    case .applicationDataTooNew:
      "The file's data is of a later version than this program knows. Open it with a newer program."
    case .incompatibleApplications: "The file's data belongs to another application."
    case .versionConflict: "There are several versions. Pick one with a resolver, and write it."
    case .invalidJSON: "The text is not valid JSON."
    case .authorTableInconsistency:
      "The file's list of authors does not fit its entries. Erase its version history."
    case .mergeSourceIncompatible:
      "The other file's data is of a later version. Upgrade this file first."
    case .mergeSourceRequiresUpgrade:
      "The other file's data is of an earlier version. Upgrade that file first."
    }
  }
}
