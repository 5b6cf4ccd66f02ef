/// A reason why a database refuses a request; SQLite's own refusals are ``KeyValueDatabase/DatabaseError``.
public enum KeyValueCRDTError: Error, Hashable, Sendable {
  case databaseSchemaTooNew
  case applicationDataTooNew
  case incompatibleApplications
  case versionConflict
  case invalidJSON
  case authorTableInconsistency
  case mergeSourceIncompatible
  case mergeSourceRequiresUpgrade
}

extension KeyValueCRDTError: CustomStringConvertible {
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
