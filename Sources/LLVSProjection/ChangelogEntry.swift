public import LLVS

/// A change of a row that no version has yet.
public struct ChangelogEntry: Hashable, Sendable {
  /// The kinds of changes.
  public enum Operation: String, Hashable, Sendable {
    case insert = "i"
    case update = "u"
    case remove = "d"
  }

  /// The position in the order of changes.
  public let sequence: Int64
  /// The key of the row's value.
  public let valueId: Value.ID
  /// The updated column; nil if the whole row was inserted or deleted.
  public let columnName: String?
  /// The kind of change.
  public let operation: Operation
}
