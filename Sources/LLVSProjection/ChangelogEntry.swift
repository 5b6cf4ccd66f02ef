public import LLVS

/// A change of a row that no version has yet.
public struct ChangelogEntry: Hashable, Sendable {
  public enum Operation: String, Hashable, Sendable {
    case insert = "i"
    case update = "u"
    case remove = "d"
  }

  public let sequence: Int64
  public let valueId: Value.ID
  /// The updated column; nil if the whole row was inserted or deleted.
  public let columnName: String?
  public let operation: Operation
}
