public import Foundation

extension KeyValueDatabase {
  /// An author of a database: one opening of it, on one device.
  public struct Author: Hashable, Sendable {
    public let id: UUID
    /// The description that was given when the database was opened, for people.
    public let name: String
    /// The number of the author's last write, counted from 1.
    public let lastWrite: Int
    /// When the author opened the database; nil where the file does not say.
    public let timestamp: Date?
  }
}
